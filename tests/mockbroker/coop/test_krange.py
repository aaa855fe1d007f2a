"""Members of groups of KIP-848 that share partitions by the broker's assignor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.krange import NAME, ranges_of
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Identity
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from tests.mockbroker.coop.test_fencing import DENIED, SERVED, STALE, fetched, outcome
from tests.mockbroker.coop.test_fetch import HALF, ON, OTHER_HALF, fill
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW

if TYPE_CHECKING:
    from mockbroker.coop.key_filter import KeyRange

SETTLED = {**ON, "mockbroker.group.settling.heartbeat.interval.ms": "0"}


class Sharer:
    """A member; it owns what it is told, and gives up at once what it is not told any more."""

    def __init__(
        self, core: Core, name: str, caps: int | None = 1, instance: str | None = None
    ) -> None:
        self.client = core.client()
        self.name = name
        self.caps = caps
        self.instance = instance
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}
        self.ranges: dict[int, list[KeyRange]] = {}

    def beat(self, *, leaves: bool = False, asks: bool = False) -> int:
        """One heartbeat; its error. One that `asks` wants to be told what it has."""
        joins = self.epoch == 0 or asks
        leave_epoch = -1 if self.instance is None else -2
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.name,
            instance_id=self.instance,
            member_epoch=leave_epoch if leaves else self.epoch,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=["t"] if joins else None,
            server_assignor=NAME if joins and self.caps is not None else None,
            topic_partitions=[HeartbeatTopicPartitions(*one) for one in self.owned.items()],
        )
        if self.caps is not None:
            tags.tag(request, {Tag.HEARTBEAT_CAPS: bytes((self.caps,))})
        answer = self.client.call(request, 1, ConsumerGroupHeartbeatResponse)
        if not answer.error_code:
            self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {
                one.topic_id: one.partitions for one in answer.assignment.topic_partitions
            }
            self.ranges = {}
            for topic in answer.assignment.topic_partitions:
                packed = tags.tagged_fields(topic).get(Tag.HEARTBEAT_RANGES)
                if packed is not None:
                    self.ranges |= tags.read_partition_ranges(packed)
        return answer.error_code

    @property
    def partitions(self) -> list[int]:
        return [index for indexes in self.owned.values() for index in indexes]

    def identity(self) -> dict[int, bytes]:
        said = Identity("g", self.name, self.epoch, self.instance)
        return {Tag.GROUP_IDENTITY: tags.write_identity(said)}

    def reads(self, wanted: dict[int, bytes] | None) -> tuple[int, bool]:
        return outcome(fetched(self.client, wanted, self.identity()))


def settle(*members: Sharer) -> None:
    for _ in range(4):
        for member in members:
            assert member.beat() == 0


def test_the_drafts_example() -> None:
    core = Core(topics={"t": 3}, config=SETTLED)
    members = [Sharer(core, f"M{n}") for n in range(1, 6)]
    settle(*members)
    assert [member.partitions for member in members] == [[0], [1], [2], [0], [1]]
    assert [member.ranges for member in members] == [
        {0: [LOW]},
        {1: [LOW]},
        {},
        {0: [HIGH]},
        {1: [HIGH]},
    ]


def test_a_part_is_given_up_before_another_has_it() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    one, two = Sharer(core, "A"), Sharer(core, "B")
    fill(core.client())
    assert one.beat() == 0
    assert (one.partitions, one.ranges) == ([0], {})
    assert one.reads(None) == SERVED
    assert two.beat() == 0
    assert two.partitions == []  # the first still reads all of it
    assert two.reads(OTHER_HALF) == STALE
    assert one.reads(HALF) == STALE  # another target counts
    assert one.beat() == 0
    assert one.partitions == []
    assert two.beat() == 0
    assert two.partitions == []
    assert one.beat() == 0
    assert two.beat() == 0
    assert (one.ranges, two.ranges) == ({0: [LOW]}, {0: [HIGH]})
    assert (one.reads(HALF), two.reads(OTHER_HALF)) == (SERVED, SERVED)
    assert (one.reads(None), one.reads(OTHER_HALF)) == (STALE, STALE)


def test_who_is_left_has_the_whole_again() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    one, two = Sharer(core, "A"), Sharer(core, "B")
    fill(core.client())
    settle(one, two)
    assert one.ranges == {0: [LOW]}
    assert two.beat(leaves=True) == 0
    assert one.reads(HALF) == SERVED
    assert one.beat() == 0
    # It hears of it though it keeps the partition.
    assert (one.partitions, one.ranges) == ([0], {})
    assert one.reads(None) == SERVED


def test_until_the_next_target_who_is_left_has_no_more_than_the_last_gave_it() -> None:
    interval = {"group.consumer.assignment.interval.ms": "60000"}
    core = Core(topics={"t": 1}, config={**SETTLED, **interval})
    one, two = Sharer(core, "A"), Sharer(core, "B")
    for _ in range(3):
        settle(one, two)
        core.advance(30_000)
    settle(one, two)
    fill(core.client())
    epoch = one.epoch
    assert two.beat(leaves=True) == 0
    assert one.beat(asks=True) == 0
    assert (one.epoch, one.ranges) == (epoch, {0: [LOW]})
    assert (one.reads(HALF), one.reads(OTHER_HALF)) == (SERVED, STALE)
    for _ in range(2):
        core.advance(30_000)
        settle(one)
    assert (one.epoch, one.ranges) == (epoch + 1, {})


def test_an_instance_that_comes_back_by_another_name_takes_nobody_elses_part() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    one, two = Sharer(core, "M", instance="a"), Sharer(core, "N", instance="b")
    fill(core.client())
    settle(one, two)
    assert (one.ranges, two.ranges) == ({0: [LOW]}, {0: [HIGH]})
    assert two.beat(leaves=True) == 0
    again = Sharer(core, "A", instance="b")
    settle(again)
    assert (again.epoch, again.ranges) == (one.epoch, {0: [HIGH]})
    assert one.beat(asks=True) == 0
    assert one.ranges == {0: [LOW]}
    assert (one.reads(HALF), again.reads(OTHER_HALF)) == (SERVED, SERVED)


def test_who_lags_keeps_others_from_its_part() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    one, two, three = Sharer(core, "A"), Sharer(core, "B"), Sharer(core, "C")
    settle(one, two)
    settle(three, one)
    assert (one.partitions, three.partitions) == ([], [])
    settle(two, one, three)
    assert [len(each.ranges[0]) for each in (one, two, three)] == [1, 1, 1]
    parts = sorted(each.ranges[0][0] for each in (one, two, three))
    assert (parts[0].lo, parts[-1].hi) == (0, HIGH.hi)
    assert parts[0].hi + 1 == parts[1].lo


def test_whoever_does_not_say_what_it_can_there_is_no_such_assignor() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    assert Sharer(core, "A", caps=2).beat() == ErrorCode.UNSUPPORTED_ASSIGNOR
    off = Core(topics={"t": 1})
    assert Sharer(off, "A").beat() == ErrorCode.UNSUPPORTED_ASSIGNOR


def test_members_that_do_not_share_keep_whole_partitions() -> None:
    core = Core(topics={"t": 2}, config=SETTLED)
    fill(core.client())
    plain = Sharer(core, "A", caps=None)
    sharers = [Sharer(core, name) for name in "BCD"]
    settle(*sharers, plain, *sharers)
    assert plain.partitions == [0]
    assert [member.partitions for member in sharers] == [[1], [1], [1]]
    assert plain.reads(None) == SERVED
    assert plain.reads(HALF) == DENIED


def test_sharing_ends_with_those_who_ask_for_it() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    one, two = Sharer(core, "A"), Sharer(core, "B")
    settle(one, two)
    plain = Sharer(core, "C", caps=None)
    settle(plain, one, two)
    for member in (one, two):
        assert member.beat(leaves=True) == 0
    settle(plain)
    assert (plain.partitions, plain.ranges) == ([0], {})


def test_it_is_as_durable_as_the_target() -> None:
    """Another coordinator reads the same from the log."""
    core = Core(topics={"t": 1}, config=SETTLED)
    one, two = Sharer(core, "A"), Sharer(core, "B")
    fill(core.client())
    settle(one, two)
    runtime = core.broker.services.groups.service.runtime
    (shard,) = [each for each in runtime.shards() if each.consumer_groups]
    group = shard.consumer_groups["g"]
    topic_id = core.broker.services.metadata.topics["t"].id
    assert ranges_of(group, "A", topic_id, 0) == (LOW,)
    assert ranges_of(group, "B", topic_id, 0) == (HIGH,)
    assert group.co_holders == {(topic_id, 0): 1}


def test_where_individual_commits_are_off_nobody_shares() -> None:
    core = Core(topics={"t": 1}, config={**SETTLED, "accept.individual.commit": "false"})
    one, two = Sharer(core, "A"), Sharer(core, "B")
    settle(one, two)
    assert (one.partitions, two.partitions) == ([0], [])
