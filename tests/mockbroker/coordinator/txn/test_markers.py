"""Markers on the coordinator's side: sent, sent again, given up, believed or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.coordinator.txn import markers
from mockbroker.coordinator.txn.markers import RETRY_BACKOFF_MS, TransactionMarkers
from mockbroker.coordinator.txn.shard import ShardListener, TransactionShard
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker.metadata.topic_requests import TopicReference
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.mockbroker.coordinator.txn.making import transaction
from tests.support.core import EPOCH_MS, Core
from tests.support.transactions import Transactional, read_committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.replica.append_entry import TransactionMarker

    OnErrors: TypeAlias = Callable[[dict[tuple[str, int], ErrorCode]], None]


def lead(core: Core, topic: str, node: int, epoch: int, index: int = 0) -> None:
    """Let another node lead a partition, or this one again; node 1 is here in either case."""
    state = PartitionState(node, [0, 9], [node], epoch)
    metadata = core.cluster.metadata
    metadata.apply(LeaderChanged(topic, metadata.topics[topic].id, index, state))


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1, "u": 1}, config={"node.id": "0"})


def test_a_transaction_ends_in_the_step_of_its_answer(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    producer.finish(commit=True)
    assert producer.state == "CompleteCommit"
    assert read_committed(core, "t") == ["a"]
    assert not core.broker.services.transactions.service.markers


def test_many_markers_are_written_a_few_at_a_time_also_where_time_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markers, "AT_ONCE", 2)
    core = Core(topics={"t": 5}, config={"node.id": "0"})
    core.advance(0.5)
    producer = Transactional.begin(core)
    for index in range(5):
        producer.write("t", index, "a")
    producer.finish(commit=True)
    described = producer.describe()
    assert described.transaction_state == "PrepareCommit"
    assert [topic.partitions for topic in described.topics] == [[2, 3, 4]]
    assert producer.init().error == ErrorCode.CONCURRENT_TRANSACTIONS
    core.advance(0)
    assert producer.state == "CompleteCommit"
    assert read_committed(core, "t") == ["a"]
    assert not core.broker.services.transactions.service.markers


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("v1", [False, True])
def test_a_leader_that_is_away_gets_its_marker_later(core: Core, commit: bool, v1: bool) -> None:
    producer = Transactional.begin(core, v1=v1)
    producer.write("t", 0, "a")
    producer.write("u", 0, "b")
    lead(core, "u", 9, 1)
    producer.finish(commit=commit)
    state = "PrepareCommit" if commit else "PrepareAbort"
    described = producer.describe()
    assert described.transaction_state == state
    assert [topic.topic for topic in described.topics] == ["u"]
    assert read_committed(core, "t") == (["a"] if commit else [])
    assert producer.init().error == 51
    assert producer.add({"t": [0]}) == {("t", 0): 51}
    core.advance(5 * RETRY_BACKOFF_MS)
    assert producer.state == state
    lead(core, "u", 0, 2)
    core.advance(RETRY_BACKOFF_MS)
    assert producer.state == state.replace("Prepare", "Complete")
    assert read_committed(core, "u") == (["b"] if commit else [])
    assert core.broker.next_deadline() is not None  # ids expire, nothing else is due


def test_a_topic_that_is_gone_needs_no_marker(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    producer.write("u", 0, "b")
    core.cluster.controller.delete_topics([TopicReference("u")])
    producer.finish(commit=True)
    assert producer.state == "CompleteCommit"


def test_a_repeated_end_is_told_to_wait_while_markers_are_on_their_way(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    assert producer.end(commit=True) == (0, producer.producer_id, 1)
    assert producer.end(commit=True).error == 51
    assert producer.end(commit=False).error == 51
    assert producer.end(commit=True, version=4).error == 90


def test_somebody_newer_makes_it_give_up(core: Core) -> None:
    """An epoch in the partition's log above that of the marker: error 47."""
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    marker = WritableTxnMarker(
        producer.producer_id, 9, False, [WritableTxnMarkerTopic("t", [0])], 0, 0
    )
    core.client().call(WriteTxnMarkersRequest([marker]), 2, WriteTxnMarkersResponse)
    producer.finish(commit=True)
    assert not core.broker.services.transactions.service.markers
    assert producer.state == "PrepareCommit"


