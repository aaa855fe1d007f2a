import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * Kafka Streams counts words exactly once. Each count goes out, since nothing is cached.
 *
 * Prints the state that it enters, a line each, and ends when its process is killed. A thread that
 * failed is replaced, as an application would have it.
 * Usage: WordCount BOOTSTRAP|@PROPERTIES SOURCE TARGET APPLICATION STATE_DIR SESSION_TIMEOUT_MS
 */
public final class WordCount {
    private WordCount() {
    }

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.putAll(Address.of(args[0], Map.of(
            StreamsConfig.APPLICATION_ID_CONFIG, args[3],
            StreamsConfig.STATE_DIR_CONFIG, args[4],
            StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2,
            StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200,
            StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0,
            StreamsConfig.producerPrefix("transaction.timeout.ms"), 3_000,
            StreamsConfig.mainConsumerPrefix("session.timeout.ms"), args[5],
            StreamsConfig.mainConsumerPrefix("heartbeat.interval.ms"), 500,
            StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest")));
        KafkaStreams streams = new KafkaStreams(topology(args[1], args[2]).build(), config);
        streams.setUncaughtExceptionHandler(failure -> {
            System.out.println("replaced " + failure.getClass().getSimpleName());
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.setStateListener((now, before) -> System.out.println(now));
        streams.start();
        new CountDownLatch(1).await();
    }

    private static StreamsBuilder topology(String source, String target) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(source, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(String::valueOf)
            .to(target, Produced.with(Serdes.String(), Serdes.String()));
        return builder;
    }
}
