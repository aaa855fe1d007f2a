"""Cooperative fetches over the wire, on virtual time (CF-01 to CF-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import write_offset_ranges
from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Shared
from mockbroker.coop.leases import Holder, Lease, Piece
from mockbroker.coop.numbers import DraftError, Tag
from mockbroker.coop.tags import Cooperative, Identity
from mockbroker.state.groups import commit_offsets
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.messages.group_membership import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from tests.mockbroker.coop.test_fetch import asking, parts_of
from tests.support.cluster_core import ClusterCore
from tests.support.coop_groups import SharingGroup
from tests.support.core import Core
from tests.support.keyed_log import spans
from tests.support.range_group import COMMIT_VERSION, ON, RangeGroup, fill, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coop.leases import Leases
    from tests.support.core import CoreClient

LEASE_MS = 30_000
TEN = Cooperative(10, 0)


class Dealt(NamedTuple):
    """An answer to a cooperative fetch: offsets handed out and how often; the marker; batches."""

    pieces: list[tuple[int, int, int]]
    marker: int
    batches: list[tuple[int, int]]
    error: int = 0


def request(
    identity: Identity | None, asked: Cooperative = TEN, max_wait_ms: int = 0
) -> FetchRequest:
    own: dict[int, bytes] = {Tag.COOPERATIVE: tags.write_cooperative(asked)}
    if identity is not None:
        own[Tag.GROUP_IDENTITY] = tags.write_identity(identity)
    return asking(("t", 999, None), own_tags=own, max_wait_ms=max_wait_ms)


def dealt(answer: FetchResponse) -> Dealt:
    (part,) = parts_of(answer)
    if part.error_code:
        return Dealt([], -1, [], part.error_code)
    assert part.unknown_tags is not None
    assert isinstance(part.records, bytes | bytearray | memoryview)
    return Dealt(
        tags.read_acquired(part.unknown_tags[Tag.ACQUIRED_RANGES]),
        int.from_bytes(part.unknown_tags[Tag.NEXT_FETCH_OFFSET], "big"),
        [(first, last) for first, last, _ in spans([part.records])],
    )


class Reader:
    """A member of nobody's generation: it names its group and itself."""

    def __init__(self, core: Core, name: str, node: int | None = None) -> None:
        if node is None:
            self.client: CoreClient = core.client()
        else:
            assert isinstance(core, ClusterCore)
            self.client = core.client(node=node)
        self.identity = Identity("g", name, -1, None)
        self.commits = RangeGroup(self.client)
        self.commits.member = name

    def fetch(self, asked: Cooperative = TEN) -> Dealt:
        return dealt(self.client.call(request(self.identity, asked), 12, FetchResponse))

    def take(self) -> list[tuple[int, int, int]]:
        return self.fetch().pieces

    def wait(self, max_wait_ms: int = 500) -> None:
        self.client.send(request(self.identity, max_wait_ms=max_wait_ms), 12)

    def got(self) -> Dealt:
        return dealt(self.client.receive(FetchResponse))

    def say(self, tag: Tag, *ranges: tuple[int, int]) -> int:
        asked = self.commits.asking(0, {tag: write_offset_ranges(ranges)})
        answer = self.client.call(asked, COMMIT_VERSION, OffsetCommitResponse)
        return told(answer.topics[0].partitions[0]).error


def core_of(batches: int = 4, **config: str) -> Core:
    named = {name.replace("_", "."): value for name, value in config.items()}
    core = Core(topics={"t": 1}, config={**ON, "log.retention.ms": "-1", **named})
    client = core.client()
    for _ in range(batches):
        fill(client, 10)
    return core


def leases_of(core: Core) -> Leases:
    found = extension_of(core.broker.services).handouts.of(Shared("g", "t", 0))
    assert found is not None
    return found


class Three:
    """CF-01: A, B and A again were dealt a batch each."""

    def __init__(self) -> None:
        self.core = core_of()
        self.a, self.b = Reader(self.core, "A"), Reader(self.core, "B")
        self.dealt = [each.fetch() for each in (self.a, self.b, self.a)]


