"""The controller refuses with Kafka's codes and words, and applies nothing that it refused."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.metadata.controller import CHANGED_AT_ONCE, DELETED_AT_ONCE, Controller
from mockbroker.metadata.names import NO_TOPIC_ID
from mockbroker.metadata.store import MetadataStore
from mockbroker.metadata.topic_requests import NewPartitions, NewTopic, TopicReference
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.slices import all_at_once

CLUSTER_METADATA = "__cluster_metadata"
TOO_MANY = "Excessively large number of partitions per request."
TOO_MANY_MORE = "Excessively large number of additional partitions per request."
NOT_HOSTED = "This server does not host this topic-partition."
NO_SUCH_ID = "This server does not host this topic ID."
OTHER_ID = bytes(15) + b"\x09"


class Cluster:
    def __init__(self, config: dict[str, str] | None = None, brokers: int = 1) -> None:
        self.store = MetadataStore("cluster", BrokerConfig(config or {}))
        for node_id in range(1, brokers + 1):
            self.store.apply(BrokerChanged(BrokerInfo(node_id)))
        self.controller = Controller(self.store, self.store.config, Random(1))

    def create(self, *topics: NewTopic | str) -> list[tuple[str, ErrorCode, str | None]]:
        asked = [NewTopic(topic, 1, 1) if isinstance(topic, str) else topic for topic in topics]
        answers = self.controller.create_topics(asked)
        return [(answer.name, answer.error, answer.message) for answer in answers]

    def grow(self, *requests: NewPartitions) -> list[tuple[str, ErrorCode, str | None]]:
        answers = self.controller.create_partitions(requests)
        return [(name, refusal.error, refusal.message) for name, refusal in answers]

    def delete(
        self, *references: TopicReference
    ) -> list[tuple[str | None, bytes, ErrorCode, str | None]]:
        answers = self.controller.delete_topics(references)
        return [(each.name, each.topic_id, each.error, each.message) for each in answers]

    def partitions(self, name: str) -> int:
        return len(self.store.topics[name].partitions)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.create("taken", "c.d")
    return cluster


def test_a_created_topic_is_in_force_at_once(cluster: Cluster) -> None:
    (answer,) = cluster.controller.create_topics([NewTopic("t", 3, 1)])
    topic = cluster.store.topics["t"]
    assert (answer.error, answer.num_partitions, answer.replication_factor) == (0, 3, 1)
    assert answer.topic_id == topic.id
    assert answer.config is not None
    assert [(state.leader, state.isr) for state in topic.partitions] == [(1, [1])] * 3


def test_open_counts_take_the_brokers_defaults() -> None:
    cluster = Cluster({"num.partitions": "5", "default.replication.factor": "2"}, brokers=3)
    cluster.create(NewTopic("t"))
    assert cluster.partitions("t") == 5
    assert {len(state.replicas) for state in cluster.store.topics["t"].partitions} == {2}


ASSIGNED = "A manual partition assignment was specified, but"
MANUAL = "The manual partition assignment includes"


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        (NewTopic("taken"), 36, "Topic 'taken' already exists."),
        (NewTopic(""), 17, "Topic name is invalid: the empty string is not allowed"),
        (NewTopic("c_d"), 17, "Topic 'c_d' collides with existing topic: c.d"),
        (NewTopic("c.d"), 36, "Topic 'c.d' already exists."),
        (
            NewTopic("t", 1, 1, configs=[("a", None), ("b", None)]),
            40,
            "Null value not supported for topic configs: a,b",
        ),
        (NewTopic("t", 0, 1, configs=[("a", "1")]), 40, "Unknown topic config name: a"),
        (NewTopic("t", 0, 1), 37, "Number of partitions was set to an invalid non-positive value."),
        (NewTopic("t", -2, 1), 37, None),
        (
            NewTopic("t", 0, 0),
            38,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (NewTopic("t", 1, -2), 38, None),
        (
            NewTopic("t", 1, 2),
            38,
            (
                "Unable to replicate the partition 2 time(s): The target replication factor of 2 "
                "cannot be reached because only 1 broker(s) are registered or some brokers have "
                "all their log directories cordoned."
            ),
        ),
        (NewTopic("t", -1, 1, [(0, [1])]), 42, f"{ASSIGNED} replication factor was not set to -1."),
        (NewTopic("t", 1, 1, [(0, [1])]), 42, f"{ASSIGNED} replication factor was not set to -1."),
        (NewTopic("t", 1, -1, [(0, [1])]), 42, f"{ASSIGNED} numPartitions was not set to -1."),
        (
            NewTopic("t", assignments=[(1, [1])]),
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            NewTopic("t", assignments=[(0, [1]), (0, [1])]),
            39,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            NewTopic("t", assignments=[(0, [2])]),
            39,
            f"{MANUAL} broker 2, but no such broker is registered.",
        ),
        (NewTopic("t", assignments=[(0, [1]), (1, [])]), 39, f"{MANUAL} an empty replica list."),
        (
            NewTopic(CLUSTER_METADATA),
            42,
            f"Creation of internal topic {CLUSTER_METADATA} is prohibited.",
        ),
        (NewTopic("t", 10_001, 1), 44, TOO_MANY),
        (NewTopic("t", 10_000, 1), 44, "Unable to perform excessively large batch operation."),
    ],
)
def test_refused_topics(cluster: Cluster, topic: NewTopic, error: int, message: str | None) -> None:
    before = cluster.store.version
    (answer,) = cluster.controller.create_topics([topic])
    assert (answer.name, answer.error) == (topic.name, error)
    assert message is None or answer.message == message
    assert (answer.topic_id, answer.num_partitions, answer.config) == (NO_TOPIC_ID, -1, None)
    assert cluster.store.version == before


def test_an_assignment_is_kept_as_given() -> None:
    cluster = Cluster(brokers=3)
    cluster.create(NewTopic("t", assignments=[(1, [3, 1]), (0, [2, 3])]))
    states = cluster.store.topics["t"].partitions
    assert [(state.leader, state.replicas) for state in states] == [(2, [2, 3]), (3, [3, 1])]


def test_an_assignment_to_fenced_brokers_is_refused() -> None:
    cluster = Cluster(brokers=2)
    cluster.store.apply(BrokerChanged(BrokerInfo(2, fenced=True)))
    ((_, error, message),) = cluster.create(NewTopic("t", assignments=[(0, [2])]))
    assert error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message is not None
    assert "partition 0 are fenced" in message


def test_a_name_asked_for_twice_is_refused_after_the_others(cluster: Cluster) -> None:
    assert cluster.create("d", "d", "e", "d") == [
        ("e", 0, None),
        ("d", 42, "Duplicate topic name."),
    ]
    assert "d" not in cluster.store.topics


def test_topics_of_one_request_do_not_collide(cluster: Cluster) -> None:
    # Kafka compares with topics that exist only.
    assert [answer[1] for answer in cluster.create("x.y", "x_y")] == [0, 0]


def test_too_many_partitions_refuse_the_whole_request(cluster: Cluster) -> None:
    answers = cluster.create(NewTopic("f", 9999, 1), NewTopic("g", 2, 1), "a b")
    assert answers == [(name, 44, TOO_MANY) for name in ("f", "g", "a b")]


def test_a_caller_may_lift_the_limit(cluster: Cluster) -> None:
    (answer,) = cluster.controller.create_topics([NewTopic("t", 10_001, 1)], max_records=20_000)
    assert answer.num_partitions == 10_001


def test_validation_alone_creates_nothing(cluster: Cluster) -> None:
    (answer,) = cluster.controller.create_topics([NewTopic("t", 3, 1)], validate_only=True)
    assert (answer.error, answer.num_partitions) == (0, 3)
    assert "t" not in cluster.store.topics


def test_topics_are_made_in_slices_beside_what_others_do() -> None:
    cluster = Cluster()
    count = 3 * CHANGED_AT_ONCE
    topics = [NewTopic(f"n-{index}", 1, 1) for index in range(count)]
    steps = cluster.controller.creating_topics(topics)
    for _ in range(3):
        next(steps)
    assert not cluster.store.topics, "all are checked before the first is made"
    next(steps)
    assert len(cluster.store.topics) == CHANGED_AT_ONCE
    (gone,) = cluster.controller.delete_topics([TopicReference("n-0")])
    (taken,) = cluster.controller.create_topics([NewTopic(f"n-{count - 1}", 2, 1)])
    assert (gone.error, taken.error) == (0, 0)
    *made, refused = all_at_once(steps)
    assert not any(answer.error for answer in made)
    assert refused.error == ErrorCode.TOPIC_ALREADY_EXISTS
    assert len(cluster.store.topics) == count - 1
    assert cluster.partitions(f"n-{count - 1}") == 2


def test_topics_are_deleted_in_slices_beside_what_others_do() -> None:
    cluster = Cluster()
    names = [f"n-{index}" for index in range(2 * DELETED_AT_ONCE)]
    cluster.controller.create_topics([NewTopic(name, 1, 1) for name in names])
    steps = cluster.controller.deleting_topics([TopicReference(name) for name in names])
    next(steps)
    assert list(cluster.store.topics) == names[DELETED_AT_ONCE:]
    cluster.controller.delete_topics([TopicReference(names[-1])])
    assert not any(answer.error for answer in all_at_once(steps))
    assert not cluster.store.topics


def test_auto_creation_answers_unknown_and_creates(cluster: Cluster) -> None:
    names = ["t", "a b", "__consumer_offsets", "c_d"]
    assert all_at_once(cluster.controller.auto_creating(names)) == [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("c_d", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert cluster.partitions("t") == 1
    assert cluster.partitions("__consumer_offsets") == 50
    assert cluster.store.topics["__consumer_offsets"].configs["cleanup.policy"] == "compact"
    assert "c_d" not in cluster.store.topics


def test_a_coordinators_topic_is_created_once(cluster: Cluster) -> None:
    for _ in range(2):
        refusal = cluster.controller.ensure_internal_topic("__transaction_state")
        assert refusal.error is ErrorCode.NONE
    assert cluster.partitions("__transaction_state") == 50


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (NewPartitions("taken", 1), 37, "Topic already has 1 partition(s)."),
        (
            NewPartitions("taken", 0),
            37,
            "The topic taken currently has 1 partition(s); 0 would not be an increase.",
        ),
        (NewPartitions("nope", 3), 3, None),
        (
            NewPartitions("taken", 3, [[1]]),
            39,
            (
                "Attempted to add 2 additional partition(s), but only 1 assignment(s) were "
                "specified."
            ),
        ),
        (
            NewPartitions("taken", 2, [[2]]),
            39,
            f"{MANUAL} broker 2, but no such broker is registered.",
        ),
        (NewPartitions("taken", 3, [[1], []]), 39, f"{MANUAL} an empty replica list."),
        (NewPartitions("taken", 10_002), 44, TOO_MANY_MORE),
    ],
)
def test_refused_growth(
    cluster: Cluster, request_: NewPartitions, error: int, message: str | None
) -> None:
    assert cluster.grow(request_) == [(request_.name, error, message)]
    assert cluster.partitions("taken") == 1


def test_a_topic_grows(cluster: Cluster) -> None:
    assert cluster.grow(NewPartitions("taken", 3), NewPartitions("c.d", 2, [[1]])) == [
        ("taken", 0, None),
        ("c.d", 0, None),
    ]
    assert (cluster.partitions("taken"), cluster.partitions("c.d")) == (3, 2)


def test_growth_asked_for_twice_is_refused_first(cluster: Cluster) -> None:
    twice = NewPartitions("taken", 3)
    assert cluster.grow(NewPartitions("c.d", 2), twice, twice) == [
        ("taken", 42, "Duplicate topic name."),
        ("c.d", 0, None),
    ]
    assert cluster.partitions("taken") == 1


def test_growth_may_be_validated_alone(cluster: Cluster) -> None:
    requests = [NewPartitions("taken", 10_001)]
    ((_, refusal),) = cluster.controller.create_partitions(requests, validate_only=True)
    assert refusal.error is ErrorCode.NONE
    assert cluster.partitions("taken") == 1


def test_too_much_growth_refuses_the_whole_request(cluster: Cluster) -> None:
    answers = cluster.grow(NewPartitions("taken", 6002), NewPartitions("c.d", 6002))
    assert answers == [(name, 44, TOO_MANY_MORE) for name in ("taken", "c.d")]


def test_topics_are_deleted_by_name_and_by_id(cluster: Cluster) -> None:
    by_id = cluster.store.topics["c.d"].id
    named = cluster.store.topics["taken"].id
    answers = cluster.delete(TopicReference("taken"), TopicReference(None, by_id))
    assert answers == [("c.d", by_id, 0, None), ("taken", named, 0, None)]
    assert not cluster.store.topics


def test_a_deleted_topic_comes_back_with_another_id(cluster: Cluster) -> None:
    before = cluster.store.topics["taken"].id
    cluster.controller.delete_topics([TopicReference("taken")])
    cluster.create("taken")
    assert cluster.store.topics["taken"].id != before


def test_refused_deletions(cluster: Cluster) -> None:
    topic_id = cluster.store.topics["taken"].id
    twice = [TopicReference("c.d"), TopicReference(None, OTHER_ID)]
    answers = cluster.delete(
        TopicReference("taken", topic_id),
        TopicReference(None),
        TopicReference("nope"),
        TopicReference(None, topic_id),
        *twice,
        *twice,
        TopicReference("taken"),
        TopicReference(None, bytes(15) + b"\x08"),
    )
    assert answers == [
        ("taken", topic_id, 42, "You may not specify both topic name and topic id."),
        (None, NO_TOPIC_ID, 42, "Neither topic name nor id were specified."),
        ("c.d", NO_TOPIC_ID, 42, "Duplicate topic name."),
        (None, OTHER_ID, 42, "Duplicate topic id."),
        (None, bytes(15) + b"\x08", 100, NO_SUCH_ID),
        ("nope", NO_TOPIC_ID, 3, NOT_HOSTED),
        ("taken", topic_id, 42, "The provided topic name maps to an ID that was already supplied."),
    ]
    assert set(cluster.store.topics) == {"taken", "c.d"}
