"""Ranges of offsets that a transaction commits."""

from __future__ import annotations

import pytest

from mockbroker.coop import sliced_commit, tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from mockbroker_protocol.messages.transactions import (
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
)
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader, core_of, leases_of
from tests.support.cluster_core import ClusterCore
from tests.support.cluster_transactions import OnCluster
from tests.support.core import Core
from tests.support.range_group import COMMIT_VERSION, ON, Committed, Ops, RangeGroup, fill, told
from tests.support.transactions import Transactional
from tests.support.turns import EveryTime

OK = ErrorCode.NONE
CONFIG = {**ON, "transaction.state.log.num.partitions": "1", "log.retention.ms": "-1"}


class Replicated:
    """Three brokers, and a transaction that has staged t-0 from 3 to 5."""

    def __init__(self) -> None:
        replicated = dict.fromkeys(("offsets.topic", "transaction.state.log", "default"), "3")
        config = {
            **ON,
            **{f"{name}.replication.factor": n for name, n in replicated.items()},
            "log.retention.ms": "-1",
            "replica.fetch.wait.max.ms": "2000",
        }
        core = self.core = ClusterCore(topics={"t": 1}, config=config)
        fill(core.client(node=core.state("t").leader), 10)
        core.controls.coordinator("g")
        core.advance(10)
        self.here = core.controls.coordinator("g")
        self.client = core.client(node=self.here)
        self.producer = OnCluster(core)
        for _ in range(2):
            self.producer.find()
            core.advance(100)
        self.producer.become(self.producer.init())
        assert self.stage((3, 5), 100).error == OK

    def stage(self, staged_range: tuple[int, int], for_ms: float) -> Committed:
        self.client.send(staging(self.producer, staged_range), 5)
        self.core.advance(for_ms)
        return staged(self.client.receive(TxnOffsetCommitResponse))

    def hold(self) -> None:
        """The followers of the log of ranges fetch no more."""
        for node in {1, 2, 3} - {self.here}:
            self.core.controls.hold_follower(INDIVIDUAL_COMMITS_TOPIC, 0, node)

    def release(self) -> None:
        for node in {1, 2, 3} - {self.here}:
            self.core.controls.release_follower(INDIVIDUAL_COMMITS_TOPIC, 0, node)


def test_what_is_staged_again_is_answered_when_it_is_replicated() -> None:
    replicated = Replicated()
    replicated.hold()
    for _ in range(2):
        assert replicated.stage((7, 8), 6_000).error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    replicated.release()
    assert replicated.stage((7, 8), 1_000).error == OK


def test_a_marker_that_comes_again_is_done_when_it_is_replicated() -> None:
    replicated = Replicated()
    core, producer = replicated.core, replicated.producer
    broker = core.cluster.broker(replicated.here)
    assert broker is not None
    marker = TransactionMarker(producer.producer_id, producer.epoch + 1, 0, True, 2)
    offsets = broker.services.groups.service.offsets
    replicated.hold()
    told_of: list[ErrorCode] = []
    for _ in range(2):
        core.act(lambda: offsets.complete_transaction(0, marker, told_of.append))
        core.advance(6_000)
    assert len(told_of) == 2
    assert OK not in told_of
    replicated.release()
    core.act(lambda: offsets.complete_transaction(0, marker, told_of.append))
    core.advance(1_000)
    assert told_of[2:] == [OK]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_ends_once_one_broker_has_both_topics(commit: bool) -> None:
    replicated = Replicated()
    core, producer, here = replicated.core, replicated.producer, replicated.here
    behind = here % 3 + 1
    core.controls.hold_follower(INDIVIDUAL_COMMITS_TOPIC, 0, behind)
    core.controls.shrink_isr(INDIVIDUAL_COMMITS_TOPIC, 0, without=behind)
    core.controls.move_leader(GROUP_METADATA_TOPIC, 0, behind)
    core.advance(100)
    assert core.state(INDIVIDUAL_COMMITS_TOPIC).leader == here
    client = producer.send_end(commit=commit)
    core.advance(1_000)
    assert client.receive(EndTxnResponse).error_code == OK
    core.controls.release_follower(INDIVIDUAL_COMMITS_TOPIC, 0, behind)
    core.advance(5_000)
    assert core.state(INDIVIDUAL_COMMITS_TOPIC).leader == behind
    made = RangeGroup(core.client(node=behind))
    ranges = [(3, 5)] if commit else []
    assert made.fetch(require_stable=True) == (0, ranges, [], OK)


