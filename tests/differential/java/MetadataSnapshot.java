import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.common.security.token.delegation.TokenInformation;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.ScramCredentialData;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotReader;

/** What Apache Kafka's own reader finds in a snapshot of the metadata log: FOLDER OFFSET EPOCH. */
public final class MetadataSnapshot {
    private static final int MAX_BATCH_BYTES = 8 * 1024 * 1024;

    private MetadataSnapshot() {}

    public static void main(String[] args) throws Exception {
        OffsetAndEpoch id = new OffsetAndEpoch(Long.parseLong(args[1]), Integer.parseInt(args[2]));
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        TreeSet<String> lines = new TreeSet<>();
        try (FileRawSnapshotReader file = FileRawSnapshotReader.open(Path.of(args[0]), id);
                RecordsSnapshotReader<ApiMessageAndVersion> reader =
                        RecordsSnapshotReader.of(
                                file,
                                MetadataRecordSerde.INSTANCE,
                                BufferSupplier.create(),
                                MAX_BATCH_BYTES,
                                true,
                                new LogContext())) {
            if (reader.lastContainedLogTimestamp() < 0) {
                throw new IllegalStateException("no time is told");
            }
            while (reader.hasNext()) {
                for (ApiMessageAndVersion record : reader.next()) {
                    delta.replay(record.message());
                }
            }
        }
        delta.finishSnapshot();
        MetadataImage image =
                delta.apply(new MetadataProvenance(id.offset(), id.epoch(), 0, true));
        image.acls().acls().values().forEach(acl -> lines.add("acl " + acl));
        image.scram()
                .mechanisms()
                .forEach((mechanism, users) -> users.forEach((user, one) -> lines.add(told(mechanism, user, one))));
        image.clientQuotas()
                .entities()
                .forEach(
                        (entity, quotas) ->
                                lines.add("quota " + sorted(entity.entries()) + " " + sorted(quotas.quotas())));
        image.delegationTokens().tokens().values().forEach(token -> lines.add(told(token.tokenInformation())));
        lines.forEach(System.out::println);
    }

    private static String told(ScramMechanism mechanism, String user, ScramCredentialData one) {
        HexFormat hex = HexFormat.of();
        String keys = hex.formatHex(one.storedKey()) + " " + hex.formatHex(one.serverKey());
        String salt = hex.formatHex(one.salt());
        return String.join(" ", "scram", mechanism.toString(), user, salt, keys, "" + one.iterations());
    }

    private static String told(TokenInformation one) {
        String who = one.owner() + " " + one.tokenRequester() + " " + new TreeSet<>(one.renewersAsString());
        String times = one.issueTimestamp() + " " + one.maxTimestamp() + " " + one.expiryTimestamp();
        return String.join(" ", "token", one.tokenId(), who, times);
    }

    private static String sorted(Map<String, ?> map) {
        TreeSet<String> pairs = new TreeSet<>();
        map.forEach((key, value) -> pairs.add(key + "=" + value));
        return pairs.toString();
    }
}
