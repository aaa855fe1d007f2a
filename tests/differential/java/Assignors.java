import java.util.*;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.*;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.*;

/**
 * Apache Kafka's own assignors on standard input and output, to compare ours with.
 *
 *   topic ID PARTITIONS
 *   member ID INSTANCE|- TOPICID,...|- TOPICID:0.1.2,...|-
 *   go uniform|range homogeneous|heterogeneous
 *
 * `go` answers `ID TOPICID:0.1.2,...|-` a member and then `end`, and forgets topics and members.
 */
public class Assignors {
    private static final Map<String, PartitionAssignor> ASSIGNORS =
        Map.of("uniform", new UniformAssignor(), "range", new RangeAssignor());

    private final Map<Uuid, Integer> topics = new HashMap<>();
    private final Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
    private final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();

    public static void main(String[] arguments) {
        Scanner input = new Scanner(System.in);
        Assignors group = new Assignors();
        while (input.hasNextLine()) {
            String[] words = input.nextLine().split(" ");
            switch (words[0]) {
                case "topic" -> group.topics.put(uuid(words[1]), Integer.parseInt(words[2]));
                case "member" -> group.member(words[1], words[2], words[3], words[4]);
                default -> {
                    group.go(words[1], words[2]);
                    group = new Assignors();
                }
            }
        }
    }

    private void member(String id, String instance, String subscribed, String assigned) {
        Set<Uuid> topicIds = new HashSet<>();
        for (String text : list(subscribed)) topicIds.add(uuid(text));
        List<ConsumerGroupTargetAssignmentMemberValue.TopicPartition> record = new ArrayList<>();
        for (String text : list(assigned)) {
            String[] parts = text.split(":");
            List<Integer> partitions = Arrays.stream(parts[1].split("\\.")).map(Integer::valueOf).toList();
            for (int partition : partitions) {
                owners.computeIfAbsent(uuid(parts[0]), __ -> new HashMap<>()).put(partition, id);
            }
            record.add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(uuid(parts[0])).setPartitions(partitions));
        }
        members.put(id, new MemberSubscriptionAndAssignmentImpl(
            Optional.empty(),
            instance.equals("-") ? Optional.empty() : Optional.of(instance),
            topicIds,
            Assignment.fromRecord(
                new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(record))));
    }

    private void go(String assignor, String type) {
        GroupAssignment result = ASSIGNORS.get(assignor).assign(
            new GroupSpecImpl(members, SubscriptionType.valueOf(type.toUpperCase()), owners),
            new SubscribedTopicDescriber() {
                public int numPartitions(Uuid id) { return topics.getOrDefault(id, -1); }
                public Set<String> racksForPartition(Uuid id, int partition) { return Set.of(); }
            });
        StringBuilder out = new StringBuilder();
        result.members().forEach((id, assignment) -> out.append(id).append(' ').append(
            assignment.partitions().isEmpty() ? "-" : assignment.partitions().entrySet().stream()
                .map(one -> hex(one.getKey()) + ":" + one.getValue().stream().sorted()
                    .map(String::valueOf).collect(Collectors.joining(".")))
                .collect(Collectors.joining(","))).append('\n'));
        System.out.print(out.append("end\n"));
        System.out.flush();
    }

    private static String[] list(String text) {
        return text.equals("-") ? new String[0] : text.split(",");
    }

    private static Uuid uuid(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16),
            Long.parseUnsignedLong(hex.substring(16), 16));
    }

    private static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }
}
