import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Prints each record that a read_committed reader of partition 0 gets, as JSON, and "idle" once a
 * second brought none, until its process is killed. Usage: Follow BOOTSTRAP|@PROPERTIES TOPIC
 */
public final class Follow {
    private Follow() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = Address.of(
            args[0], Map.of("isolation.level", "read_committed", "fetch.max.wait.ms", 250));
        List<TopicPartition> partitions = List.of(new TopicPartition(args[1], 0));
        ObjectMapper json = new ObjectMapper();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (true) {
                ConsumerRecords<String, String> batch = consumer.poll(Duration.ofSeconds(1));
                for (ConsumerRecord<String, String> record : batch) {
                    System.out.println(json.writeValueAsString(record.value()));
                }
                if (batch.isEmpty()) {
                    System.out.println("\"idle\"");
                }
            }
        }
    }
}
