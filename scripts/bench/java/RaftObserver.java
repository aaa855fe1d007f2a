import java.io.File;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.MetadataRecoveryStrategy;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.network.PlaintextChannelBuilder;
import org.apache.kafka.common.network.Selector;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.raft.Endpoints;
import org.apache.kafka.raft.FileQuorumStateStore;
import org.apache.kafka.raft.KafkaNetworkChannel;
import org.apache.kafka.raft.KafkaRaftClient;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.MetadataLogConfig;
import org.apache.kafka.raft.QuorumConfig;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.raft.TimingWheelExpirationService;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.snapshot.SnapshotReader;

/**
 * Follows a metadata log with Kafka's own raft client and says what it sees, one line each:
 * {@code hw OFFSET MICROS} when the high watermark that it knows has moved, {@code leader ID EPOCH},
 * {@code record OFFSET RECORD} for each record that is committed. MICROS are since 1970.
 *
 * <p>Arguments: HOST:PORT of a controller, the cluster's id, and the observer's own id.
 */
public final class RaftObserver {
    private static final String LISTENER = "CONTROLLER";
    private static final int REQUEST_TIMEOUT_MS = 2000;

    private RaftObserver() {
    }

    public static void main(String[] args) throws Exception {
        List<InetSocketAddress> servers = QuorumConfig.parseBootstrapServers(List.of(args[0]));
        int nodeId = Integer.parseInt(args[2]);
        File folder = Files.createTempDirectory("raft-observer").toFile();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
        File logFolder = new File(folder, "__cluster_metadata-0");
        Files.createDirectory(logFolder.toPath());
        Time time = Time.SYSTEM;
        LogContext logContext = new LogContext("[RaftObserver id=" + nodeId + "] ");
        Metrics metrics = new Metrics(time);
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        KafkaRaftLog log = KafkaRaftLog.createLog(
            new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID, logFolder, time,
            scheduler, new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of())),
            nodeId);
        ListenerName listener = new ListenerName(LISTENER);
        KafkaNetworkChannel channel = new KafkaNetworkChannel(
            time, listener, networkClient(nodeId, metrics, time, logContext), REQUEST_TIMEOUT_MS,
            "observer");
        KafkaRaftClient<ApiMessageAndVersion> client = new KafkaRaftClient<>(
            OptionalInt.of(nodeId), Uuid.randomUuid(), new MetadataRecordSerde(), channel, log, time,
            new TimingWheelExpirationService(new SystemTimer("observer")), logContext, false, args[1],
            servers, Endpoints.empty(), new SupportedVersionRange((short) 0, (short) 1),
            new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, Map.of())));
        client.register(new Printer());
        client.initialize(
            Map.of(), new FileQuorumStateStore(new File(logFolder, FileQuorumStateStore.DEFAULT_FILE_NAME)),
            metrics, ignored -> { });
        channel.start();
        follow(client);
    }

    private static void follow(KafkaRaftClient<ApiMessageAndVersion> client) {
        OptionalLong known = OptionalLong.empty();
        while (client.isRunning()) {
            client.poll();
            OptionalLong highWatermark = client.highWatermark();
            if (!highWatermark.equals(known)) {
                known = highWatermark;
                if (known.isPresent()) {
                    long micros = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
                    say("hw " + known.getAsLong() + " " + micros);
                }
            }
        }
    }

    private static NetworkClient networkClient(
            int nodeId, Metrics metrics, Time time, LogContext logContext) {
        PlaintextChannelBuilder channels = new PlaintextChannelBuilder(new ListenerName(LISTENER));
        channels.configure(Map.of());
        Selector selector = new Selector(-1, metrics, time, "raft", channels, logContext);
        return new NetworkClient(
            selector, new ManualMetadataUpdater(), "raft-observer-" + nodeId, 1, 50, 50, -1, 32768,
            REQUEST_TIMEOUT_MS, 10000, 30000, time, true, new ApiVersions(), logContext,
            MetadataRecoveryStrategy.NONE);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void delete(File folder) {
        try (var paths = Files.walk(folder.toPath())) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        } catch (java.io.IOException gone) {
            System.err.println(folder + " is left behind: " + gone);
        }
    }

    private static final class Printer implements RaftClient.Listener<ApiMessageAndVersion> {
        @Override
        public void handleCommit(BatchReader<ApiMessageAndVersion> reader) {
            try (reader) {
                reader.forEachRemaining(batch -> {
                    long offset = batch.baseOffset();
                    for (ApiMessageAndVersion record : batch.records()) {
                        say("record " + offset + " " + record.message());
                        offset++;
                    }
                });
            }
        }

        @Override
        public void handleLoadSnapshot(SnapshotReader<ApiMessageAndVersion> reader) {
            reader.close();
        }

        @Override
        public void handleLoadBootstrap(SnapshotReader<ApiMessageAndVersion> reader) {
            reader.close();
        }

        @Override
        public void handleLeaderChange(LeaderAndEpoch leader) {
            say("leader " + leader.leaderId().orElse(-1) + " " + leader.epoch());
        }
    }
}