@pytest.fixture
def three() -> Three:
    return Three()


def test_cf_01_batches_go_round(three: Three) -> None:
    assert three.dealt == [
        Dealt([(0, 9, 1)], 10, [(0, 9)]),
        Dealt([(10, 19, 1)], 20, [(10, 19)]),
        Dealt([(20, 29, 1)], 30, [(20, 29)]),
    ]
    held = leases_of(three.core).leased
    assert held[0] == Lease(0, 9, 1, Holder("A", -1), LEASE_MS)


def test_who_waits_is_told_when_a_generation_frees_leases() -> None:
    core = core_of(1)
    group = SharingGroup(core, 7, 7)
    group.sync({"t": {0: ()}}, {"t": {0: ()}})
    one, two = (Reader(core, name) for name in group.members)
    for reader in (one, two):
        reader.identity = reader.identity._replace(generation=group.generation)
    assert one.take() == [(0, 9, 1)]
    two.wait(max_wait_ms=100_000)
    leaving = LeaveGroupRequest("g", members=[MemberIdentity(group.members[0])])
    group.clients[0].call(leaving, 4, LeaveGroupResponse)
    group.members.pop(0)
    group.clients.pop(0)
    group.rejoin()
    group.sync({"t": {0: ()}})
    assert two.got().error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    two.identity = two.identity._replace(generation=group.generation)
    assert two.take() == [(0, 9, 2)]


def test_cf_02_commits_of_what_was_dealt(three: Three) -> None:
    assert three.b.commits.commit((10, 19))[2:] == (0, 1)
    assert three.a.commits.commit((0, 9))[2:] == (20, 0)
    assert [lease[:2] for lease in leases_of(three.core).leased] == [(20, 29)]


def test_cf_03_anothers_records_are_not_ones_own(three: Three) -> None:
    before = leases_of(three.core).leased
    assert three.b.commits.commit((20, 21)).error == ErrorCode.INVALID_RECORD_STATE
    assert three.b.commits.fetch().ranges == []
    assert leases_of(three.core).leased == before


def test_cf_04_what_expired_goes_to_whoever_comes(three: Three) -> None:
    three.b.commits.commit((10, 19))
    three.a.commits.commit((0, 9))
    three.core.advance(LEASE_MS)
    assert three.b.take() == [(20, 29, 2)]
    assert leases_of(three.core).deadline_ms == 2 * LEASE_MS
    assert three.a.commits.commit((20, 29)).error == ErrorCode.INVALID_RECORD_STATE
    assert three.b.commits.commit((20, 29))[2:] == (30, 0)


def test_cf_05_time_ends_leases_and_wakes_who_waits(three: Three) -> None:
    waiting = Reader(three.core, "C")
    assert waiting.take() == [(30, 39, 1)]
    waiting.wait(60_000)
    three.core.advance(LEASE_MS - 1)
    assert not waiting.client.answered
    three.core.advance(1)
    assert waiting.got().pieces == [(0, 9, 2)]


def test_cf_06_redelivery_goes_first(three: Three) -> None:
    three.core.advance(LEASE_MS)
    wide = Cooperative(25, 0)
    assert three.b.fetch(wide) == Dealt([(0, 9, 2), (10, 19, 2)], 30, [(0, 9), (10, 19)])
    assert three.b.fetch(wide).pieces == [(20, 29, 2)]
    assert three.b.fetch(wide).pieces == [(30, 39, 1)]


def test_cf_07_late_but_nobody_took_it(three: Three) -> None:
    three.core.advance(LEASE_MS)
    assert three.a.commits.commit((0, 9))[2:] == (10, 0)
    assert [piece[:2] for piece in leases_of(three.core).free] == [(10, 19), (20, 29)]


def test_cf_08_what_was_never_dealt(three: Three) -> None:
    assert three.a.commits.commit((30, 30)).error == ErrorCode.INVALID_RECORD_STATE


