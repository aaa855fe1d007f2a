import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Three members of a group share a topic while it is filled; one of them leaves in the middle.
 *
 * Prints what the members committed, partition by partition, as one JSON object.
 * Usage: GroupReaders BOOTSTRAP|@PROPERTIES TOPIC PARTITIONS RECORDS PROTOCOL
 */
public final class GroupReaders {
    private static final int MEMBERS = 3;
    private static final long DEADLINE_MS = 60_000;

    private final String bootstrap;
    private final String topic;
    private final int partitions;
    private final int records;
    private final String protocol;
    private final Map<Integer, List<Long>> committed = new TreeMap<>();
    private final Map<Integer, Set<TopicPartition>> assigned = new ConcurrentHashMap<>();
    private int leftWith = -1;

    private GroupReaders(String[] args) {
        bootstrap = args[0];
        topic = args[1];
        partitions = Integer.parseInt(args[2]);
        records = Integer.parseInt(args[3]);
        protocol = args[4];
    }

    public static void main(String[] args) throws Exception {
        System.out.println(new ObjectMapper().writeValueAsString(new GroupReaders(args).run()));
    }

    private Map<String, Object> run() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(MEMBERS);
        try {
            List<Future<?>> members = new ArrayList<>();
            for (int index = 0; index < MEMBERS; index++) {
                int member = index;
                members.add(threads.submit(() -> {
                    read(member);
                    return null;
                }));
            }
            fill();
            for (Future<?> member : members) {
                member.get(DEADLINE_MS, TimeUnit.MILLISECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        return Map.of("committed", committed, "leftWith", leftWith, "offsets", offsets());
    }

    /** Once the members share all partitions evenly. */
    private void fill() throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        synchronized (this) {
            while (!isShared()) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("not shared: " + assigned);
                }
                wait(1_000);
            }
        }
        Map<String, Object> config =
            Address.of(bootstrap, Map.of(ProducerConfig.LINGER_MS_CONFIG, 5));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < records; number++) {
                producer.send(
                    new ProducerRecord<>(topic, number % partitions, null, "record " + number));
            }
        }
    }

    private boolean isShared() {
        Set<TopicPartition> all = new HashSet<>();
        assigned.values().forEach(all::addAll);
        return all.size() == partitions
            && assigned.size() == MEMBERS
            && assigned.values().stream().allMatch(some -> some.size() == partitions / MEMBERS);
    }

    private synchronized int count() {
        return committed.values().stream().mapToInt(List::size).sum();
    }

    private Map<String, Object> config(int member) {
        Map<String, Object> config = Address.of(bootstrap, Map.of(
            ConsumerConfig.GROUP_ID_CONFIG, topic + "-" + protocol,
            ConsumerConfig.CLIENT_ID_CONFIG, "member-" + member,
            ConsumerConfig.GROUP_PROTOCOL_CONFIG, protocol,
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false,
            ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 100,
            CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG, 30_000));
        if (protocol.equals("classic")) {
            config.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, 300);
        }
        return config;
    }

    private void read(int member) {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                config(member), new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic), new Listener(member, consumer));
            while (count() < records && !(member == 0 && count() >= records / 3)) {
                if (System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException(count() + " of " + records + " were read");
                }
                ConsumerRecords<String, String> batch = consumer.poll(Duration.ofMillis(200));
                if (!batch.isEmpty()) {
                    commit(consumer, batch);
                }
            }
            if (member == 0) {
                leftWith = count();
            }
        }
    }

    /** What a rebalance kept from being committed is read again, by whoever has it then. */
    private void commit(
            KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> batch) {
        try {
            consumer.commitSync();
        } catch (CommitFailedException | RebalanceInProgressException refused) {
            for (TopicPartition partition : batch.partitions()) {
                if (consumer.assignment().contains(partition)) {
                    consumer.seek(partition, batch.records(partition).get(0).offset());
                }
            }
            return;
        }
        synchronized (this) {
            for (ConsumerRecord<String, String> record : batch) {
                List<Long> numbers =
                    committed.computeIfAbsent(record.partition(), any -> new ArrayList<>());
                numbers.add(Long.parseLong(record.value().split(" ")[1]));
            }
        }
    }

    private Map<Integer, Long> offsets() {
        Set<TopicPartition> all = IntStream.range(0, partitions)
            .mapToObj(index -> new TopicPartition(topic, index))
            .collect(Collectors.toSet());
        Map<Integer, Long> found = new TreeMap<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                config(MEMBERS), new StringDeserializer(), new StringDeserializer())) {
            consumer.committed(all).forEach(
                (partition, offset) -> found.put(partition.partition(), offset.offset()));
        }
        return found;
    }

    /** Keeps what a member has. */
    private final class Listener implements ConsumerRebalanceListener {
        private final int member;
        private final KafkaConsumer<String, String> consumer;

        Listener(int member, KafkaConsumer<String, String> consumer) {
            this.member = member;
            this.consumer = consumer;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            note(partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            note(Set.of());
        }

        private void note(Collection<TopicPartition> lost) {
            synchronized (GroupReaders.this) {
                Set<TopicPartition> now = new HashSet<>(consumer.assignment());
                now.removeAll(lost);
                assigned.put(member, now);
                GroupReaders.this.notifyAll();
            }
        }
    }
}
