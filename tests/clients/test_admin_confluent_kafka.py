"""confluent-kafka's admin (librdkafka): what each of its methods brings.

Left out are those for SCRAM, and for ACLs on a broker that has no authorizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.clients.settled import settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

PARTITIONS = 3
RECORDS = 12
EACH = RECORDS // PARTITIONS
TIMEOUT_S = 60


def only(futures: dict[Any, Future[Any]]) -> Any:
    """The one result of a request about one thing."""
    [future] = futures.values()
    return future.result(TIMEOUT_S)


def error_of(ask: Callable[[], dict[Any, Future[Any]]]) -> int:
    with pytest.raises(KafkaException) as raised:
        only(ask())
    code: int = raised.value.args[0].code()
    return code


@pytest.fixture(scope="module")
def admin(server_process: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": server_process})


@pytest.fixture
def filled(server_process: str, admin: AdminClient, topic: str) -> Iterator[str]:
    """A topic with as many records in each partition."""
    only(admin.create_topics([NewTopic(topic, PARTITIONS, 1)]))
    producer = confluent_kafka.Producer({"bootstrap.servers": server_process})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0
    yield topic
    only(admin.delete_topics([topic]))


def test_topics(admin: AdminClient, topic: str) -> None:
    wanted = NewTopic(topic, 2, 1, config={"retention.ms": "1000000"})
    only(admin.create_topics([wanted]))
    assert error_of(lambda: admin.create_topics([wanted])) == KafkaError.TOPIC_ALREADY_EXISTS
    only(admin.create_topics([NewTopic(f"{topic}-not", 2, 1)], validate_only=True))
    only(admin.create_partitions([NewPartitions(topic, PARTITIONS)]))
    again = error_of(lambda: admin.create_partitions([NewPartitions(topic, PARTITIONS)]))
    assert again == KafkaError.INVALID_PARTITIONS

    def described() -> object:
        told = only(admin.describe_topics(TopicCollection([topic])))
        return [
            (each.id, each.leader.id, [one.id for one in each.replicas], [e.id for e in each.isr])
            for each in told.partitions
        ]

    settled(described, [(index, 1, [1], [1]) for index in range(PARTITIONS)])
    listed = admin.list_topics(timeout=TIMEOUT_S).topics
    assert len(listed[topic].partitions) == PARTITIONS
    assert f"{topic}-not" not in listed
    only(admin.delete_topics([topic]))
    settled(lambda: topic in admin.list_topics(timeout=TIMEOUT_S).topics, False)
    assert error_of(lambda: admin.delete_topics([topic])) == KafkaError.UNKNOWN_TOPIC_OR_PART


@pytest.mark.filterwarnings("ignore:alter_configs:DeprecationWarning")
def test_configs(admin: AdminClient, filled: str) -> None:
    def resource(**values: Any) -> ConfigResource:
        return ConfigResource(ResourceType.TOPIC, filled, **values)

    def told() -> object:
        configs = only(admin.describe_configs([resource()]))
        return [configs[name].value for name in ("cleanup.policy", "retention.ms")]

    def change(name: str, value: str | None, way: AlterConfigOpType) -> None:
        entry = ConfigEntry(name, value, incremental_operation=way)
        only(admin.incremental_alter_configs([resource(incremental_configs=[entry])]))

    settled(told, ["delete", "604800000"])
    change("retention.ms", "5000", AlterConfigOpType.SET)
    change("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    settled(told, ["delete,compact", "5000"])
    change("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    change("retention.ms", None, AlterConfigOpType.DELETE)
    settled(told, ["compact", "604800000"])
    only(admin.alter_configs([resource(set_config={"retention.ms": "6000"})]))
    settled(told, ["delete", "6000"])
    source = only(admin.describe_configs([resource()]))["retention.ms"]
    assert (source.source, source.is_default, source.is_read_only) == (1, False, False)
    wrong = ConfigEntry("retention.ms", "soon", incremental_operation=AlterConfigOpType.SET)
    refused = error_of(
        lambda: admin.incremental_alter_configs([resource(incremental_configs=[wrong])])
    )
    assert refused == KafkaError.INVALID_CONFIG


def test_the_cluster(admin: AdminClient, server_process: str) -> None:
    told = admin.describe_cluster(include_authorized_operations=True).result(TIMEOUT_S)
    assert [f"{node.host}:{node.port}" for node in told.nodes] == [server_process]
    assert (told.controller.id, len(told.cluster_id)) == (1, 22)
    assert len(told.authorized_operations) == 7
    assert admin.cluster_id(timeout=TIMEOUT_S) == told.cluster_id


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_and_its_offsets(
    admin: AdminClient, server_process: str, filled: str, protocol: str
) -> None:
    group = f"{filled}-{protocol}"
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": server_process,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([filled])
    got = 0
    while got < RECORDS:
        message = consumer.poll(1)
        got += message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    told = only(admin.describe_consumer_groups([group]))
    kind = ConsumerGroupType.CLASSIC if protocol == "classic" else ConsumerGroupType.CONSUMER
    assert (told.state, told.type, told.coordinator.id) == (ConsumerGroupState.STABLE, kind, 1)
    [member] = told.members
    owned = sorted(each.partition for each in member.assignment.topic_partitions)
    assert owned == list(range(PARTITIONS))
    listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result(TIMEOUT_S)
    assert [each.type for each in listed.valid if each.group_id == group] == [kind]
    refused = error_of(lambda: admin.delete_consumer_groups([group]))
    assert refused == KafkaError.NON_EMPTY_GROUP
    consumer.close()

    def offsets() -> object:
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        return sorted((each.partition, each.offset) for each in only(asked).topic_partitions)

    assert offsets() == [(index, EACH) for index in range(PARTITIONS)]
    moved = ConsumerGroupTopicPartitions(group, [TopicPartition(filled, 0, 1)])
    only(admin.alter_consumer_group_offsets([moved]))
    assert offsets() == [(0, 1), (1, EACH), (2, EACH)]
    only(admin.delete_consumer_groups([group]))
    refused = error_of(lambda: admin.delete_consumer_groups([group]))
    assert refused == KafkaError.GROUP_ID_NOT_FOUND


def test_records_and_leaders(admin: AdminClient, filled: str) -> None:
    partitions = [TopicPartition(filled, index) for index in range(PARTITIONS)]
    deleted = only(admin.delete_records([TopicPartition(filled, 0, 2)]))
    assert deleted.low_watermark == 2
    specs = [OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.max_timestamp()]
    found = {
        each.partition: future.result(TIMEOUT_S)
        for each, future in admin.list_offsets(dict(zip(partitions, specs, strict=True))).items()
    }
    assert (found[0].offset, found[1].offset) == (2, EACH)
    assert found[2].timestamp > 0
    beyond = error_of(lambda: admin.delete_records([TopicPartition(filled, 0, 99)]))
    assert beyond == KafkaError.OFFSET_OUT_OF_RANGE
    elected = admin.elect_leaders(ElectionType.PREFERRED, partitions[:1]).result(TIMEOUT_S)
    assert [error.code() for error in elected.values()] == [KafkaError.ELECTION_NOT_NEEDED]