def test_cf_09_no_more_locks() -> None:
    core = core_of(coop_fetch_max_locks="20")
    reader = Reader(core, "A")
    assert [reader.take() for _ in range(3)] == [[(0, 9, 1)], [(10, 19, 1)], []]
    reader.commits.commit((0, 9))
    assert reader.take() == [(20, 29, 1)]


def test_cf_10_what_is_committed_is_not_dealt() -> None:
    core = core_of()
    reader = Reader(core, "A")
    # Before anybody fetches so, ranges are committed as always.
    reader.commits.commit((3, 4), (10, 19), initial=0)
    first = reader.fetch(Cooperative(8, 0))
    assert first == Dealt([(0, 2, 1), (5, 9, 1)], 10, [(0, 9)])
    assert reader.take() == [(20, 29, 1)]


def test_cf_11_who_waits_longest_is_served_first() -> None:
    core = core_of(0)
    readers = [Reader(core, name) for name in "ABC"]
    writer = core.client()
    for reader in readers:
        reader.wait()
    for turn, reader in enumerate(readers):
        fill(writer, 10)
        assert [each.client.answered for each in readers[turn:]] == [1] + [0] * (2 - turn)
        assert reader.got().pieces == [(turn * 10, turn * 10 + 9, 1)]


def test_who_was_served_stands_behind_the_others() -> None:
    core = core_of(0)
    one, two = Reader(core, "A"), Reader(core, "B")
    one.wait()
    two.wait()
    writer = core.client()
    fill(writer, 10)
    one.got()
    one.wait()
    fill(writer, 10)
    assert two.got().pieces == [(10, 19, 1)]
    assert not one.client.answered


def test_nothing_to_deal_is_told_when_the_wait_is_over() -> None:
    core = core_of(0)
    reader = Reader(core, "A")
    reader.wait(500)
    core.advance(500)
    assert reader.got() == Dealt([], 0, [])


def test_cf_12_given_back(three: Three) -> None:
    waiting = Reader(three.core, "C")
    assert waiting.take() == [(30, 39, 1)]
    waiting.wait()
    assert three.b.say(Tag.RELEASE_RANGES, (0, 4)) == ErrorCode.INVALID_RECORD_STATE
    assert three.a.say(Tag.RELEASE_RANGES, (0, 4)) == 0
    assert waiting.got() == Dealt([(0, 4, 2)], 40, [(0, 9)])
    # Nothing was committed by that.
    assert three.a.commits.fetch().stable == -1


def test_renewed(three: Three) -> None:
    three.core.advance(20_000)
    assert three.a.say(Tag.RENEW_RANGES, (0, 9)) == 0
    three.core.advance(10_000)
    assert three.b.take() == [(10, 19, 2)]
    assert three.a.commits.commit((0, 9))[2:] == (10, 0)


def test_cf_13_a_group_that_is_full_fills_its_gaps_first() -> None:
    core = core_of(individual_commit_max_ranges_per_group="1")
    one, two = Reader(core, "A"), Reader(core, "B")
    assert one.take() == [(0, 9, 1)]
    assert two.take() == [(10, 19, 1)]
    two.commits.commit((10, 19))
    assert two.take() == []
    core.advance(LEASE_MS)
    # What fills the gap is dealt, or nobody ever could.
    assert two.take() == [(0, 9, 2)]
    two.commits.commit((0, 9))
    assert two.take() == [(20, 29, 1)]


def test_a_full_group_of_which_nobody_knows_who_has_what_fills_its_gaps() -> None:
    core = core_of(individual_commit_max_ranges_per_group="1")
    reader = Reader(core, "A")
    reader.take()
    reader.take()
    reader.commits.commit((15, 17))
    extension_of(core.broker.services).handouts.clear()
    assert reader.take() == [(0, 9, 1)]
    assert reader.take() == [(10, 14, 1)]
    assert reader.take() == []
    reader.commits.commit((0, 14))
    assert reader.take() == [(18, 19, 1)]