def test_a_marker_waits_for_ranges_of_which_its_broker_has_no_replica() -> None:
    """Their topic was moved to the coordinator of before alone; it has those of one producer."""
    replicated = Replicated()
    core, producer, here = replicated.core, replicated.producer, replicated.here
    there = here % 3 + 1
    core.controls.reassign(INDIVIDUAL_COMMITS_TOPIC, 0, [here])
    core.controls.move_leader(GROUP_METADATA_TOPIC, 0, there)
    core.advance(100)
    broker = core.cluster.broker(there)
    assert broker is not None
    offsets = broker.services.groups.service.offsets
    told_of: list[ErrorCode] = []
    marker = TransactionMarker(producer.producer_id + 1, 0, 0, True, 2)
    core.act(lambda: offsets.complete_transaction(0, marker, told_of.append))
    core.advance(100)
    assert told_of == [OK]
    client = producer.send_end(commit=True)
    core.advance(1_000)
    assert client.receive(EndTxnResponse).error_code == OK
    core.controls.reassign(INDIVIDUAL_COMMITS_TOPIC, 0, [there, here])
    core.advance(5_000)
    assert core.state(INDIVIDUAL_COMMITS_TOPIC).leader == there
    made = RangeGroup(core.client(node=there))
    assert made.fetch(require_stable=True) == (0, [(3, 5)], [], OK)


@pytest.fixture
def group() -> RangeGroup:
    made = RangeGroup(Core(topics={"t": 1}, config=CONFIG).client())
    fill(made.client, 100)
    return made


def begin(group: RangeGroup, name: str = "tx") -> Transactional:
    producer = Transactional.begin(group.client.core, name)
    producer.find("g", 0)
    return producer


def stage(
    group: RangeGroup,
    producer: Transactional,
    *ranges: tuple[int, int],
    version: int = 5,
    member: str = "",
) -> Committed:
    request = staging(producer, *ranges, member=member)
    return staged(group.client.call(request, version, TxnOffsetCommitResponse))


def stage_a_position(group: RangeGroup, offset: int) -> Transactional:
    """In another transaction, which is left open."""
    producer = begin(group, "other")
    request = staging(producer)
    request.topics[0].partitions = [TxnOffsetCommitRequestPartition(0, offset)]
    assert staged(group.client.call(request, 5, TxnOffsetCommitResponse)).error == OK
    return producer


def staging(
    producer: Transactional, *ranges: tuple[int, int], member: str = ""
) -> TxnOffsetCommitRequest:
    part = TxnOffsetCommitRequestPartition(0, -1)
    tags.tag(part, commit_fields(ranges))
    return TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id,
        group_id="g",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        member_id=member,
        topics=[TxnOffsetCommitRequestTopic("t", partitions=[part])],
    )


def staged(answer: TxnOffsetCommitResponse) -> Committed:
    return told(answer.topics[0].partitions[0])  # type: ignore[arg-type]  # of the same fields


def test_ranges_count_when_the_transaction_commits(group: RangeGroup) -> None:
    """TX-01."""
    producer = begin(group)
    ops = Ops(group.client.core.broker)
    assert stage(group, producer, (3, 5)) == Committed(OK, None, 0, 0)
    assert ops.take() == ["P(0)", "+(3-5)"]
    assert group.fetch(require_stable=True).error == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert group.fetch() == (0, [], [(3, 5)], OK)
    producer.finish(commit=True)
    assert group.fetch(require_stable=True) == (0, [(3, 5)], [], OK)
    assert group.commit((0, 2)) == Committed(OK, None, 6, 0)


