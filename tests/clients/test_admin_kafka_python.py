"""kafka-python's admin: what each of its methods brings.

Left out are those for ACLs, SCRAM and replicas on other disks, and `api_versions`: release 3.0.12
does not know the last API of Apache Kafka 4.4, and says so.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.settled import settled

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python is about to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import (
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        OffsetAndMetadata,
        TopicPartition,
    )
    from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic, OffsetSpec
    from kafka.errors import (
        InvalidPartitionsError,
        InvalidUpdateVersionError,
        TopicAlreadyExistsError,
        UnknownTopicOrPartitionError,
    )

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PARTITIONS = 3
RECORDS = 12


@pytest.fixture(scope="module")
def admin(server_process: str) -> Iterator[Any]:
    made = KafkaAdminClient(bootstrap_servers=server_process)
    yield made
    made.close()


@pytest.fixture
def filled(server_process: str, admin: Any, topic: str) -> Iterator[str]:
    """A topic with as many records in each partition."""
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)], wait_for_metadata=True)
    producer = KafkaProducer(bootstrap_servers=server_process)
    for number in range(RECORDS):
        producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    producer.flush()
    producer.close()
    yield topic
    admin.delete_topics([topic])


@pytest.fixture
def read(server_process: str, filled: str) -> Iterator[str]:
    """A group that has read and committed all; its only member is still there."""
    group = f"{filled}-readers"
    consumer = KafkaConsumer(
        filled,
        bootstrap_servers=server_process,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    got = 0
    while got < RECORDS:
        got += sum(len(batch) for batch in consumer.poll(1000).values())
    consumer.commit()
    yield group
    consumer.close()


def test_topics(admin: Any, topic: str) -> None:
    made = admin.create_topics(
        [NewTopic(topic, 2, 1, topic_configs={"retention.ms": "1000000"})], wait_for_metadata=True
    )
    [told] = made["topics"]
    assert (told["num_partitions"], told["replication_factor"]) == (2, 1)
    assert told["configs"]["retention.ms"]["value"] == "1000000"
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 2, 1)])
    validated = admin.create_topics([NewTopic(f"{topic}-not", 2, 1)], validate_only=True)
    assert [each["error_code"] for each in validated["topics"]] == [0]
    admin.create_partitions({topic: NewPartitions(PARTITIONS)})
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({topic: NewPartitions(PARTITIONS)})

    def described() -> object:
        [one] = admin.describe_topics([topic])
        return [
            (each["partition_index"], each["leader_id"], each["replica_nodes"], each["isr_nodes"])
            for each in one["partitions"]
        ]

    settled(described, [(index, 1, [1], [1]) for index in range(PARTITIONS)])
    [paged] = admin.describe_topic_partitions([topic])["topics"]
    assert [each["leader_id"] for each in paged["partitions"]] == [1] * PARTITIONS
    assert str(paged["topic_id"]) == told["topic_id"]
    listed = admin.list_topics()
    assert topic in listed
    assert f"{topic}-not" not in listed
    [gone] = admin.delete_topics([topic])["topics"]
    assert (gone["name"], gone["error_code"]) == (topic, 0)
    settled(lambda: topic in admin.list_topics(), False)
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_configs(admin: Any, filled: str) -> None:
    def resource(configs: dict[str, str | None] | None = None) -> Any:
        return ConfigResource(ConfigResourceType.TOPIC, filled, configs)

    def modified() -> object:
        [told] = admin.describe_configs([resource()])["topic"].values()
        return {name: each["value"] for name, each in told.items()}

    assert admin.alter_configs([resource({"retention.ms": "5000"})]) == {"topic": {filled: "OK"}}
    settled(modified, {"retention.ms": "5000"})
    admin.alter_configs([resource({"cleanup.policy": "compact"})])
    settled(modified, {"retention.ms": "5000", "cleanup.policy": "compact"})
    admin.alter_configs([resource({"retention.ms": "6000"})], incremental=False)
    admin.reset_configs([resource({"cleanup.policy": None})])
    settled(modified, {"retention.ms": "6000"})
    admin.reset_configs([resource({"retention.ms": None})])
    settled(modified, {})
    assert filled in admin.list_config_resources()["topic"]


def test_the_cluster(admin: Any, server_process: str, filled: str) -> None:
    cluster = admin.describe_cluster()
    [broker] = cluster["brokers"]
    assert f"{broker['host']}:{broker['port']}" == server_process
    assert (broker["broker_id"], broker["is_fenced"]) == (1, False)
    assert len(cluster["cluster_id"]) == 22
    features = admin.describe_features()
    assert features["transaction.version"]["finalized"] == (2, 2)
    with pytest.raises(InvalidUpdateVersionError):
        admin.update_features({"no.such.feature": 1})
    [quorum] = admin.describe_metadata_quorum()["topics"]
    [metadata] = quorum["partitions"]
    assert (metadata["leader_id"], metadata["error"]) == (1, None)
    [node] = admin.describe_log_dirs()
    [folder] = node["log_dirs"]
    [one] = [each for each in folder["topics"] if each["name"] == filled]
    assert {each["partition_index"] for each in one["partitions"]} == set(range(PARTITIONS))
    assert all(each["partition_size"] > RECORDS // PARTITIONS for each in one["partitions"])


def test_a_group_and_its_offsets(admin: Any, filled: str, read: str) -> None:
    [group] = admin.describe_groups([read]).values()
    assert (group["group_state"], group["protocol_data"]) == ("Stable", "range")
    [member] = group["members"]
    [assigned] = member["member_assignment"]["assigned_partitions"]
    assert assigned == {"topic": filled, "partitions": list(range(PARTITIONS))}
    [listed] = [each for each in admin.list_groups() if each["group_id"] == read]
    assert (listed["group_state"], listed["group_type"]) == ("Stable", "classic")
    assert read not in {each["group_id"] for each in admin.list_groups(states_filter=["Empty"])}
    offsets = admin.list_group_offsets([read])[read]
    assert {each.partition: told.offset for each, told in offsets.items()} == dict.fromkeys(
        range(PARTITIONS), RECORDS // PARTITIONS
    )


def test_offsets_of_a_group_without_members(admin: Any, filled: str, topic: str) -> None:
    group = f"{topic}-moved"
    first, second = TopicPartition(filled, 0), TopicPartition(filled, 1)
    admin.alter_group_offsets(
        group, {first: OffsetAndMetadata(1, "here", -1), second: OffsetAndMetadata(2, "", -1)}
    )

    def offsets() -> object:
        told = admin.list_group_offsets([group])[group]
        return {each: (found.offset, found.metadata) for each, found in told.items()}

    settled(offsets, {first: (1, "here"), second: (2, "")})
    admin.delete_group_offsets(group, [second])
    settled(offsets, {first: (1, "here")})
    admin.reset_group_offsets(group, {first: OffsetSpec.LATEST})
    settled(offsets, {first: (RECORDS // PARTITIONS, "here")})
    assert admin.delete_groups([group]) == {group: "OK"}
    [gone] = admin.describe_groups([group]).values()
    assert (gone["group_state"], gone["error"][:10]) == ("Dead", "[Error 69]")


def test_records_and_leaders(admin: Any, filled: str) -> None:
    partitions = [TopicPartition(filled, index) for index in range(PARTITIONS)]
    each = RECORDS // PARTITIONS
    deleted = admin.delete_records({partitions[0]: 2})
    assert deleted[partitions[0]]["low_watermark"] == 2
    starts = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
    assert [starts[one].offset for one in partitions] == [2, 0, 0]
    ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    assert [ends[one].offset for one in partitions] == [each] * PARTITIONS
    elected = admin.elect_leaders(0, {filled: [0]}, raise_errors=False)
    [result] = elected.replica_election_results
    assert [one.error_code for one in result.partition_result] == [84]
    admin.alter_partition_reassignments({partitions[0]: [1]})
    assert admin.list_partition_reassignments() == {}


def test_transactions(admin: Any, server_process: str, filled: str) -> None:
    name, partition = f"{filled}-txn", TopicPartition(filled, 0)
    producer = KafkaProducer(bootstrap_servers=server_process, transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(filled, b"open", partition=0).get(60)

    def state() -> object:
        return admin.describe_transactions([name])[name].state.value

    told = admin.describe_transactions([name])[name]
    assert (told.state.value, told.topic_partitions) == ("Ongoing", {partition})
    listed = [each for each in admin.list_transactions()[1] if each.transactional_id == name]
    assert [each.producer_id for each in listed] == [told.producer_id]
    producers = admin.describe_producers([partition])[partition].active_producers
    [writing] = [each for each in producers if each.producer_id == told.producer_id]
    assert writing.current_transaction_start_offset == RECORDS // PARTITIONS
    assert admin.find_hanging_transactions() == []
    producer.abort_transaction()
    producer.close()
    settled(state, "CompleteAbort")
