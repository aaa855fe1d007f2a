import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/** Where a program's broker is: HOST:PORT, or @FILE of properties that say how to log in too. */
final class Address {
    private Address() {
    }

    /** The config of a client of that broker. */
    static Map<String, Object> of(String text, Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(more);
        if (!text.startsWith("@")) {
            config.put("bootstrap.servers", text);
            return config;
        }
        Properties given = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(text.substring(1)))) {
            given.load(reader);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        given.stringPropertyNames().forEach(key -> config.put(key, given.getProperty(key)));
        return config;
    }
}
