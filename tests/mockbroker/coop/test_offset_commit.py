"""Commits of single offsets over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.numbers import Tag
from mockbroker.faults import Fault
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import (
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
)
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tests.support.core import Core
from tests.support.group_calls import join_request, stable_group
from tests.support.range_group import COMMIT_VERSION, ON, Committed, Ops, RangeGroup, fill, told

if TYPE_CHECKING:
    from mockbroker.faults.request_view import RequestView
    from tests.support.core import CoreClient

OK = 0
TOO_OLD = ErrorCode.INVALID_COMMIT_OFFSET_SIZE, 91
INVALID = ErrorCode.INVALID_REQUEST


class Case:
    """A group at a stable offset with ranges beyond, in a partition with 100 records."""

    def __init__(
        self, start: int | None = None, *ranges: tuple[int, int], **config: object
    ) -> None:
        more = {name.replace("_", "."): str(value) for name, value in config.items()}
        self.core = Core(topics={"t": 1}, config={**ON, **more})
        self.group = RangeGroup(self.core.client())
        fill(self.group.client, 100)
        self.ops = Ops(self.core.broker)
        if start is not None:
            assert self.group.commit(*ranges, initial=start).error == OK
        self.ops.take()

    def stands(self) -> tuple[int, list[tuple[int, int]]]:
        found = self.group.fetch(1)
        return found.stable, found.ranges


def test_a_range_joins_those_that_it_touches() -> None:
    """IC-01."""
    case = Case(43, (45, 47), (50, 50))
    assert case.group.commit((48, 49)) == Committed(OK, None, 43, 1)
    assert case.ops.take() == ["T(45-47)", "T(50-50)", "+(45-50)"]
    assert case.stands() == (43, [(45, 50)])


def test_the_stable_offset_moves_over_what_it_reaches() -> None:
    """IC-02, IC-19."""
    case = Case(43, (45, 47), (50, 50))
    assert case.group.commit((43, 44)) == Committed(OK, None, 48, 1)
    assert case.ops.take() == ["P(48)", "T(45-47)"]
    assert case.stands() == (48, [(50, 50)])
    assert case.group.fetch(0) == (48, [], [], 0)


@pytest.mark.parametrize(
    ("ranges", "answer", "ops"),
    [
        ([(47, 49)], (*TOO_OLD, 48, 1), []),
        ([(50, 50)], (OK, None, 48, 1), []),
        ([(52, 52)], (OK, None, 48, 2), ["+(52-52)"]),
        ([], (OK, None, 48, 1), []),
    ],
    ids=["IC-04", "IC-05", "apart", "probe"],
)
def test_a_commit_beyond_and_behind(
    ranges: list[tuple[int, int]], answer: tuple[int, ...], ops: list[str]
) -> None:
    case = Case(48, (50, 50))
    assert case.group.commit(*ranges) == answer
    assert case.ops.take() == ops


def test_a_new_group_begins_at_the_logs_start_or_where_it_says() -> None:
    """IC-07, IC-08."""
    case = Case()
    assert case.group.commit((5, 9)) == Committed(OK, None, 0, 1)
    assert case.ops.take() == ["P(0)", "+(5-9)"]
    case = Case()
    assert case.group.commit((5, 9), initial=5) == Committed(OK, None, 10, 0)
    assert case.ops.take() == ["P(10)"]


def test_who_agrees_first_on_a_beginning_has_it() -> None:
    """IC-09."""
    case = Case()
    assert case.group.commit() == Committed(OK, None, -1, 0)
    assert case.group.commit(initial=17) == Committed(OK, None, 17, 0)
    assert case.group.commit(initial=99) == Committed(OK, None, 17, 0)
    assert case.ops.take() == ["P(17)"]


@pytest.mark.parametrize("bad", [(9, 5), (-1, 5), (99, 100)])
def test_what_is_no_range_of_the_log_is_refused_whole(bad: tuple[int, int]) -> None:
    """IC-10."""
    case = Case(0)
    assert case.group.commit((20, 21), bad)[:2] == (INVALID, None)
    assert (case.ops.take(), case.stands()) == ([], (0, []))


def test_a_group_has_so_many_ranges_and_no_more() -> None:
    """IC-12."""
    case = Case(0, (2, 2), (4, 4), (6, 6), individual_commit_max_ranges_per_group=3)
    full = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 92
    assert case.group.commit((8, 8))[:2] == full
    assert case.group.commit((3, 3))[0] == OK
    assert case.stands() == (0, [(2, 4), (6, 6)])
    assert case.group.commit((10, 10)) == Committed(OK, None, 0, 3)
    assert case.group.commit((12, 12))[:2] == full
    assert case.group.commit((0, 0)) == Committed(OK, None, 1, 3)


def test_too_many_ranges_call_for_one_rebalance() -> None:
    """IC-14."""
    case = Case(0, (2, 2), individual_commit_max_ranges_per_group=1)
    client = case.core.client()
    case.group.member, case.group.generation = stable_group(client), 1
    shard = case.core.broker.services.groups.service.runtime.shard_for("g")
    assert shard is not None

    def state() -> str:
        return shard.groups["g"].state.value

    assert case.group.commit((8, 8))[:2] == (ErrorCode.REBALANCE_IN_PROGRESS, 92)
    assert state() == "PreparingRebalance"
    case.group.member, case.group.generation = stable_group_again(client, case.group.member), 2
    assert case.group.commit((8, 8))[:2] == (ErrorCode.REBALANCE_IN_PROGRESS, 92)
    assert state() == "Stable"
    assert case.group.commit((0, 0)) == Committed(OK, None, 1, 1)
    assert case.group.commit((8, 8))[:2] == (ErrorCode.REBALANCE_IN_PROGRESS, 92)
    assert state() == "PreparingRebalance"


def stable_group_again(client: CoreClient, member_id: str) -> str:
    """The one member joins and syncs once more."""
    joined = client.call(join_request(member_id), 9, JoinGroupResponse)
    request = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id, b"a")],
    )
    assert client.call(request, 5, SyncGroupResponse).error_code == 0
    return member_id


@pytest.mark.parametrize(("most", "error"), [(2, ErrorCode.INVALID_COMMIT_OFFSET_SIZE), (3, OK)])
def test_a_request_has_so_many_ranges_and_no_more(most: int, error: int) -> None:
    """IC-15, with a smaller number."""
    case = Case(0, individual_commit_max_ranges_per_request=most)
    assert case.group.commit((2, 2), (4, 4), (6, 6))[:2] == (error, None)


@pytest.mark.parametrize(("mode", "code"), [("carrier", 42), ("private", 16_088), ("draft", 88)])
def test_a_broker_may_not_accept_ranges_and_takes_positions(mode: str, code: int) -> None:
    """IC-16."""
    case = Case(accept_individual_commit="false", coop_error_mode=mode)
    request = case.group.asking(-1, commit_fields([(1, 2)]))
    request.topics.append(case.group.asking(7, None).topics[0])
    request.topics[1].name = "u"
    answer = case.group.client.call(request, COMMIT_VERSION, OffsetCommitResponse)
    by_topic = {topic.name: topic.partitions[0] for topic in answer.topics}
    assert told(by_topic["t"])[:2] == (code, 88)
    assert told(by_topic["u"]) == Committed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert case.group.plain(7) == Committed(OK)
    assert case.ops.take() == ["P(7)"]


def test_without_the_extension_the_fields_are_passed_over() -> None:
    """IC-17."""
    core = Core(topics={"t": 1})
    group = RangeGroup(core.client())
    fill(group.client, 100)
    assert group.commit((45, 47), plain=43) == Committed(OK)
    assert group.fetch() == (43, [], [], 0)


def test_a_member_of_an_old_generation_commits_nothing() -> None:
    """IC-18."""
    case = Case(43, (45, 47))
    case.group.member, case.group.generation = stable_group(case.core.client()), 0
    assert case.group.commit((50, 50)) == Committed(ErrorCode.ILLEGAL_GENERATION)
    assert case.stands() == (43, [(45, 47)])


@pytest.mark.parametrize(
    ("position", "stands", "ops"),
    [
        (11, (11, [(12, 14), (20, 20)]), ["P(11)"]),
        (13, (15, [(20, 20)]), ["P(15)", "T(12-14)"]),
        (5, (5, []), ["P(5)", "T(12-14)", "T(20-20)"]),
    ],
    ids=["ahead", "IC-21", "IC-22"],
)
def test_a_members_position_keeps_ranges_behind_it_if_it_is_ahead(
    position: int, stands: tuple[int, list[tuple[int, int]]], ops: list[str]
) -> None:
    case = Case(10, (12, 14), (20, 20))
    case.group.member, case.group.generation = stable_group(case.core.client()), 1
    case.ops.take()
    assert case.group.plain(position) == Committed(OK)
    assert (case.ops.take(), case.stands()) == (ops, stands)


def test_a_reset_drops_ranges() -> None:
    """IC-23."""
    case = Case(10, (12, 14), (20, 20))
    assert case.group.plain(11) == Committed(OK)
    assert case.ops.take() == ["P(11)", "T(12-14)", "T(20-20)"]
    assert case.stands() == (11, [])


def test_a_members_position_may_be_refused() -> None:
    case = Case(10, (12, 14), coop_plain_commit_policy="reject")
    case.group.member, case.group.generation = stable_group(case.core.client()), 1
    assert case.group.plain(20) == Committed(INVALID)
    assert case.stands() == (10, [(12, 14)])


def test_the_logs_start_takes_the_stable_offset_along() -> None:
    """IC-24."""
    case = Case(10, (12, 14), (20, 20))
    part = DeleteRecordsPartition(0, 16)
    request = DeleteRecordsRequest([DeleteRecordsTopic("t", [part])], 1000)
    case.group.client.call(request, 2, DeleteRecordsResponse)
    assert case.stands() == (16, [(20, 20)])
    assert case.group.commit() == Committed(OK, None, 16, 1)
    assert case.ops.take() == ["P(16)", "T(12-14)"]


def test_a_field_that_is_cut_refuses_its_partition() -> None:
    """EC-06, of commits."""
    case = Case(10)
    request = case.group.asking(-1, {Tag.COMMIT_RANGES: b"\x02\x00"})
    answer = case.group.client.call(request, COMMIT_VERSION, OffsetCommitResponse)
    assert told(answer.topics[0].partitions[0])[:2] == (INVALID, None)


def test_a_partition_that_is_named_twice_commits_both() -> None:
    case = Case(10)
    request = case.group.asking(-1, commit_fields([(12, 12)]))
    again = OffsetCommitRequestPartition(0, -1, -1, "")
    tags.tag(again, commit_fields([(13, 14)]))
    request.topics[0].partitions.append(again)
    case.group.client.call(request, COMMIT_VERSION, OffsetCommitResponse)
    assert case.ops.take() == ["+(12-14)"]


def test_the_plain_offset_may_have_to_be_minus_one() -> None:
    case = Case(10, range_commit_require_minus_one="true")
    assert case.group.commit((12, 12), plain=10)[0] == INVALID
    assert case.group.commit((12, 12), plain=-1)[0] == OK


def test_fault_rules_reach_commits_of_ranges() -> None:
    case = Case()
    faults = case.core.cluster.faults

    def is_individual(request: RequestView) -> bool:
        parts = [one for topic in request.body.topics for one in topic.partitions]
        return any(Tag.COMMIT_RANGES in tags.tagged_fields(one) for one in parts)

    faults.add(Fault(api="OffsetCommit", error="NOT_COORDINATOR", when=is_individual, id="refused"))
    assert case.group.plain(3).error == OK
    assert case.group.commit((5, 6)) == Committed(ErrorCode.NOT_COORDINATOR)
    faults.remove("refused")
    assert case.group.fetch().ranges == []
    faults.add(Fault(api="OffsetCommit", disconnect=True, stage="after", id="lost answer"))
    case.group.client.send(case.group.asking(-1, commit_fields([(5, 6)])), COMMIT_VERSION)
    assert case.group.client.closed
    faults.remove("lost answer")
    again = RangeGroup(case.core.client())
    assert again.fetch().ranges == [(5, 6)]
    assert again.commit((5, 6)) == Committed(OK, None, 3, 1)
