import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Moves records from one topic to another, exactly once, until its process is killed.
 *
 * Each record goes to the partition that it came from. A transaction that failed is aborted and the
 * positions are those committed; where that is not possible there is a new producer and consumer.
 * Prints what befalls it, a line each.
 * Usage: ExactlyOnce BOOTSTRAP SOURCE TARGET ID
 */
public final class ExactlyOnce {
    private final String bootstrap;
    private final String source;
    private final String target;
    private final String id;

    private ExactlyOnce(String[] args) {
        bootstrap = args[0];
        source = args[1];
        target = args[2];
        id = args[3];
    }

    public static void main(String[] args) {
        ExactlyOnce loop = new ExactlyOnce(args);
        while (true) {
            try {
                loop.run();
            } catch (KafkaException failure) {
                System.out.println("anew " + failure.getClass().getSimpleName());
            }
        }
    }

    private void run() {
        // The transactions first: that ends what a predecessor left open, offsets included.
        try (KafkaProducer<String, String> producer = producer()) {
            producer.initTransactions();
            try (KafkaConsumer<String, String> consumer = consumer()) {
                consumer.subscribe(List.of(source));
                while (true) {
                    ConsumerRecords<String, String> batch = consumer.poll(Duration.ofMillis(200));
                    if (!batch.isEmpty()) {
                        move(producer, consumer, batch);
                    }
                }
            }
        }
    }

    private void move(
            KafkaProducer<String, String> producer,
            KafkaConsumer<String, String> consumer,
            ConsumerRecords<String, String> batch) {
        producer.beginTransaction();
        try {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<String, String> record : batch) {
                producer.send(
                    new ProducerRecord<>(target, record.partition(), null, record.value()));
                offsets.put(
                    new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        } catch (KafkaException failure) {
            System.out.println("aborted " + failure.getClass().getSimpleName());
            producer.abortTransaction();
            Map<TopicPartition, OffsetAndMetadata> committed =
                consumer.committed(consumer.assignment());
            for (TopicPartition partition : consumer.assignment()) {
                OffsetAndMetadata end = committed.get(partition);
                consumer.seek(partition, end == null ? 0 : end.offset());
            }
        }
    }

    private KafkaProducer<String, String> producer() {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", bootstrap,
            "transactional.id", id,
            "transaction.timeout.ms", 10_000);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer() {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", bootstrap,
            "group.id", id,
            "group.protocol", "consumer",
            "isolation.level", "read_committed",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "max.poll.records", 50);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }
}
