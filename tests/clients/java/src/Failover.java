import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer and the members of a group, as lines on standard input say: "produce", "pause",
 * "join N", "leave N". What happens is a line of JSON, beginning with its kind: see
 * tests/clients/failover/program.py, which reads them. Ends with its standard input.
 *
 * Usage: Failover BOOTSTRAP TOPIC GROUP PROTOCOL KEYS WINDOW PAUSE_MS [RACK]
 */
public final class Failover {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String bootstrap;
    private final String topic;
    private final String group;
    private final String protocol;
    private final int keys;
    private final Semaphore window;
    private final int size;
    private final long pauseMs;
    private final String rack;
    private final Set<Integer> members = ConcurrentHashMap.newKeySet();
    private KafkaProducer<String, String> producer;
    private volatile boolean paused;
    private int sent;

    private Failover(String[] args) {
        bootstrap = args[0];
        topic = args[1];
        group = args[2];
        protocol = args[3];
        keys = Integer.parseInt(args[4]);
        size = Integer.parseInt(args[5]);
        window = new Semaphore(size);
        pauseMs = Long.parseLong(args[6]);
        rack = args.length > 7 ? args[7] : "";
    }

    public static void main(String[] args) throws Exception {
        Failover failover = new Failover(args);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "produce" -> failover.produce();
                case "pause" -> failover.pause();
                case "join" -> failover.join(Integer.parseInt(words[1]));
                case "leave" -> failover.leave(Integer.parseInt(words[1]));
                default -> throw new IllegalArgumentException(line);
            }
        }
        System.exit(0);
    }

    private static synchronized void tell(Object... words) {
        try {
            System.out.println(JSON.writeValueAsString(words));
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception failure) {
                tell("failed", failure.toString());
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private void produce() {
        if (producer == null) {
            producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", bootstrap, "linger.ms", 2),
                new StringSerializer(), new StringSerializer());
        }
        paused = false;
        start(() -> {
            while (!paused) {
                send();
                Thread.sleep(pauseMs);
            }
            window.acquire(size);
            window.release(size);
            tell("paused");
        });
    }

    private void send() throws Exception {
        window.acquire();
        int number = sent++;
        producer.send(
            new ProducerRecord<>(topic, "key-" + number % keys, Integer.toString(number)),
            (metadata, failure) -> {
                if (failure == null) {
                    tell("acknowledged", number, metadata.partition(), metadata.offset());
                } else {
                    tell("refused", number, failure.getClass().getSimpleName());
                }
                window.release();
            });
    }

    private void pause() {
        paused = true;
    }

    private void join(int member) {
        members.add(member);
        start(() -> read(member));
    }

    private void leave(int member) {
        members.remove(member);
    }

    private KafkaConsumer<String, String> consumer(int member) {
        Map<String, Object> config = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap,
            "client.id", "member-" + member,
            "client.rack", rack,
            "group.id", group,
            "group.protocol", protocol,
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "fetch.max.wait.ms", 100));
        if (protocol.equals("classic")) {
            config.put("heartbeat.interval.ms", 300);
        }
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private void read(int member) {
        try (KafkaConsumer<String, String> consumer = consumer(member)) {
            consumer.subscribe(List.of(topic));
            while (members.contains(member)) {
                Map<Integer, Long> ends = new TreeMap<>();
                for (ConsumerRecord<String, String> one : consumer.poll(Duration.ofMillis(200))) {
                    tell("read", member, one.partition(), one.offset(),
                        Integer.parseInt(one.value()));
                    ends.put(one.partition(), one.offset() + 1);
                }
                if (!ends.isEmpty()) {
                    tell("committing", ends);
                    if (commit(consumer, ends)) {
                        tell("committed", ends);
                    }
                }
            }
        }
        tell("left", member);
    }

    private boolean commit(KafkaConsumer<String, String> consumer, Map<Integer, Long> ends) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        ends.forEach((partition, end) ->
            offsets.put(new TopicPartition(topic, partition), new OffsetAndMetadata(end)));
        try {
            consumer.commitSync(offsets);
            return true;
        } catch (CommitFailedException | RetriableException refused) {
            return false;
        }
    }
}
