"""Commits of very many ranges: the same as at once, with others served between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop import sliced_commit
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.extension import extension_of
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker.state.reloading import reload_coordinators
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
from tests.mockbroker.coop.test_cooperative_fetch import Reader, leases_of
from tests.mockbroker.coop.test_handouts import allow
from tests.support.core import Core
from tests.support.range_group import COMMIT_VERSION, ON, Committed, RangeGroup, fill, told

if TYPE_CHECKING:
    from collections.abc import Sequence

OK = ErrorCode.NONE
EVERY_OTHER = [(2 * n + 1, 2 * n + 1) for n in range(50)]


class _Over:
    """A turn that is over whenever it is asked."""

    def __call__(self) -> bool:
        return True


class Case:
    """A group at 0 and another client of it; a slice has ten ranges, and a turn has one slice."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **config: str) -> None:
        monkeypatch.setattr(sliced_commit, "AT_ONCE", 10)
        named = {name.replace("_", "."): value for name, value in config.items()}
        self.core = Core(topics={"t": 1}, config={**ON, **named})
        self.group = RangeGroup(self.core.client())
        fill(self.group.client, 200)
        self.group.commit(initial=0)
        self.other = RangeGroup(self.core.client())
        self.over = _Over()
        self.core.broker.requests.turn_over = self.over

    def send(self, *ranges: tuple[int, int]) -> None:
        """Ask for a commit; nothing is done of it yet, unless it is not cut."""
        message = self.group.asking(-1, commit_fields(ranges))
        self.group.client.send(message, COMMIT_VERSION)

    def turn(self) -> None:
        """One more slice."""
        self.core.broker.go_on(self.core.now_ms, self.over)
        self.core.deliver()

    def answer(self) -> Committed:
        for _ in range(100):
            if self.group.client.answered:
                break
            self.turn()
        answer = self.group.client.receive(OffsetCommitResponse)
        return told(answer.topics[0].partitions[0])

    def held(self) -> Sequence[tuple[int, int]]:
        """The ranges as they are written."""
        part = extension_of(self.core.broker.services).commits.ranges_of("g", "t", 0, live=True)
        return [] if part is None else list(part.keys)


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Case:
    return Case(monkeypatch)


def test_others_are_served_between_the_slices(case: Case) -> None:
    case.send(*EVERY_OTHER)
    for committed in (10, 20):
        case.turn()
        assert not case.group.client.answered
        assert case.held() == EVERY_OTHER[:committed]
        assert case.other.fetch().ranges == EVERY_OTHER[:committed]
    assert case.answer() == Committed(OK, None, 0, 50)
    assert case.held() == EVERY_OTHER


@pytest.mark.parametrize("ranges", [EVERY_OTHER, EVERY_OTHER[::-1], [(n, n) for n in range(100)]])
def test_it_is_the_same_as_at_once(case: Case, ranges: list[tuple[int, int]]) -> None:
    case.send(*ranges)
    assert not case.group.client.answered
    outcome = case.answer()
    at_once = RangeGroup(Core(topics={"t": 1}, config=ON).client())
    fill(at_once.client, 200)
    at_once.commit(initial=0)
    assert outcome == at_once.commit(*ranges)
    assert case.other.fetch() == at_once.fetch()


@pytest.mark.parametrize(
    ("ranges", "error"),
    [
        ([*EVERY_OTHER, (199, 200)], ErrorCode.INVALID_REQUEST),
        ([(150, 151), *EVERY_OTHER, (0, -1)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_refused_changes_nothing(
    case: Case, ranges: list[tuple[int, int]], error: ErrorCode
) -> None:
    case.send(*ranges)
    assert case.answer().error == error
    assert case.held() == []


def test_too_many_are_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(monkeypatch, individual_commit_max_ranges_per_group="49")
    case.send(*EVERY_OTHER)
    assert case.answer()[:2] == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 92)
    assert case.held() == []


def test_what_others_pass_over_meanwhile_is_done(case: Case) -> None:
    case.send(*EVERY_OTHER)
    case.turn()
    assert case.other.commit((0, 80)) == Committed(OK, None, 81, 0)
    assert case.answer() == Committed(OK, None, 82, 9)
    assert case.held() == [each for each in EVERY_OTHER if each[0] > 82]


def test_another_coordinator_is_told_of(case: Case) -> None:
    case.send(*EVERY_OTHER)
    case.turn()
    case.core.act(lambda: reload_coordinators(case.core.cluster, GROUP_METADATA_TOPIC, [0]))
    assert case.answer().error == ErrorCode.NOT_COORDINATOR
    assert case.group.commit(*EVERY_OTHER[:10]) == Committed(OK, None, 0, 10)


def test_a_slice_that_fails_gives_back_its_own_and_no_other(case: Case) -> None:
    case.core.broker.requests.turn_over = lambda: False
    assert Reader(case.core, "A").take() == [(0, 199, 1)]
    case.core.broker.requests.turn_over = case.over
    case.group.member = "A"
    case.send(*EVERY_OTHER)
    case.turn()
    allow(case.core, INDIVIDUAL_COMMITS_TOPIC, 1)
    assert case.answer().error != OK
    assert case.held() == EVERY_OTHER[:10]
    assert [piece[:2] for piece in leases_of(case.core).free] == EVERY_OTHER[10:20]
