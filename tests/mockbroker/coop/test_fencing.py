"""Range fetches of members, held against their group (FN-01 to FN-04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop import tags
from mockbroker.coop.numbers import DraftError, Tag
from mockbroker.coop.tags import Identity
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchResponse, FetchResponsePartition
from tests.mockbroker.coop.test_fetch import HALF, ON, OTHER_HALF, ask, asking, fill, parts_of
from tests.support.cluster_core import ClusterCore
from tests.support.coop_groups import SharingGroup
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW

if TYPE_CHECKING:
    from tests.support.core import CoreClient

NOT_ACCEPTED = {Tag.EXT_ERROR: tags.error(DraftError.CONSUMER_RANGE_FETCH_NOT_ACCEPTED)}
KEY_A: dict[int, bytes] = {Tag.KEYS: b"\x02\x02a"}
KEY_FOOBAR: dict[int, bytes] = {Tag.KEYS: b"\x02\x07foobar"}
NULL_KEY: dict[int, bytes] = {Tag.KEYS: b"\x02\x00"}


def core_with(**config: str) -> Core:
    named = {name.replace("_", "."): value for name, value in config.items()}
    core = Core(topics={"t": 1}, config={**ON, **named})
    fill(core.client())
    return core


def fetched(
    client: CoreClient, wanted: dict[int, bytes] | None, own: dict[int, bytes]
) -> FetchResponsePartition:
    (part,) = parts_of(ask(client, asking(("t", 0, wanted), own_tags=own)))
    return part


def outcome(part: FetchResponsePartition) -> tuple[int, bool]:
    return part.error_code, part.unknown_tags == NOT_ACCEPTED


STALE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, True)
DENIED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, True)
SERVED = (0, False)


@pytest.fixture
def halves() -> SharingGroup:
    """Two members that opted in, each with a half of the partition."""
    group = SharingGroup(core_with(), 3, 3)
    group.sync({"t": {0: (LOW,)}}, {"t": {0: (HIGH,)}})
    return group


def test_who_keeps_to_its_assignment_is_served(halves: SharingGroup) -> None:
    one, two = halves.clients
    for client, at, wanted, expected in (
        (one, 0, HALF, SERVED),
        (one, 0, KEY_A, SERVED),
        (two, 1, OTHER_HALF, SERVED),
        (one, 0, OTHER_HALF, STALE),  # FN-02: a range that it has not
        (one, 0, KEY_FOOBAR, STALE),
        (one, 0, NULL_KEY, STALE),
        (two, 1, None, STALE),  # the whole partition
    ):
        assert outcome(fetched(client, wanted, halves.identity(at))) == expected


def test_fn_01_an_old_generation(halves: SharingGroup) -> None:
    halves.rejoin()
    client = halves.clients[0]
    # The new generation has no assignment yet.
    assert outcome(fetched(client, HALF, halves.identity(0))) == STALE
    halves.sync({"t": {0: (LOW,)}}, {"t": {0: (HIGH,)}})
    assert outcome(fetched(client, HALF, halves.identity(0))) == SERVED
    assert outcome(fetched(client, HALF, halves.identity(0, halves.generation - 1))) == STALE


def test_who_is_parked_is_fenced_when_it_is_answered(halves: SharingGroup) -> None:
    client = halves.clients[0]
    request = asking(("t", 10, HALF), max_wait_ms=500, own_tags=halves.identity(0))
    client.send(request, 12)
    reader = halves.core.client()
    halves.clients[0] = reader
    halves.rejoin()
    halves.core.advance(500)
    (part,) = parts_of(client.receive(FetchResponse))
    assert outcome(part) == STALE


def test_strangers(halves: SharingGroup) -> None:
    client = halves.clients[0]
    for identity in (
        Identity("g", "nobody", halves.generation, None),
        Identity("no group", halves.members[0], halves.generation, None),
        Identity("g", halves.members[0], halves.generation, "no instance"),
    ):
        own: dict[int, bytes] = {Tag.GROUP_IDENTITY: tags.write_identity(identity)}
        assert outcome(fetched(client, HALF, own)) == STALE


def test_an_identity_that_is_cut(halves: SharingGroup) -> None:
    cut = {tag: data[:5] for tag, data in halves.identity(0).items()}
    assert fetched(halves.clients[0], HALF, cut).error_code == ErrorCode.INVALID_REQUEST


def test_a_session_remembers_who_it_is(halves: SharingGroup) -> None:
    client = halves.clients[0]
    opening = asking(("t", 0, HALF), session=(0, 0), own_tags=halves.identity(0))
    opened = ask(client, opening)
    assert outcome(parts_of(opened)[0]) == SERVED
    halves.rejoin()
    later = asking(("t", 7, None), session=(opened.session_id, 1))
    assert outcome(parts_of(ask(client, later))[0]) == STALE


def test_fn_03_a_member_that_did_not_opt_in() -> None:
    group = SharingGroup(core_with(), 3, None)
    group.sync({"t": {0: (LOW,)}}, {"t": {0: (HIGH,)}})
    assert outcome(fetched(group.clients[1], OTHER_HALF, group.identity(1))) == DENIED
    without = SharingGroup(core_with(), 2)
    without.sync(None)
    assert outcome(fetched(without.clients[0], HALF, without.identity(0))) == DENIED


def test_a_member_that_did_not_opt_in_reads_a_whole_partition_that_is_its_own() -> None:
    group = SharingGroup(core_with(), 3, None)
    group.sync({}, {"t": {0: ()}})
    assert outcome(fetched(group.clients[1], None, group.identity(1))) == SERVED
    assert outcome(fetched(group.clients[1], HALF, group.identity(1))) == DENIED
    assert outcome(fetched(group.clients[0], None, group.identity(0))) == STALE


def test_fn_04_alone() -> None:
    assert fetched(core_with().client(), HALF, {}).error_code == 0
    refusing = core_with(range_fetch_standalone_allow="false").client()
    assert outcome(fetched(refusing, HALF, {})) == DENIED


def test_a_group_that_says_nothing_of_ranges_is_asked_for_members_only() -> None:
    group = SharingGroup(core_with(), None)
    group.sync(None)
    client = group.clients[0]
    assert outcome(fetched(client, HALF, group.identity(0))) == SERVED
    assert outcome(fetched(client, HALF, group.identity(0, 99))) == STALE


def test_nobody_is_checked_where_that_is_off() -> None:
    core = core_with(range_fetch_verify_assignment="false")
    own: dict[int, bytes] = {Tag.GROUP_IDENTITY: tags.write_identity(Identity("g", "m", 3, None))}
    assert outcome(fetched(core.client(), HALF, own)) == SERVED


@pytest.mark.parametrize(("mode", "code"), [("private", 16090), ("draft", 90)])
def test_the_errors_of_each_mode(mode: str, code: int) -> None:
    client = core_with(coop_error_mode=mode, range_fetch_standalone_allow="false").client()
    assert outcome(fetched(client, HALF, {})) == (code, True)


def test_a_leader_asks_whoever_coordinates_the_group() -> None:
    """FN-01 and FN-02 where one broker leads the partition and another coordinates the group."""
    core = ClusterCore(topics={"t": 1}, config={**ON, "log.retention.ms": "-1"})
    core.controls.coordinator("g")
    core.advance(10)
    leader = core.state("t").leader
    names = (f"g{number}" for number in range(50))
    name = next(one for one in names if core.controls.coordinator(one) != leader)
    coordinator = core.controls.coordinator(name)
    reader = core.client(node=leader)
    fill(reader)
    core.advance(1000)
    group = SharingGroup(core, 3, 3, name=name, nodes=(coordinator, coordinator))
    group.sync({"t": {0: (LOW,)}}, {"t": {0: (HIGH,)}})
    old = group.identity(0)
    assert outcome(fetched(reader, HALF, old)) == SERVED
    assert outcome(fetched(reader, OTHER_HALF, old)) == STALE
    group.rejoin()
    group.sync({"t": {0: (HIGH,)}}, {"t": {0: (LOW,)}})
    assert outcome(fetched(reader, HALF, old)) == STALE
    assert outcome(fetched(reader, OTHER_HALF, group.identity(0))) == SERVED
    core.controls.hold_link(coordinator, leader)
    assert outcome(fetched(reader, HALF, old)) == SERVED  # nobody can be asked
