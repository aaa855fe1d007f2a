import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Assigns itself every partition of a topic and polls until it is ended. */
public final class IdleConsumer {
    private IdleConsumer() {
    }

    public static void main(String[] args) {
        String bootstrap = args[0];
        String topic = args[1];
        List<TopicPartition> partitions = IntStream.range(0, Integer.parseInt(args[2]))
            .mapToObj(index -> new TopicPartition(topic, index))
            .toList();
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("client.id", "java");
        config.put("fetch.max.wait.ms", args[3]);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (true) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }
}