def test_ranges_of_an_aborted_transaction_are_gone(group: RangeGroup) -> None:
    """TX-02."""
    producer = begin(group)
    stage(group, producer, (0, 5))
    producer.finish(commit=False)
    assert group.fetch(require_stable=True) == (0, [], [], OK)


def test_what_is_done_or_under_way_is_refused(group: RangeGroup) -> None:
    """TX-04."""
    group.commit((12, 12), initial=10)
    one, other = begin(group), begin(group, "other")
    assert stage(group, one, (9, 9))[:2] == (ErrorCode.INVALID_COMMIT_OFFSET_SIZE, 91)
    assert stage(group, one, (12, 13))[0] == ErrorCode.TRANSACTION_ABORTABLE
    assert stage(group, one, (99, 100))[0] == ErrorCode.INVALID_REQUEST
    assert stage(group, one, (20, 21))[0] == OK
    assert stage(group, one, (20, 22))[0] == OK
    assert stage(group, other, (22, 23))[0] == ErrorCode.TRANSACTION_ABORTABLE
    assert group.commit((21, 21))[0] == ErrorCode.UNSTABLE_OFFSET_COMMIT
    one.finish(commit=True)
    assert group.fetch() == (10, [(12, 12), (20, 22)], [], OK)


def test_a_reset_voids_what_is_pending(group: RangeGroup) -> None:
    """TX-06."""
    group.commit((12, 12), initial=10)
    producer = begin(group)
    stage(group, producer, (20, 21))
    group.plain(5)
    assert group.fetch(require_stable=True) == (5, [], [], OK)
    producer.finish(commit=True)
    assert group.fetch(require_stable=True) == (5, [], [], OK)


def test_the_end_of_a_transaction_is_never_refused_for_too_many_ranges() -> None:
    """TX-07."""
    config = {**CONFIG, "individual.commit.max.ranges.per.group": "1"}
    group = RangeGroup(Core(topics={"t": 1}, config=config).client())
    fill(group.client, 100)
    producer = begin(group)
    group.commit((2, 2))
    stage(group, producer, (4, 4), (6, 6))
    producer.finish(commit=True)
    assert group.fetch() == (0, [(2, 2), (4, 4), (6, 6)], [], OK)


