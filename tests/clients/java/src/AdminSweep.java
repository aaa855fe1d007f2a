import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Calls the methods of Admin one after another and prints what each brought, a line of JSON each.
 *
 * The last line names the methods that were not called. Usage: AdminSweep BOOTSTRAP TOPIC
 */
public final class AdminSweep {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long WAIT_S = 20;

    private final Map<String, Object> brought = new LinkedHashMap<>();
    private final String bootstrap;
    private final String topic;
    private final Admin admin;

    private AdminSweep(String bootstrap, String topic, Admin admin) {
        this.bootstrap = bootstrap;
        this.topic = topic;
        this.admin = admin;
    }

    /** One call: what it brings must be something that JSON can say. */
    private interface Step {
        Object run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = Address.of(args[0], Map.of("enable.metrics.push", true));
        try (Admin admin = Admin.create(config)) {
            AdminSweep sweep = new AdminSweep(args[0], args[1], admin);
            sweep.topics();
            sweep.configs();
            sweep.records();
            sweep.groups();
            sweep.transactions();
            sweep.cluster();
            sweep.replicas();
            sweep.security();
            sweep.otherGroups();
            sweep.print();
        }
    }

    private void step(String method, Step step) {
        Object result;
        try {
            result = step.run();
        } catch (ExecutionException failure) {
            result = failure.getCause().getClass().getSimpleName();
        } catch (Exception failure) {
            result = failure.getClass().getSimpleName();
        }
        brought.put(method, result);
    }

    private static <T> T get(KafkaFuture<T> future) throws Exception {
        return future.get(WAIT_S, TimeUnit.SECONDS);
    }

    private TopicPartition partition(int index) {
        return new TopicPartition(topic, index);
    }

    private void print() throws Exception {
        for (Map.Entry<String, Object> one : brought.entrySet()) {
            System.out.println(JSON.writeValueAsString(Arrays.asList(one.getKey(),
                one.getValue())));
        }
        Set<String> rest = Arrays.stream(Admin.class.getMethods())
            .map(method -> method.getName())
            .collect(Collectors.toCollection(TreeSet::new));
        rest.removeIf(name -> brought.keySet().stream()
            .anyMatch(key -> key.split(" ")[0].equals(name)));
        System.out.println(JSON.writeValueAsString(List.of("not called", rest)));
    }