def test_cf_14_a_new_generation_frees_all_and_keeps_the_counts() -> None:
    core = core_of()
    group = SharingGroup(core, 7, 7)
    group.sync(None, None)

    def take(at: int) -> Dealt:
        identity = Identity("g", group.members[at], group.generation, None)
        return dealt(group.clients[at].call(request(identity), 12, FetchResponse))

    assert (take(0).pieces, take(1).pieces) == ([(0, 9, 1)], [(10, 19, 1)])
    old = Identity("g", group.members[0], group.generation, None)
    group.rejoin()
    group.sync(None, None)
    refused = dealt(group.clients[0].call(request(old), 12, FetchResponse))
    assert refused.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert take(1).pieces == [(0, 9, 2)]
    assert leases_of(core).free == (Piece(10, 19, 1),)


def test_a_record_that_kills_is_given_up() -> None:
    core = core_of(1, coop_fetch_max_deliveries="2")
    reader = Reader(core, "A")
    for times in (1, 2):
        assert reader.take() == [(0, 9, times)]
        core.advance(LEASE_MS)
    assert reader.take() == []
    assert reader.commits.fetch().stable == 10
    handouts = extension_of(core.broker.services).handouts
    assert handouts.dead == [(Shared("g", "t", 0), Piece(0, 9, 2))]


def test_a_position_that_is_set_back_deals_again(three: Three) -> None:
    three.a.commits.commit((0, 9))
    outside = RangeGroup(three.core.client())
    assert outside.plain(5).error == 0
    assert three.b.take() == [(5, 9, 1)]


def test_a_position_that_is_set_on_deals_from_there(three: Three) -> None:
    assert RangeGroup(three.core.client()).plain(15).error == 0
    assert three.b.take() == [(15, 19, 1)]
    # A member's own position takes away what is below it.
    assert three.a.take() == [(20, 29, 1)]


def offsets_deleted(core: Core) -> None:
    part = OffsetDeleteRequestPartition(0)
    request = OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t", [part])])
    assert core.client().call(request, 0, OffsetDeleteResponse).error_code == 0


def position_reset(core: Core) -> None:
    assert RangeGroup(core.client()).plain(0).error == 0


def position_set_by_a_test(core: Core) -> None:
    core.act(lambda: commit_offsets(core.cluster, "g", {("t", 0): 0}))


@pytest.mark.parametrize("how", [offsets_deleted, position_reset, position_set_by_a_test])
def test_what_is_not_committed_any_more_is_dealt_again(
    three: Three, how: Callable[[Core], None]
) -> None:
    """The group's position is where it was, but nothing counts that was committed beyond."""
    three.b.commits.commit((10, 19))
    how(three.core)
    taken = [three.b.take() for _ in range(4)]
    assert taken == [[(at, at + 9, 1)] for at in (0, 10, 20, 30)]


def test_a_reader_names_itself() -> None:
    client = core_of().client()
    (part,) = parts_of(client.call(request(None), 12, FetchResponse))
    assert part.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert part.unknown_tags == {
        Tag.EXT_ERROR: tags.error(DraftError.CONSUMER_RANGE_FETCH_NOT_ACCEPTED)
    }


def test_there_is_no_session_for_it() -> None:
    core = core_of()
    reader = Reader(core, "A")
    first = request(reader.identity)
    first.session_epoch = 0
    answer = reader.client.call(first, 12, FetchResponse)
    assert (answer.session_id, dealt(answer).pieces) == (0, [(0, 9, 1)])
    later = request(reader.identity)
    later.session_id, later.session_epoch = 7, 1
    refused = reader.client.call(later, 12, FetchResponse)
    assert refused.responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST


def test_what_is_cut_is_refused() -> None:
    core = core_of()
    asked = request(Identity("g", "A", -1, None))
    assert asked.unknown_tags is not None
    asked.unknown_tags[Tag.COOPERATIVE] = b"\x00"
    answer = core.client().call(asked, 12, FetchResponse)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST


def test_its_own_lease_time() -> None:
    core = core_of()
    one, two = Reader(core, "A"), Reader(core, "B")
    assert one.fetch(Cooperative(10, 1_000)).pieces == [(0, 9, 1)]
    core.advance(1_000)
    assert two.take() == [(0, 9, 2)]
