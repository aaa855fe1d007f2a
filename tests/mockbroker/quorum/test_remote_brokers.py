"""A broker outside: it registers, catches up, serves, follows, stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.metadata.changes import PartitionState
from mockbroker.metadata.store import RESOURCE_TOPIC
from mockbroker.metadata.topic_requests import ConfigAlteration, NewTopic
from mockbroker.quorum.quorum import METADATA_VERSION
from mockbroker.quorum.registrations import ListenerAddress, Registration
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import EPOCH_MS
from tests.support.metadata_logs import QuorumCore, records_in
from tests.support.outside_brokers import FEATURES, follow, start

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSION_MS = 9_000
OUTSIDE = Registration(
    2, b"i" * 16, (ListenerAddress("PLAINTEXT", "outside", 19092),), FEATURES, (b"d" * 16,), "r"
)


@pytest.fixture
def core() -> QuorumCore:
    return QuorumCore()


def register(core: QuorumCore, registration: Registration = OUTSIDE) -> tuple[int, int]:
    cluster_id = core.cluster.metadata.cluster_id
    error, epoch = core.act(lambda: core.quorum.remote_brokers.register(cluster_id, registration))
    return int(error), int(epoch)


def beat(
    core: QuorumCore, epoch: int, offset: int, *, fence: bool = False, shut_down: bool = False
) -> tuple[int, bool, bool, bool]:
    answer = core.act(
        lambda: core.quorum.remote_brokers.heartbeat(
            2, epoch, offset, want_fence=fence, want_shut_down=shut_down
        )
    )
    return tuple(answer)


def unfenced(core: QuorumCore) -> int:
    error, epoch = register(core)
    assert error == 0
    assert beat(core, epoch, epoch) == (0, True, False, False)
    return epoch


def with_another(core: QuorumCore) -> None:
    """Broker 3 is outside too, and unfenced."""
    start(core, core.observer(), 3)


def led_by(core: QuorumCore, replicas: list[int]) -> PartitionState:
    """A topic with one partition on these replicas."""
    core.act(
        lambda: core.cluster.controller.create_topics([NewTopic("a", -1, -1, [(0, replicas)])])
    )
    return core.cluster.metadata.topics["a"].partitions[0]


def now(core: QuorumCore) -> tuple[int, list[int], int]:
    state = core.cluster.metadata.topics["a"].partitions[0]
    return state.leader, list(state.isr), state.leader_epoch


def test_it_is_fenced_until_it_has_read_its_own_record(core: QuorumCore) -> None:
    error, epoch = register(core)
    assert (error, epoch) == (0, core.quorum.log.log_end_offset - 1)
    (record,) = records_in(core.quorum.log, epoch)
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced, record.rack) == (epoch, True, "r")
    assert record.end_points[0].port == 19092
    assert beat(core, epoch, epoch - 1) == (0, False, True, False)
    assert beat(core, epoch, epoch, fence=True) == (0, True, True, False)
    fenced = [core.cluster.metadata.brokers[2].fenced]
    assert beat(core, epoch, epoch) == (0, True, False, False)
    assert [*fenced, core.cluster.metadata.brokers[2].fenced] == [True, False]
    (record,) = records_in(core.quorum.log, epoch + 1)
    assert record == BrokerRegistrationChangeRecord(2, epoch, -1)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"node_id": 1}, ErrorCode.DUPLICATE_BROKER_REGISTRATION),
        ({"log_dirs": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (b"d" * 16, b"d" * 16)}, ErrorCode.INVALID_REGISTRATION),
        ({"features": {}}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"features": {**FEATURES, "metadata.version": (7, METADATA_VERSION - 1)}},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_what_cannot_be_registered(
    core: QuorumCore, change: dict[str, object], error: ErrorCode
) -> None:
    registration = OUTSIDE._replace(**change)  # type: ignore[arg-type]  # one field each
    assert register(core, registration) == (error, -1)
    assert 2 not in core.cluster.metadata.brokers


def test_another_cluster_is_refused(core: QuorumCore) -> None:
    error, _ = core.act(lambda: core.quorum.remote_brokers.register("other", OUTSIDE))
    assert error is ErrorCode.INCONSISTENT_CLUSTER_ID


def test_another_start_waits_until_the_first_has_gone(core: QuorumCore) -> None:
    epoch = unfenced(core)
    again = OUTSIDE._replace(incarnation_id=b"j" * 16)
    assert register(core) == (0, epoch)
    assert register(core, again) == (ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1)
    core.advance(SESSION_MS)
    assert core.cluster.metadata.brokers[2].fenced
    error, later = register(core, again)
    assert error == 0
    assert later > epoch
    assert beat(core, epoch, later)[0] == ErrorCode.STALE_BROKER_EPOCH


def test_who_is_not_registered_sends_no_heartbeats(core: QuorumCore) -> None:
    assert beat(core, 0, 0)[0] == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_heartbeats_keep_the_session(core: QuorumCore) -> None:
    epoch = unfenced(core)
    for _ in range(3):
        core.advance(SESSION_MS - 1)
        assert beat(core, epoch, epoch) == (0, True, False, False)
    core.advance(SESSION_MS)
    assert core.cluster.metadata.brokers[2].fenced


def test_a_broker_that_wants_to_go_goes(core: QuorumCore) -> None:
    epoch = unfenced(core)
    assert beat(core, epoch, epoch, shut_down=True) == (0, True, True, True)
    assert core.cluster.metadata.brokers[2].fenced


def test_topics_are_placed_on_it_and_others_lead_when_it_is_fenced(core: QuorumCore) -> None:
    epoch = unfenced(core)
    with_another(core)
    led_by(core, [2, 3])
    (partition,) = (
        record for record in records_in(core.quorum.log) if isinstance(record, PartitionRecord)
    )
    assert partition.directories[0] == b"d" * 16
    assert now(core) == (2, [2, 3], 0)
    end = core.quorum.log.log_end_offset
    assert beat(core, epoch, end, fence=True) == (0, True, True, False)
    assert now(core) == (3, [3], 1)
    _, change = records_in(core.quorum.log, end)[-2:]
    assert isinstance(change, PartitionChangeRecord)
    assert (change.leader, change.isr) == (3, [3])


def test_the_last_in_sync_replica_leads_again_when_it_is_back(core: QuorumCore) -> None:
    epoch = unfenced(core)
    led_by(core, [2])
    beat(core, epoch, epoch, fence=True)
    assert now(core)[::2] == (-1, 1)
    beat(core, epoch, epoch)
    assert now(core) == (2, [2], 2)


def test_the_controller_gives_the_lead_back_to_a_preferred_leader_outside() -> None:
    core = QuorumCore(config={"broker.session.timeout.ms": "600000"})
    epoch = unfenced(core)
    with_another(core)
    led_by(core, [2, 3])
    beat(core, epoch, epoch, fence=True)
    beat(core, epoch, epoch)
    (topic,) = core.cluster.metadata.topics.values()
    propose = core.cluster.controller.replication.alter_partition
    state = topic.partitions[0]
    epochs = state.leader_epoch, state.partition_epoch
    assert core.act(lambda: propose(3, topic.id, 0, *epochs, [3, 2])) == 0
    assert now(core) == (3, [3, 2], 1)
    core.advance(300_000)
    assert now(core) == (2, [3, 2], 2)


def test_a_lower_min_isr_leaves_nobody_outside_eligible() -> None:
    core = QuorumCore(config={"min.insync.replicas": "2"})
    epoch = unfenced(core)
    with_another(core)
    led_by(core, [2, 3])
    beat(core, epoch, epoch, fence=True)
    assert core.cluster.metadata.topics["a"].partitions[0].elr == [2]
    lower = ConfigAlteration(RESOURCE_TOPIC, "a", [("min.insync.replicas", 0, "1")])
    core.act(lambda: core.cluster.controller.alter_configs([lower]))
    assert core.cluster.metadata.topics["a"].partitions[0].elr == []
    change = records_in(core.quorum.log)[-1]
    assert isinstance(change, PartitionChangeRecord)
    assert change.eligible_leader_replicas == []


# -- as a follower of what is led here ---------------------------------------------------------

FOLLOWED = {
    "replica.lag.time.max.ms": "3000",
    "broker.session.timeout.ms": "600000",
    "broker.rack": "here",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


class Followed:
    """Topic a, which is led here and followed by broker 2, in rack r."""

    def __init__(self, replicas: Sequence[int] = (1, 2)) -> None:
        self.core = QuorumCore(config=FOLLOWED)
        self.epoch = unfenced(self.core)
        self.follower = self.core.client("broker-2-fetcher-0")
        led_by(self.core, list(replicas))

    def fetch(self, offset: int) -> None:
        (topic,) = follow(self.core, self.follower, self.epoch, "a", offset).responses
        assert [one.error_code for one in topic.partitions] == [0]

    def state(self) -> PartitionState:
        return self.core.cluster.metadata.topics["a"].partitions[0]

    def isr_in_log(self) -> list[int] | None:
        """The in-sync set that the metadata log told last."""
        told = [
            record.isr
            for record in records_in(self.core.quorum.log)
            if isinstance(record, PartitionRecord | PartitionChangeRecord)
        ]
        return told[-1]


def test_a_follower_that_lags_leaves_the_in_sync_set_and_comes_back() -> None:
    world = Followed()
    producer = world.core.client()
    producer.send(produce("a"), 9)
    world.fetch(0)
    assert producer.answered == 0
    world.core.advance(4500)
    assert (world.state().isr, world.isr_in_log()) == ([1], [1])
    assert producer.receive(ProduceResponse).responses[0].partition_responses[0].error_code == 0
    producer.send(produce("a"), 9)
    assert producer.receive(ProduceResponse).responses[0].partition_responses[0].error_code == 0
    world.fetch(1)
    assert world.state().isr == [1]
    world.fetch(2)
    assert (world.state().isr, world.isr_in_log()) == ([1, 2], [1, 2])


def test_a_follower_that_was_fenced_comes_back_into_the_in_sync_set() -> None:
    world = Followed()
    beat(world.core, world.epoch, world.epoch, fence=True)
    assert world.state().isr == [1]
    world.fetch(0)
    assert world.state().isr == [1]
    beat(world.core, world.epoch, world.epoch)
    world.fetch(0)
    assert world.state().isr == [1, 2]


def test_an_idle_follower_stays_in_the_in_sync_set() -> None:
    world = Followed()
    for _ in range(10):
        world.core.advance(2000)
        world.fetch(0)
    assert world.state().isr == [1, 2]


def test_a_reassignment_to_it_completes() -> None:
    world = Followed([1])
    reassigned = world.core.act(
        lambda: world.core.cluster.controller.reassign("a", 0, [2], may_change_factor=True)
    )
    assert (reassigned.error, world.state().replicas, world.state().leader) == (0, [2, 1], 1)
    world.fetch(0)
    assert (world.state().replicas, world.state().isr, world.state().leader) == ([2], [2], 2)


def test_it_leads_what_a_broker_of_this_process_has_too(core: QuorumCore) -> None:
    epoch = unfenced(core)
    create = core.cluster.controller.create_topics
    core.act(lambda: create([NewTopic("a", -1, -1, [(0, [2, 1])]), NewTopic("b", 20, 2)]))
    assert now(core) == (2, [2, 1], 0)
    placed = [tuple(one.replicas) for one in core.cluster.metadata.topics["b"].partitions]
    assert set(placed) == {(1, 2), (2, 1)}
    beat(core, epoch, epoch, shut_down=True)
    assert now(core) == (1, [1], 1)


def test_a_consumer_in_its_rack_is_sent_to_it() -> None:
    world = Followed()
    world.core.client().send(produce("a"), 9)
    world.fetch(1)
    topic = world.core.cluster.metadata.topics["a"]
    asked = FetchRequestPartition(0, -1, 1)
    request = FetchRequest(
        topics=[FetchRequestTopic(topic_id=topic.id, partitions=[asked])], rack_id="r"
    )
    (answered,) = world.core.client().call(request, 13, FetchResponse).responses
    assert answered.partitions[0].preferred_read_replica == 2
    world.core.advance(4500)
    world.core.client().send(produce("a"), 9)
    world.core.advance(4500)
    assert world.state().isr == [1]
    (answered,) = world.core.client().call(request, 13, FetchResponse).responses
    assert answered.partitions[0].preferred_read_replica == -1


def produce(topic: str) -> ProduceRequest:
    """One record with acks=all."""
    batch = build_batch([Record(0, EPOCH_MS, None, b"v")])
    part = ProduceRequestPartition(index=0, records=batch)
    data = ProduceRequestTopic(name=topic, partition_data=[part])
    return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data])


def test_only_a_broker_outside_has_each_round_played(core: QuorumCore) -> None:
    def skipped() -> int:
        before = core.cluster.rounds_skipped
        core.cluster.skip_idle(core.now_ms + 60_000.0)
        return core.cluster.rounds_skipped - before

    core.advance(10_000)
    assert skipped() > 0
    register(core)
    core.advance(10_000)
    assert skipped() == 0
