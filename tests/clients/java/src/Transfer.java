import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Moves records from one topic to another in transactions with the offsets read, and gives each
 * third transaction up before it does it again. Then a second producer of the same id comes.
 *
 * Prints a JSON object: what a read_committed reader sees, how much there is in all, the
 * committed offset, and how the first producer learns that it is fenced.
 * Usage: Transfer BOOTSTRAP|@PROPERTIES SOURCE TARGET RECORDS GROUP_PROTOCOL
 */
public final class Transfer {
    private static final long DEADLINE_MS = 60_000;

    private final String bootstrap;
    private final String source;
    private final String target;
    private final int records;
    private final String protocol;

    private Transfer(String[] args) {
        bootstrap = args[0];
        source = args[1];
        target = args[2];
        records = Integer.parseInt(args[3]);
        protocol = args[4];
    }

    public static void main(String[] args) throws Exception {
        System.out.println(new ObjectMapper().writeValueAsString(new Transfer(args).run()));
    }

    private Map<String, Object> run() throws Exception {
        Map<String, Object> results = new HashMap<>();
        KafkaProducer<String, String> producer = producer();
        producer.initTransactions();
        results.put("aborted", move(producer));
        results.put("fenced", fence(producer));
        results.put("committed", read("read_committed"));
        results.put("everything", read("read_uncommitted").size());
        TopicPartition first = new TopicPartition(source, 0);
        try (KafkaConsumer<String, String> consumer = consumer("read_committed")) {
            results.put("offset", consumer.committed(Set.of(first)).get(first).offset());
        }
        return results;
    }

    private KafkaProducer<String, String> producer() {
        Map<String, Object> config = Address.of(bootstrap, Map.of("transactional.id", source + "-mover"));
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(String isolation) {
        Map<String, Object> config = Address.of(bootstrap, Map.of(
            "group.id", source + "-movers",
            "group.protocol", protocol,
            "isolation.level", isolation,
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "max.poll.records", 20));
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    /** How many records went into transactions that were given up. */
    private int move(KafkaProducer<String, String> producer) throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        int aborted = 0;
        try (KafkaConsumer<String, String> consumer = consumer("read_committed")) {
            consumer.subscribe(List.of(source));
            int done = 0;
            for (int attempt = 0; done < records && System.currentTimeMillis() < deadline;) {
                ConsumerRecords<String, String> batch = consumer.poll(Duration.ofMillis(200));
                if (batch.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> record : batch) {
                    producer.send(new ProducerRecord<>(target, 0, null, "done " + record.value()));
                    offsets.put(
                        new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                attempt++;
                if (attempt % 3 == 0) {
                    producer.flush();
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    producer.abortTransaction();
                    aborted += batch.count();
                    for (TopicPartition partition : batch.partitions()) {
                        consumer.seek(partition, batch.records(partition).get(0).offset());
                    }
                    continue;
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
                done += batch.count();
            }
        }
        return aborted;
    }

    private String fence(KafkaProducer<String, String> first) throws Exception {
        first.beginTransaction();
        first.send(new ProducerRecord<>(target, 0, null, "lost")).get();
        try (KafkaProducer<String, String> second = producer()) {
            second.initTransactions();
            second.beginTransaction();
            second.send(new ProducerRecord<>(target, 0, null, "kept")).get();
            second.commitTransaction();
        }
        try {
            first.commitTransaction();
            return "not at all";
        } catch (RuntimeException fenced) {
            return fenced.getClass().getSimpleName();
        } finally {
            first.close(Duration.ZERO);
        }
    }

    private List<String> read(String isolation) {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        List<String> found = new ArrayList<>();
        TopicPartition partition = new TopicPartition(target, 0);
        try (KafkaConsumer<String, String> consumer = consumer(isolation)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end && System.currentTimeMillis() < deadline) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> found.add(record.value()));
            }
        }
        return found;
    }
}
