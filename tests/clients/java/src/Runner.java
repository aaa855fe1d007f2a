import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs main methods one after another in one JVM, since starting a JVM takes longer than most
 * of what a test asks of it.
 *
 * A line on standard input is {"main": CLASS, "args": [...], "stdin": TEXT}; the answer is one
 * line with what the class wrote, and the status that it ended or would have ended its process
 * with.
 */
public final class Runner {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Runner() {
    }

    /** What Exit.exit of Kafka's tools becomes here. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** What a tool would leave to the end of its process, such as to close its client. */
    private static final List<Runnable> HOOKS = new ArrayList<>();

    private static Integer ended;

    public static void main(String[] args) throws Exception {
        BufferedReader requests =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = System.out;
        // A thread that a tool left behind may still write.
        System.setOut(System.err);
        Exit.setExitProcedure((status, message) -> end(status));
        Exit.setHaltProcedure((status, message) -> end(status));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(run(JSON.readTree(line))));
            answers.flush();
        }
    }

    /** Some tools catch what is thrown here, say so and end once more: the first end counts. */
    private static void end(int status) {
        if (ended == null) {
            ended = status;
            System.out.flush();
            System.err.flush();
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(System.out);
        }
        throw new Ended();
    }

    private static ObjectNode run(JsonNode request) throws Exception {
        InputStream stdin = System.in;
        PrintStream stdout = System.out;
        PrintStream stderr = System.err;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        byte[] input = request.path("stdin").asText().getBytes(StandardCharsets.UTF_8);
        System.setIn(new ByteArrayInputStream(input));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        ended = null;
        try {
            call(request);
            HOOKS.forEach(Runnable::run);
        } finally {
            HOOKS.clear();
            System.out.flush();
            System.err.flush();
            System.setIn(stdin);
            System.setOut(stdout);
            System.setErr(stderr);
        }
        ObjectNode answer = JSON.createObjectNode();
        answer.put("status", ended == null ? 0 : ended);
        answer.put("out", out.toString(StandardCharsets.UTF_8));
        answer.put("err", err.toString(StandardCharsets.UTF_8));
        return answer;
    }

    private static void call(JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.path("args").forEach(argument -> args.add(argument.asText()));
        try {
            Class.forName(request.path("main").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) args.toArray(new String[0]));
        } catch (InvocationTargetException failure) {
            if (ended == null) {
                failure.getCause().printStackTrace(System.err);
                ended = 1;
            }
        }
    }
}
