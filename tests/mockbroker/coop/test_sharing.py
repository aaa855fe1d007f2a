"""What a test is told of partitions that a group shares."""

from __future__ import annotations

from functools import partial

from mockbroker.coordinator.group.shared import Lease, Piece, Sharing
from mockbroker.state import groups
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader, core_of
from tests.mockbroker.coop.test_krange import SETTLED, Sharer, settle
from tests.support.coop_groups import SharingGroup
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW


def told(core: Core, group: str = "g") -> dict[tuple[str, int], Sharing]:
    return groups.sharing(core.cluster, group)


def test_ranges_and_leases_are_told_by_partition() -> None:
    core = core_of()
    assert told(core) == {}
    one, two = Reader(core, "A"), Reader(core, "B")
    one.take()
    two.take()
    two.commits.commit((12, 13))
    core.advance(1_000)
    left_ms = LEASE_MS - 1_000
    assert told(core) == {
        ("t", 0): Sharing(
            0,
            [(12, 13)],
            [],
            {},
            20,
            [
                Lease(0, 9, "A", 1, left_ms),
                Lease(10, 11, "B", 1, left_ms),
                Lease(14, 19, "B", 1, left_ms),
            ],
            [],
            [],
        )
    }


def test_leases_end_when_a_test_says_so() -> None:
    core = core_of()
    one, two = Reader(core, "A"), Reader(core, "B")
    one.take()
    assert two.take() == [(10, 19, 1)]
    ended: list[int] = []

    def expire(group: str) -> None:
        ended.append(groups.expire_leases(core.cluster, group))

    core.act(partial(expire, "other"))
    core.act(partial(expire, "g"))
    assert ended == [0, 2]
    assert told(core)["t", 0].free == [Piece(0, 9, 1), Piece(10, 19, 1)]
    assert told(core)["t", 0].leases == []
    assert one.take() == [(0, 9, 2)]


def test_what_was_given_up_is_told() -> None:
    core = core_of(1, coop_fetch_max_deliveries="1")
    reader = Reader(core, "A")
    reader.take()
    core.advance(LEASE_MS)
    assert reader.take() == []
    found = told(core)["t", 0]
    assert (found.stable, found.given_up, found.free) == (10, [Piece(0, 9, 1)], [])


def test_owners_of_slots_in_a_classic_group() -> None:
    core = core_of()
    group = SharingGroup(core, 3, 3)
    assert told(core) == {}
    group.sync({"t": {0: (LOW,)}}, {"t": {0: (HIGH,)}})
    owners = told(core)["t", 0].owners
    assert owners == {group.members[0]: [LOW], group.members[1]: [HIGH]}
    assert told(core)["t", 0].stable is None


def test_owners_of_slots_in_a_consumer_group() -> None:
    core = Core(topics={"t": 1}, config=SETTLED)
    settle(Sharer(core, "A"), Sharer(core, "B"))
    assert told(core)["t", 0].owners == {"A": [LOW], "B": [HIGH]}


def test_an_ordinary_group_shares_nothing() -> None:
    core = core_of()
    group = SharingGroup(core, None)
    group.sync(None)
    assert told(core) == {}