def test_the_last_record_is_written_again_when_it_failed(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    producer.finish(commit=True)
    index = core.broker.services.transactions.service.runtime.partition_for("tx")
    state = PartitionState(0, [0, 9], [], 1)
    metadata = core.cluster.metadata
    topic_id = metadata.topics["__transaction_state"].id
    metadata.apply(LeaderChanged("__transaction_state", topic_id, index, state))
    lead(core, "t", 0, 2)
    core.advance(2 * RETRY_BACKOFF_MS)
    assert read_committed(core, "t") == ["a"]
    assert producer.state == "PrepareCommit"
    state = PartitionState(0, [0], [0], 1)
    metadata.apply(LeaderChanged("__transaction_state", topic_id, index, state))
    core.advance(RETRY_BACKOFF_MS)
    assert producer.state == "CompleteCommit"


def test_a_produce_of_the_next_transaction_waits_for_the_markers(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    producer.finish(commit=True)
    request = producer.produce_request("u", 0, producer.batch(["b"], 0))
    producer.client.send(request, 12)
    assert producer.client.answered == 0
    lead(core, "t", 0, 2)
    core.advance(RETRY_BACKOFF_MS)
    answer = producer.client.receive(ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert producer.state == "Ongoing"


def test_a_produce_does_not_wait_for_long(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    producer.finish(commit=True)
    producer.client.send(producer.produce_request("u", 0, producer.batch(["b"], 0)), 12)
    core.advance(RETRY_BACKOFF_MS)
    answer = producer.client.receive(ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 51
    assert producer.add({"u": [0]}) == {("u", 0): 51}
    assert producer.send("u", 0, "b", version=11) == 19


# -- answers, one leader at a time -----------------------------------------------------------


class Leaders:
    """They answer when the test does it for them."""

    def __init__(self) -> None:
        self.asked: list[tuple[TransactionMarker, list[tuple[str, int]], OnErrors]] = []

    def write(
        self,
        marker: TransactionMarker,
        partitions: Iterable[tuple[str, int]],
        on_complete: OnErrors,
    ) -> None:
        self.asked.append((marker, list(partitions), on_complete))


class Bench:
    """Markers of a shard whose log is a list, in which writes fail with `error`."""

    def __init__(self) -> None:
        self.core = core = Core(topics={"t": 3})
        self.timer = Timer()
        self.clock = Clock(EPOCH_MS)
        leaders = Leaders()
        self.asked = leaders.asked
        metadata = core.cluster.metadata
        self.markers = TransactionMarkers(self.clock, self.timer, metadata, leaders)
        self.written: list[CoordinatorRecord] = []
        self.error = ErrorCode.NONE
        self.holds = False
        self.held: list[Callable[[ErrorCode], None]] = []
        self.shard = self.new_shard()

    def new_shard(self) -> TransactionShard:
        return TransactionShard(0, self, ShardListener(), 30_000)

    def write(
        self,
        _index: int,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        timeout_ms: float,
        replay: bool,
    ) -> None:
        assert timeout_ms == 60_000
        assert not replay
        self.written += records
        if self.holds:
            self.held.append(done)
        else:
            done(self.error)

    def prepared(self, *, commit: bool = True) -> TransactionMetadata:
        """A transaction on three partitions, on its way."""
        metadata = transaction(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        )
        metadata.partitions = {("t", 0): None, ("t", 1): None, ("t", 2): None}
        self.shard.transactions["tx"] = metadata
        self.markers.send(self.shard, metadata)
        return metadata

    def answer(self, at: int, errors: dict[int, int]) -> None:
        self.asked[at][2]({("t", index): ErrorCode(error) for index, error in errors.items()})

    def wanted(self, at: int) -> list[int]:
        return [index for _, index in self.asked[at][1]]

    def later(self) -> None:
        self.clock.now_ms += RETRY_BACKOFF_MS
        self.timer.advance(self.clock.now_ms)


def test_a_leader_that_does_not_answer_holds_up_no_other() -> None:
    bench = Bench()
    metadata = bench.prepared()
    bench.answer(0, {0: 0})
    bench.answer(0, {1: 6})
    bench.later()
    assert bench.wanted(1) == [1]
    bench.answer(1, {1: 0})
    assert list(metadata.partitions) == [("t", 2)]
    assert metadata.state is TransactionState.PREPARE_COMMIT
    bench.answer(0, {2: 0})
    assert metadata.state.name == "COMPLETE_COMMIT"
    assert not bench.markers


def test_all_that_can_succeed_later_is_tried_again_for_ever() -> None:
    bench = Bench()
    metadata = bench.prepared(commit=False)
    bench.answer(0, {0: 0, 1: 0, 2: 3})
    for at, error in enumerate([6, 7, 19, 20, 56, 14, 15, 16] * 20, 1):
        bench.later()
        assert bench.wanted(at) == [2]
        bench.answer(at, {2: error})
    bench.later()
    bench.answer(-1, {2: 0})
    assert metadata.state is TransactionState.COMPLETE_ABORT


@pytest.mark.parametrize("error", [15, 16, -1])
def test_the_last_record_is_tried_again_while_the_shard_is_here(error: int) -> None:
    bench = Bench()
    metadata = bench.prepared()
    bench.error = ErrorCode(error)
    bench.answer(0, {0: 0, 1: 0, 2: 0})
    for _ in range(3):
        bench.later()
        assert metadata.state is TransactionState.PREPARE_COMMIT
    bench.error = ErrorCode.NONE
    bench.later()
    assert metadata.state.name == "COMPLETE_COMMIT"
    assert len(bench.written) == 5
    assert len(bench.asked) == 1


@pytest.mark.parametrize("errors", [{0: 0, 1: 0, 2: 0}, {0: 6, 1: 0, 2: 0}, {0: 47, 1: 0, 2: 0}])
def test_an_answer_to_a_coordinator_that_it_was_before_is_not_believed(
    errors: dict[int, int],
) -> None:
    """The shard went away and came back: the same transaction is ended anew, or another one."""
    bench = Bench()
    bench.prepared()
    bench.markers.forget(bench.shard)
    assert not bench.markers
    bench.shard = bench.new_shard()
    metadata = bench.prepared()
    bench.answer(0, errors)
    assert len(metadata.partitions) == 3
    assert len(bench.markers) == 1
    bench.later()
    assert len(bench.asked) == 2
    assert bench.written == []


def test_an_answer_that_comes_after_it_gave_up_is_not_believed() -> None:
    bench = Bench()
    metadata = bench.prepared()
    bench.answer(0, {0: 52})
    bench.answer(0, {1: 0, 2: 6})
    assert len(metadata.partitions) == 3
    bench.later()
    assert len(bench.asked) == 1


def test_an_answer_to_an_ended_transaction_says_nothing_of_the_next_one() -> None:
    bench = Bench()
    bench.prepared()
    bench.answer(0, {0: 0, 1: 0, 2: 0})
    metadata = bench.prepared(commit=False)
    bench.answer(0, {0: 0, 1: 0, 2: 0})
    assert len(metadata.partitions) == 3
    assert metadata.state is TransactionState.PREPARE_ABORT


def test_what_a_shard_had_to_retry_ends_with_it() -> None:
    bench = Bench()
    bench.prepared()
    bench.answer(0, {0: 6, 1: 0, 2: 0})
    bench.markers.forget(bench.shard)
    bench.later()
    assert len(bench.asked) == 1


@pytest.mark.parametrize("error", [0, 15])
def test_the_last_record_of_a_shard_that_was_says_nothing_of_the_next(error: int) -> None:
    bench = Bench()
    bench.prepared()
    bench.holds = True
    bench.answer(0, {0: 0, 1: 0, 2: 0})
    bench.markers.forget(bench.shard)
    bench.shard = bench.new_shard()
    metadata = bench.prepared()
    (done,) = bench.held
    done(ErrorCode(error))
    bench.later()
    assert len(bench.markers) == 1
    assert (len(bench.asked), len(bench.written)) == (2, 1)
    assert metadata.state is TransactionState.PREPARE_COMMIT


def test_markers_carry_the_epoch_of_whoever_leads_the_ids_partition() -> None:
    bench = Bench()
    core = bench.core
    core.cluster.controller.ensure_internal_topic("__transaction_state")
    lead(core, "__transaction_state", 1, 3)
    bench.prepared()
    assert bench.asked[0][0].coordinator_epoch == 3
