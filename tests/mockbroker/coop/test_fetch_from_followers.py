"""Fetches through filters of keys from the replica in the reader's rack (KIP-392)."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.fetch import FetchResponse
from tests.mockbroker.coop.test_fencing import SERVED, STALE, fetched, outcome
from tests.mockbroker.coop.test_fetch import (
    HALF,
    NONE_MATCHES,
    ON,
    OTHER_HALF,
    V,
    ask,
    asking,
    batches,
    fill,
    next_offset,
    parts_of,
    put,
)
from tests.support.cluster_core import ClusterCore
from tests.support.coop_groups import SharingGroup
from tests.support.keyed_log import HIGH, LOW

RACKS = {1: "a", 2: "b", 3: "c"}
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
CONFIG = {
    **ON,
    "default.replication.factor": "3",
    "log.retention.ms": "-1",
    "replica.selector.class": SELECTOR,
}


class Racks:
    """Three brokers in a rack each; `leader` has ten records of t-0, and `follower` has them."""

    def __init__(self) -> None:
        self.core = ClusterCore(topics={"t": 1}, racks=list(RACKS.values()), config=CONFIG)
        self.leader = self.core.state("t").leader
        self.follower = next(node for node in self.core.state("t").isr if node != self.leader)
        self.rack = RACKS[self.follower]
        self.writer = self.core.client(node=self.leader)
        fill(self.writer)
        self.core.advance(1000)
        self.near, self.far = (self.core.client(node=at) for at in (self.follower, self.leader))


@pytest.fixture
def racks() -> Racks:
    return Racks()


def test_the_leader_sends_a_filter_to_the_readers_rack(racks: Racks) -> None:
    asked = asking(("t", 0, HALF), rack_id=racks.rack)
    (told,) = parts_of(ask(racks.far, asked))
    assert (told.error_code, told.preferred_read_replica) == (0, racks.follower)
    assert not told.records
    assert next_offset(told) == 0
    (served,) = parts_of(ask(racks.near, asked))
    assert served.preferred_read_replica == -1
    assert (batches(served), next_offset(served)) == ([(0, 6, [0, 2]), (7, 9, [7, 8, 9])], 10)


@pytest.mark.parametrize("wanted", [HALF, OTHER_HALF, NONE_MATCHES])
def test_a_follower_answers_as_the_leader_does(racks: Racks, wanted: dict[int, bytes]) -> None:
    for offset in range(11):
        asked = asking(("t", offset, wanted))
        (near,), (far,) = (parts_of(ask(one, asked)) for one in (racks.near, racks.far))
        assert (near.records, next_offset(near)) == (far.records, next_offset(far))


def test_only_what_matches_wakes_who_waits_at_a_follower(racks: Racks) -> None:
    racks.near.send(asking(("t", 10, HALF), max_wait_ms=60_000), V)
    put(racks.writer, "foobar")
    racks.core.advance(2000)
    assert not racks.near.answered
    put(racks.writer, "b")
    racks.core.advance(2000)
    (found,) = parts_of(racks.near.receive(FetchResponse))
    assert (batches(found), next_offset(found)) == ([(10, 10, []), (11, 11, [11])], 12)


def test_no_cover_reaches_beyond_what_the_follower_knows_to_be_committed(racks: Racks) -> None:
    racks.core.controls.hold_follower("t", 0, racks.follower)
    put(racks.writer, "foobar")
    racks.core.advance(100)
    (found,) = parts_of(ask(racks.near, asking(("t", 0, NONE_MATCHES))))
    assert (batches(found), next_offset(found)) == ([(0, 9, [])], 10)
    racks.core.controls.release_follower("t", 0, racks.follower)


def test_members_are_held_to_their_ranges_at_a_follower(racks: Racks) -> None:
    coordinator = racks.core.controls.coordinator("g")
    racks.core.advance(100)
    group = SharingGroup(racks.core, 3, 3, nodes=[coordinator] * 2)
    group.sync({"t": {0: (LOW,)}}, {"t": {0: (HIGH,)}})
    old = group.identity(0)
    assert outcome(fetched(racks.near, HALF, old)) == SERVED
    assert outcome(fetched(racks.near, OTHER_HALF, old)) == STALE
    group.rejoin()
    assert outcome(fetched(racks.near, HALF, old)) == STALE
