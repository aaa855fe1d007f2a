"""Cooperative fetches where one broker leads the partition and another coordinates the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.commit_tags import commit_fields, write_offset_ranges
from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Shared
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Cooperative
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader
from tests.support.cluster_core import ClusterCore
from tests.support.range_group import COMMIT_VERSION, ON, Committed, fill, told

if TYPE_CHECKING:
    from mockbroker.coop.leases import Leases

REPLICATED = {
    **ON,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "unclean.leader.election.enable": "false",
    "log.retention.ms": "-1",
}


class Apart:
    """Three brokers: `leader` of t-0, which has 40 records, and `coordinator` of group g."""

    def __init__(self, **config: str) -> None:
        named = {name.replace("_", "."): value for name, value in config.items()}
        self.core = ClusterCore(topics={"t": 1}, config={**REPLICATED, **named})
        self.leader = self.core.state("t").leader
        self.coordinator = self.leader % 3 + 1
        (self.third,) = {1, 2, 3} - {self.leader, self.coordinator}
        self.fill(4)
        self.core.controls.coordinator("g")
        self.core.advance(10)
        self.move_coordinator(self.coordinator)
        for _ in range(2):  # the first one makes the topic of ranges
            self.reader("first").commit()

    def fill(self, batches: int) -> None:
        writer = self.core.client(node=self.leader)
        for _ in range(batches):
            fill(writer, 10)
        self.core.advance(10)

    def move_coordinator(self, to: int) -> None:
        self.core.controls.move_coordinator("g", to)
        self.core.advance(100)
        self.coordinator = to

    def move_leader(self, to: int) -> None:
        self.core.controls.move_leader("t", 0, to)
        self.core.advance(100)
        self.leader = to

    def reader(self, name: str) -> Member:
        return Member(self, name)

    @property
    def leases(self) -> Leases:
        broker = self.core.cluster.broker(self.coordinator)
        assert broker is not None
        found = extension_of(broker.services).handouts.of(Shared("g", "t", 0))
        assert found is not None
        return found


class Member(Reader):
    """Fetches from whoever leads, and commits at whoever coordinates by now."""

    def __init__(self, apart: Apart, name: str) -> None:
        super().__init__(apart.core, name, apart.leader)
        self._apart = apart

    def commit(self, *ranges: tuple[int, int]) -> tuple[int, int | None]:
        """Its error, and the stable offset."""
        answer = self._ask(commit_fields(ranges, 0))
        return answer.error, answer.stable

    def say(self, tag: Tag, *ranges: tuple[int, int]) -> int:
        return self._ask({tag: write_offset_ranges(ranges)}).error

    def _ask(self, fields: dict[int, bytes]) -> Committed:
        client = self._apart.core.client(node=self._apart.coordinator)
        client.send(self.commits.asking(0, fields), COMMIT_VERSION)
        self._apart.core.advance(100)
        return told(client.receive(OffsetCommitResponse).topics[0].partitions[0])


@pytest.fixture
def apart() -> Apart:
    return Apart()


def test_a_leader_deals_what_the_coordinator_knows(apart: Apart) -> None:
    one, two = apart.reader("A"), apart.reader("B")
    assert (one.take(), two.take()) == ([(0, 9, 1)], [(10, 19, 1)])
    assert two.commit((0, 0)) == (ErrorCode.INVALID_RECORD_STATE, 0)
    assert two.commit((10, 19)) == (ErrorCode.NONE, 0)
    assert one.commit((0, 9)) == (ErrorCode.NONE, 20)
    assert one.fetch().marker == 30
    assert [lease[:2] for lease in apart.leases.leased] == [(20, 29)]


def test_who_waits_at_the_leader_hears_of_what_is_free(apart: Apart) -> None:
    one, two, three = (apart.reader(name) for name in "ABC")
    for _ in range(4):
        one.take()
    two.wait(max_wait_ms=100_000)
    three.wait(max_wait_ms=100_000)
    assert not two.client.answered
    apart.core.advance(1000)
    assert one.say(Tag.RELEASE_RANGES, (0, 9)) == ErrorCode.NONE
    assert two.got().pieces == [(0, 9, 2)]
    assert not three.client.answered
    # The lease ends on the coordinator's clock.
    apart.core.advance(LEASE_MS - 1000)
    assert three.got().pieces == [(10, 19, 2)]


def test_leases_outlive_the_leader(apart: Apart) -> None:
    one, two = apart.reader("A"), apart.reader("B")
    assert (one.take(), two.take()) == ([(0, 9, 1)], [(10, 19, 1)])
    one.commit((0, 4))
    apart.core.cluster.controls.kill(apart.leader)
    apart.core.advance(1000)
    assert apart.core.state("t").leader not in (-1, apart.leader)
    apart.leader = apart.core.state("t").leader
    three = apart.reader("C")
    assert three.take() == [(20, 29, 1)]
    # What the others have they may commit; what they leave comes to somebody when its time is over.
    assert two.commit((10, 14)) == (ErrorCode.NONE, 5)
    assert three.commit((5, 9))[0] == ErrorCode.INVALID_RECORD_STATE
    apart.core.advance(LEASE_MS)
    again = apart.reader("D").fetch(Cooperative(10, 0))
    assert again.pieces == [(5, 9, 2), (15, 19, 2)]


def test_another_coordinator_begins_at_what_is_committed(apart: Apart) -> None:
    one, two = apart.reader("A"), apart.reader("B")
    one.take()
    two.take()
    one.commit((0, 4))
    two.commit((10, 14))
    before = apart.coordinator
    apart.core.cluster.controls.kill(before)
    apart.core.advance(15_000)
    apart.coordinator = apart.core.controls.coordinator("g")
    assert apart.coordinator != before
    apart.leader = apart.core.state("t").leader
    three = apart.reader("C")
    assert three.take() == [(5, 9, 1), (15, 19, 1)]
    assert two.commit((15, 19))[0] == ErrorCode.INVALID_RECORD_STATE


def test_who_coordinates_again_begins_anew(apart: Apart) -> None:
    assert apart.reader("A").take() == [(0, 9, 1)]
    here = apart.coordinator
    apart.move_coordinator(apart.third)
    apart.move_coordinator(here)
    assert apart.reader("B").take() == [(0, 9, 1)]


def test_what_a_new_leader_has_not_is_dealt_anew() -> None:
    apart = Apart(unclean_leader_election_enable="true", min_insync_replicas="1")
    one = apart.reader("A")
    assert one.take() == [(0, 9, 1)]
    controls = apart.core.controls
    for node in (apart.coordinator, apart.third):
        controls.hold_follower("t", 0, node)
        controls.shrink_isr("t", 0, node)
    apart.fill(1)
    assert one.fetch(Cooperative(100, 0)).pieces == [
        (10, 19, 1),
        (20, 29, 1),
        (30, 39, 1),
        (40, 49, 1),
    ]
    apart.core.cluster.controls.kill(apart.leader)
    for node in (apart.coordinator, apart.third):
        controls.release_follower("t", 0, node)
    apart.core.advance(1000)
    apart.leader = apart.core.state("t").leader
    apart.fill(1)
    two = apart.reader("B")
    # Offsets 40 to 49 are other records now; nobody was given them.
    assert two.take() == [(40, 49, 1)]
    assert [lease[:3] for lease in apart.leases.leased] == [
        (0, 9, 1),
        (10, 19, 1),
        (20, 29, 1),
        (30, 39, 1),
        (40, 49, 1),
    ]


def test_who_led_before_deals_no_more(apart: Apart) -> None:
    one, before = apart.reader("A"), apart.leader
    assert one.take() == [(0, 9, 1)]
    apart.core.controls.hold_link(-1, before)
    apart.move_leader(apart.third)
    assert apart.reader("B").take() == [(10, 19, 1)]
    assert apart.core.partition(before, "t").is_leader
    assert one.fetch().error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_without_a_link_to_the_coordinator_nothing_is_dealt(apart: Apart) -> None:
    one = apart.reader("A")
    one.take()
    ends = apart.leader, apart.coordinator
    apart.core.controls.cut_link(*ends)
    assert one.fetch().error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    apart.core.controls.restore_link(*ends)
    assert one.take() == [(10, 19, 1)]


def test_what_kills_is_given_up_at_the_coordinator() -> None:
    apart = Apart(coop_fetch_max_deliveries="2")
    one = apart.reader("A")
    for times in (1, 2):
        assert one.fetch(Cooperative(40, 0)).pieces[0] == (0, 9, times)
        apart.core.advance(LEASE_MS)
    # It goes on with the others at once; what was given up is committed over there.
    assert one.take() == []
    apart.core.advance(100)
    assert one.commit() == (ErrorCode.NONE, 40)
    broker = apart.core.cluster.broker(apart.coordinator)
    assert broker is not None
    assert [piece[:2] for _, piece in extension_of(broker.services).handouts.dead] == [
        (0, 9),
        (10, 19),
        (20, 29),
        (30, 39),
    ]


def test_who_does_not_know_the_ranges_hands_out_nothing(apart: Apart) -> None:
    one = apart.reader("A")
    one.take()
    assert one.commit((2, 3)) == (ErrorCode.NONE, 0)
    controls, new = apart.core.controls, apart.third
    controls.hold_follower(INDIVIDUAL_COMMITS_TOPIC, 0, new)
    controls.shrink_isr(INDIVIDUAL_COMMITS_TOPIC, 0, new)
    apart.move_coordinator(new)
    assert one.fetch().error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    controls.release_follower(INDIVIDUAL_COMMITS_TOPIC, 0, new)
    apart.core.advance(2_000)
    assert one.take() == [(0, 1, 1), (4, 9, 1)]