    private void topics() {
        step("createTopics", () -> {
            NewTopic wanted = new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms",
                "1000000"));
            var result = admin.createTopics(List.of(wanted));
            get(result.all());
            return List.of(
                get(result.numPartitions(topic)),
                get(result.replicationFactor(topic)),
                get(result.config(topic)).get("retention.ms").value());
        });
        step("createTopics again", () ->
            get(admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all()));
        step("createPartitions", () -> {
            get(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all());
            return get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic)
                .partitions().size();
        });
        step("listTopics", () -> get(admin.listTopics().names()).contains(topic));
        step("describeTopics", () -> {
            TopicDescription found = get(admin.describeTopics(List.of(topic)).allTopicNames())
                .get(topic);
            return found.partitions().stream()
                .map(one -> List.of(
                    one.partition(), one.leader().id(), one.replicas().size(), one.isr().size()))
                .toList();
        });
        step("deleteTopics", () -> {
            String doomed = topic + "-doomed";
            get(admin.createTopics(List.of(new NewTopic(doomed, 1, (short) 1))).all());
            get(admin.deleteTopics(List.of(doomed)).all());
            return get(admin.listTopics().names()).contains(doomed);
        });
    }

    private void configs() {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        step("incrementalAlterConfigs", () -> {
            Collection<AlterConfigOp> operations = List.of(
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), OpType.APPEND),
                new AlterConfigOp(new ConfigEntry("retention.ms", ""), OpType.DELETE));
            get(admin.incrementalAlterConfigs(Map.of(resource, operations)).all());
            return "done";
        });
        step("describeConfigs", () -> {
            long deadline = System.currentTimeMillis() + 1_000 * WAIT_S;
            while (true) {
                Config config = get(admin.describeConfigs(List.of(resource)).all()).get(resource);
                ConfigEntry policy = config.get("cleanup.policy");
                // A broker may answer from metadata that it has not yet had from its controller.
                if (!policy.isDefault() || System.currentTimeMillis() > deadline) {
                    return List.of(
                        policy.value(), policy.source().name(),
                        config.get("retention.ms").source().name());
                }
            }
        });
        step("listConfigResources", () -> get(admin.listConfigResources(
                Set.of(ConfigResource.Type.TOPIC), new ListConfigResourcesOptions()).all())
            .contains(resource));
    }

    private void records() {
        step("listOffsets", () -> {
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                    Address.of(bootstrap, Map.of()), new StringSerializer(),
                        new StringSerializer())) {
                for (int number = 0; number < 10; number++) {
                    producer.send(new ProducerRecord<>(topic, 0, 1_000L + number, "key", "value"))
                        .get(WAIT_S, TimeUnit.SECONDS);
                }
            }
            List<Long> found = new ArrayList<>();
            for (OffsetSpec spec : List.of(
                    OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(),
                    OffsetSpec.forTimestamp(1_004), OffsetSpec.earliestLocal())) {
                found.add(get(admin.listOffsets(Map.of(partition(0), spec)).all())
                    .get(partition(0)).offset());
            }
            return found;
        });
        step("deleteRecords", () -> get(admin.deleteRecords(
                Map.of(partition(0), RecordsToDelete.beforeOffset(3))).lowWatermarks()
                    .get(partition(0)))
            .lowWatermark());
        step("describeProducers", () -> get(admin.describeProducers(List.of(partition(0)))
                .partitionResult(partition(0))).activeProducers().stream()
            .map(ProducerState::lastSequence).toList());
    }

    private void groups() throws Exception {
        String group = topic + "-group";
        Map<String, Object> config = Address.of(bootstrap, Map.of(
            "group.id", group, "group.instance.id", "one",
            "auto.offset.reset", "earliest", "enable.auto.commit", false));
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            int count = 0;
            while (count < 7) {
                count += consumer.poll(Duration.ofMillis(500)).count();
            }
            consumer.commitSync();
            step("describeConsumerGroups", () -> {
                ConsumerGroupDescription found =
                    get(admin.describeConsumerGroups(List.of(group)).all()).get(group);
                return List.of(
                    found.groupState().toString(), found.partitionAssignor(),
                    found.members().size(),
                    found.members().iterator().next().assignment().topicPartitions().size());
            });
            step("describeClassicGroups", () ->
                get(admin.describeClassicGroups(List.of(group)).all()).get(group).protocol());
            step("removeMembersFromConsumerGroup", () -> {
                get(admin.removeMembersFromConsumerGroup(group,
                    new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("one"))))
                        .all());
                return get(admin.describeConsumerGroups(List.of(group)).all()).get(group).members()
                    .size();
            });
        }
        listConsumerGroups(group);
        step("listGroups", () -> get(admin.listGroups().all()).stream()
            .filter(one -> one.groupId().equals(group))
            .map(one -> List.of(one.type().get().toString(), one.protocol(), one.groupState().get()
                .toString()))
            .toList());
        step("listConsumerGroupOffsets", () ->
            get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
                .get(partition(0)).offset());
        step("alterConsumerGroupOffsets", () -> {
            get(admin.alterConsumerGroupOffsets(
                group, Map.of(partition(0), new OffsetAndMetadata(5, "moved"))).all());
            OffsetAndMetadata found = get(admin.listConsumerGroupOffsets(group)
                .partitionsToOffsetAndMetadata()).get(partition(0));
            return List.of(found.offset(), found.metadata());
        });
        step("deleteConsumerGroupOffsets", () -> {
            get(admin.deleteConsumerGroupOffsets(group, Set.of(partition(0))).all());
            return get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
                .containsKey(partition(0));
        });
        step("deleteConsumerGroups", () -> {
            get(admin.deleteConsumerGroups(List.of(group)).all());
            return get(admin.listGroups().all()).stream().anyMatch(one -> one.groupId()
                .equals(group));
        });
    }

    @SuppressWarnings({"deprecation", "removal"})
    private void listConsumerGroups(String group) {
        step("listConsumerGroups", () -> get(admin.listConsumerGroups().all()).stream()
            .anyMatch(one -> one.groupId().equals(group)));
        step("listClientMetricsResources", () ->
            get(admin.listClientMetricsResources().all()).stream()
            .anyMatch(one -> one.name().equals(topic)));
    }

    private void transactions() throws Exception {
        String name = topic + "-producer";
        Map<String, Object> config = Address.of(bootstrap, Map.of("transactional.id", name));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 1, "key", "open")).get(WAIT_S,
                TimeUnit.SECONDS);
            step("listTransactions", () -> get(admin.listTransactions().all()).stream()
                .filter(one -> one.transactionalId().equals(name))
                .map(one -> one.state().toString()).toList());
            step("describeTransactions", () -> {
                TransactionDescription found =
                    get(admin.describeTransactions(List.of(name)).all()).get(name);
                return List.of(
                    found.state().toString(), found.transactionTimeoutMs(),
                    found.topicPartitions().equals(Set.of(partition(1))));
            });
            step("forceTerminateTransaction", () -> {
                get(admin.forceTerminateTransaction(name).result());
                return get(admin.describeTransactions(List.of(name)).all()).get(name).state()
                    .toString();
            });
            producer.close(Duration.ZERO);
        }
        abortAsAnAdministrator();
        step("fenceProducers", () -> {
            var fenced = admin.fenceProducers(List.of(name));
            get(fenced.all());
            return get(fenced.epochId(name)) > 0;
        });
    }

    /** What kafka-transactions.sh does about a hanging transaction: a marker for one partition. */
    private void abortAsAnAdministrator() throws Exception {
        String name = topic + "-hanging";
        Map<String, Object> config = Address.of(bootstrap, Map.of("transactional.id", name));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 2, "key", "open")).get(WAIT_S,
                TimeUnit.SECONDS);
            step("abortTransaction", () -> {
                ProducerState open = get(admin.describeProducers(List.of(partition(2)))
                    .partitionResult(partition(2))).activeProducers().get(0);
                get(admin.abortTransaction(new AbortTransactionSpec(
                    partition(2), open.producerId(), (short) open.producerEpoch(),
                    open.coordinatorEpoch().orElse(0))).all());
                return List.of(
                    open.currentTransactionStartOffset().getAsLong(),
                    get(admin.describeProducers(List.of(partition(2)))
                        .partitionResult(partition(2)))
                        .activeProducers().get(0).currentTransactionStartOffset().isPresent());
            });
            producer.close(Duration.ZERO);
        }
    }

    private void cluster() {
        step("describeCluster", () -> {
            var found = admin.describeCluster();
            return List.of(
                get(found.nodes()).size(), get(found.controller()).id(), get(found.clusterId())
                    .length());
        });
        step("describeFeatures", () -> get(admin.describeFeatures().featureMetadata())
            .finalizedFeatures().get("transaction.version").maxVersionLevel());
        step("metrics", () -> !admin.metrics().isEmpty());
        KafkaMetric metric = (KafkaMetric) admin.metrics().values().iterator().next();
        step("registerMetricForSubscription", () -> {
            admin.registerMetricForSubscription(metric);
            return "done";
        });
        step("unregisterMetricFromSubscription", () -> {
            admin.unregisterMetricFromSubscription(metric);
            return "done";
        });
        step("describeMetadataQuorum", () ->
            get(admin.describeMetadataQuorum().quorumInfo()).leaderId());
        step("updateFeatures", () -> {
            FeatureUpdate unknown = new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE);
            return get(admin.updateFeatures(Map.of("no.such", unknown),
                new UpdateFeaturesOptions()).all());
        });
        step("unregisterBroker", () -> get(admin.unregisterBroker(77).all()));
        step("addRaftVoter", () -> get(admin.addRaftVoter(77, Uuid.randomUuid(),
                Set.of(new RaftVoterEndpoint("CONTROLLER", "localhost", 1))).all()));
        step("removeRaftVoter", () -> get(admin.removeRaftVoter(77, Uuid.randomUuid()).all()));
        step("clientInstanceId", () -> admin.clientInstanceId(Duration.ofMillis(500)) != null);
    }

    private void replicas() {
        step("electLeaders", () -> get(admin.electLeaders(
                ElectionType.PREFERRED, Set.of(partition(0))).partitions()).get(partition(0))
            .map(error -> error.getClass().getSimpleName()).orElse("elected"));
        step("alterPartitionReassignments", () -> {
            get(admin.alterPartitionReassignments(Map.of(
                partition(0), Optional.of(new NewPartitionReassignment(List.of(1))))).all());
            return "done";
        });
        step("listPartitionReassignments", () ->
            get(admin.listPartitionReassignments().reassignments()).size());
        step("describeLogDirs", () ->
            get(admin.describeLogDirs(List.of(1)).allDescriptions()).get(1)
            .values().stream()
            .map(dir -> dir.replicaInfos().get(partition(1)))
            .map(info -> List.of(info.size() > 0, info.offsetLag(), info.isFuture()))
            .toList());
        TopicPartitionReplica replica = new TopicPartitionReplica(topic, 0, 1);
        step("describeReplicaLogDirs", () ->
            get(admin.describeReplicaLogDirs(List.of(replica)).all())
            .get(replica).getCurrentReplicaOffsetLag());
        step("alterReplicaLogDirs", () -> {
            String dir = get(admin.describeReplicaLogDirs(List.of(replica)).all())
                .get(replica).getCurrentReplicaLogDir();
            get(admin.alterReplicaLogDirs(Map.of(replica, dir)).all());
            return "done";
        });
    }

    private void security() {
        step("describeAcls", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()).size());
        step("createAcls", () -> get(admin.createAcls(List.of(new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
            new AccessControlEntry("User:alice", "*", AclOperation.READ,
                AclPermissionType.ALLOW)))).all()));
        step("deleteAcls", () -> get(admin.deleteAcls(List.of(AclBindingFilter.ANY)).all()).size());
        ClientQuotaEntity alice = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, topic));
        step("alterClientQuotas", () -> {
            get(admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
                alice, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0)))))
                    .all());
            return "done";
        });
        step("describeClientQuotas", () ->
            get(admin.describeClientQuotas(ClientQuotaFilter.contains(
            List.of(ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.USER, topic))))
                .entities()).get(alice));
        step("describeUserScramCredentials", () ->
            get(admin.describeUserScramCredentials().all()).containsKey(topic));
        step("alterUserScramCredentials", () -> {
            get(admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(
                topic, new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "secret")))
                    .all());
            return get(admin.describeUserScramCredentials(List.of(topic)).all()).get(topic)
                .credentialInfos().get(0).iterations();
        });
        step("createDelegationToken", () ->
            get(admin.createDelegationToken().delegationToken()).toString());
        step("renewDelegationToken", () ->
            get(admin.renewDelegationToken(new byte[8]).expiryTimestamp()));
        step("expireDelegationToken", () ->
            get(admin.expireDelegationToken(new byte[8]).expiryTimestamp()));
        step("describeDelegationToken", () ->
            get(admin.describeDelegationToken().delegationTokens()).size());
    }

    private void otherGroups() {
        String none = topic + "-none";
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(partition(0),
            new OffsetAndMetadata(1));
        step("describeShareGroups", () ->
            get(admin.describeShareGroups(List.of(none)).all()).size());
        step("alterShareGroupOffsets", () ->
            get(admin.alterShareGroupOffsets(none, Map.of(partition(0), 1L)).all()));
        step("listShareGroupOffsets", () -> get(admin.listShareGroupOffsets(
            Map.of(none, new ListShareGroupOffsetsSpec())).all()).get(none).size());
        step("deleteShareGroupOffsets", () ->
            get(admin.deleteShareGroupOffsets(none, Set.of(topic)).all()));
        step("deleteShareGroups", () -> get(admin.deleteShareGroups(List.of(none)).all()));
        step("describeStreamsGroups", () ->
            get(admin.describeStreamsGroups(List.of(none)).all()).size());
        step("alterStreamsGroupOffsets", () ->
            get(admin.alterStreamsGroupOffsets(none, offsets).all()));
        step("listStreamsGroupOffsets", () -> get(admin.listStreamsGroupOffsets(
            Map.of(none, new ListStreamsGroupOffsetsSpec())).all()).get(none).size());
        step("deleteStreamsGroupOffsets", () ->
            get(admin.deleteStreamsGroupOffsets(none, Set.of(partition(0))).all()));
        step("deleteStreamsGroups", () -> get(admin.deleteStreamsGroups(List.of(none)).all()));
    }
}