def test_a_transaction_that_takes_too_long_is_aborted(group: RangeGroup) -> None:
    """TX-08."""
    producer = begin(group)
    stage(group, producer, (3, 5))
    group.client.core.advance(120_000)
    assert group.fetch(require_stable=True) == (0, [], [], OK)
    # The coordinator took the next epoch: whoever goes on with the old one is fenced.
    assert stage(group, producer, (3, 5))[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert group.fetch() == (0, [], [], OK)
    again = begin(group)
    assert (again.producer_id, again.epoch > producer.epoch) == (producer.producer_id, True)
    assert stage(group, again, (3, 5))[0] == OK


def test_leases_and_transactions() -> None:
    core = core_of(1, **{"transaction.state.log.num.partitions": "1"})
    reader, thief = Reader(core, "A"), Reader(core, "B")
    assert reader.take() == [(0, 9, 1)]
    producer, other = begin(reader.commits), begin(thief.commits, "other")
    assert stage(thief.commits, other, (2, 5), member="B")[0] == ErrorCode.INVALID_RECORD_STATE
    assert stage(reader.commits, producer, (2, 3), member="A")[0] == OK
    producer.finish(commit=False)
    # What is aborted stays with its member, until its time is over.
    assert [lease[:2] for lease in leases_of(core).leased] == [(0, 9)]
    again = begin(reader.commits)
    assert stage(reader.commits, again, (2, 5), member="A")[0] == OK
    again.finish(commit=True)
    assert [lease[:2] for lease in leases_of(core).leased] == [(0, 1), (6, 9)]
    core.advance(LEASE_MS)
    assert thief.take() == [(0, 1, 2), (6, 9, 2)]


def test_what_a_transaction_commits_moves_the_position_and_needs_no_record(
    group: RangeGroup,
) -> None:
    producer = begin(group)
    ops = Ops(group.client.core.broker)
    stage(group, producer, (0, 5), (8, 9))
    producer.finish(commit=True)
    assert ops.take() == ["P(0)", "P(6)", "+(0-5)", "+(8-9)", "T(0-5)"]
    assert group.fetch() == (6, [(8, 9)], [], OK)


def test_a_position_that_is_pending_elsewhere_counts_at_its_marker(group: RangeGroup) -> None:
    one = begin(group)
    stage(group, one, (0, 5))
    other = stage_a_position(group, 50)
    one.finish(commit=True)
    assert group.fetch() == (6, [], [], OK)
    other.finish(commit=True)
    assert group.fetch() == (50, [], [], OK)


@pytest.mark.parametrize("commit", [True, False])
def test_ranges_that_are_dropped_meanwhile_leave_no_transaction_open(
    group: RangeGroup, commit: bool
) -> None:
    """With its offsets a group loses what is pending; the marker comes later."""
    producer = begin(group)
    stage(group, producer, (0, 5))
    part = OffsetDeleteRequestPartition(0)
    delete = OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t", [part])])
    assert group.client.call(delete, 0, OffsetDeleteResponse).error_code == OK
    log = group.client.core.broker.services.leader_log(INDIVIDUAL_COMMITS_TOPIC, 0)
    assert log is not None
    assert log.has_ongoing_transaction(producer.producer_id)
    producer.finish(commit=commit)
    assert not log.has_ongoing_transaction(producer.producer_id)


def test_what_the_stable_offset_has_passed_is_no_reason_to_deal_nothing() -> None:
    config = {"transaction.state.log.num.partitions": "1"}
    core = core_of(4, **config, individual_commit_max_ranges_per_group="1")
    reader = Reader(core, "A")
    stage_a_position(reader.commits, 35)
    for first in (0, 10, 20):
        assert reader.take() == [(first, first + 9, 1)]
        producer = begin(reader.commits)
        assert stage(reader.commits, producer, (first, first + 9), member="A")[0] == OK
        producer.finish(commit=True)
    assert reader.commits.fetch().stable == 30


def test_what_the_stable_offset_has_passed_leaves_room_elsewhere() -> None:
    config = {**CONFIG, "individual.commit.max.ranges.per.group": "1"}
    group = RangeGroup(Core(topics={"t": 1, "u": 1}, config=config).client())
    fill(group.client, 10)
    fill(group.client, 10, "u")
    producer = begin(group)
    stage(group, producer, (0, 4))
    stage_a_position(group, 9)
    producer.finish(commit=True)
    assert group.fetch() == (5, [], [], OK)
    elsewhere = group.asking(-1, commit_fields([(5, 5)]))
    elsewhere.topics[0].name = "u"
    for expected in (OK, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):  # there is room for one
        answer = group.client.call(elsewhere, COMMIT_VERSION, OffsetCommitResponse)
        assert answer.topics[0].partitions[0].error_code == expected
        elsewhere = group.asking(-1, commit_fields([(7, 7)]))
        elsewhere.topics[0].name = "u"


EVERY_OTHER = [(2 * n + 1, 2 * n + 1) for n in range(35)]


class InSlices:
    """A transaction that stages many ranges, ten a slice and a slice a turn."""

    def __init__(self, group: RangeGroup, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sliced_commit, "AT_ONCE", 10)
        self.group = group
        self.core = group.client.core
        self.other = RangeGroup(self.core.client())
        self.producer = begin(group)
        self.core.broker.requests.turn_over = self.over = EveryTime()

    def send(self, *ranges: tuple[int, int]) -> None:
        self.group.client.send(staging(self.producer, *ranges), 5)

    def turn(self) -> None:
        self.core.broker.go_on(self.core.now_ms, self.over)
        self.core.deliver()

    def answer(self) -> Committed:
        while self.core.broker.requests.unfinished:
            self.turn()
        return staged(self.group.client.receive(TxnOffsetCommitResponse))


@pytest.fixture
def slices(group: RangeGroup, monkeypatch: pytest.MonkeyPatch) -> InSlices:
    return InSlices(group, monkeypatch)


@pytest.mark.parametrize("commit", [True, False])
def test_many_ranges_are_staged_in_slices(slices: InSlices, commit: bool) -> None:
    slices.send(*EVERY_OTHER)
    for staged_by_now in (10, 20, 30):
        slices.turn()
        assert not slices.group.client.answered
        assert slices.other.fetch().pending == EVERY_OTHER[:staged_by_now]
    assert slices.answer() == Committed(OK, None, 0, 0)
    assert slices.other.fetch() == (0, [], EVERY_OTHER, OK)
    slices.producer.finish(commit=commit)
    assert slices.other.fetch() == (0, EVERY_OTHER if commit else [], [], OK)


@pytest.mark.parametrize(
    ("beside", "error"),
    [((99, 100), ErrorCode.INVALID_REQUEST), ((70, 70), ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_of_many_ranges_that_would_be_refused_none_is_staged(
    slices: InSlices, beside: tuple[int, int], error: ErrorCode
) -> None:
    slices.core.broker.requests.turn_over = None
    slices.group.commit((70, 70))
    slices.core.broker.requests.turn_over = slices.over
    slices.send(*EVERY_OTHER, beside)
    assert slices.answer().error == error
    assert slices.other.fetch() == (0, [(70, 70)], [], OK)


def test_a_range_that_another_commits_between_two_slices_aborts(slices: InSlices) -> None:
    slices.send(*EVERY_OTHER)
    slices.turn()
    slices.other.commit(EVERY_OTHER[-1])
    assert slices.answer().error == ErrorCode.TRANSACTION_ABORTABLE
    slices.producer.finish(commit=False)
    assert slices.other.fetch() == (0, [EVERY_OTHER[-1]], [], OK)


def test_nothing_is_staged_behind_the_end_of_the_transaction(slices: InSlices) -> None:
    slices.send(*EVERY_OTHER)
    slices.turn()
    slices.other.client.send(slices.producer.end_request(commit=True), 4)
    assert slices.answer().error == ErrorCode.TRANSACTION_ABORTABLE
    assert slices.other.client.receive(EndTxnResponse).error_code == OK
    fetched = slices.other.fetch()
    assert fetched.pending == []
    assert set(fetched.ranges) < set(EVERY_OTHER)


@pytest.mark.parametrize("version", [2, 5])
def test_ranges_may_be_said_in_metadata(version: int) -> None:
    group = RangeGroup(
        Core(topics={"t": 1}, config={**CONFIG, "coop.metadata.carrier": "true"}).client()
    )
    fill(group.client, 100)
    producer = begin(group)

    def say(text: str) -> TxnOffsetCommitResponsePartition:
        request = staging(producer)
        part = TxnOffsetCommitRequestPartition(0, 7, committed_metadata=text)
        request.topics[0].partitions = [part]
        answer = group.client.call(request, version, TxnOffsetCommitResponse)
        assert not tags.tagged_fields(answer.topics[0].partitions[0])
        return answer.topics[0].partitions[0]

    if version < 5:
        producer.add_offsets("g")
    assert say("ic1;12-14,20;b=0").error_code == OK
    assert group.fetch() == (0, [], [(12, 14), (20, 20)], 0)
    assert say("ic1;nonsense").error_code == ErrorCode.INVALID_REQUEST
    producer.finish(commit=True)
    assert group.fetch() == (0, [(12, 14), (20, 20)], [], 0)
    producer = begin(group, "other")
    if version < 5:
        producer.add_offsets("g")
    taken = ErrorCode.TRANSACTION_ABORTABLE if version == 5 else ErrorCode.ILLEGAL_GENERATION
    assert say("ic1;13").error_code == taken


def test_without_the_carrier_metadata_is_no_range(group: RangeGroup) -> None:
    producer = begin(group)
    request = staging(producer)
    part = TxnOffsetCommitRequestPartition(0, 7, committed_metadata="ic1;12-14")
    request.topics[0].partitions = [part]
    assert staged(group.client.call(request, 5, TxnOffsetCommitResponse)).error == OK
    producer.finish(commit=True)
    assert group.fetch(0).stable == 7
