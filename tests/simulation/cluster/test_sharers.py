"""Members read what is their own, commit it in any order, and notice what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.coop import offset_fetch
from mockbroker.coop.carried_commits import CarriedWriter
from mockbroker.coop.filtered_read import FilteredRead
from mockbroker.coop.ic_shard import CommittedRanges
from mockbroker.coop.leases import Leases
from mockbroker.coop.metadata_carrier import write_text
from mockbroker.coop.range_writer import RangeWriter
from simulation.cluster.sharers import runs_of
from tests.support.simulated_sharing import crew_of, sharing_run

pytestmark = pytest.mark.sim


def test_offsets_are_told_as_ranges() -> None:
    assert runs_of([1, 2, 4, 7, 8]) == [(1, 2), (4, 4), (7, 8)]


@pytest.mark.parametrize("by_leases", [False, True])
def test_members_get_to_the_end(monkeypatch: pytest.MonkeyPatch, by_leases: bool) -> None:
    habits = ("crash", "slow", "positions", "sessions")
    run = sharing_run(monkeypatch, protocol="alone", by_leases=by_leases, habits=habits)
    run.live()
    assert not run.world.violations
    counts = crew_of(run).counts()
    assert counts["dealt" if by_leases else "shared records"] > 20
    assert counts["shared standings"] > 20


@pytest.mark.parametrize("by_leases", [False, True])
def test_some_say_it_in_metadata(monkeypatch: pytest.MonkeyPatch, by_leases: bool) -> None:
    run = sharing_run(monkeypatch, "carriers", protocol="alone", by_leases=by_leases)
    notes: list[str] = []
    monkeypatch.setattr(run.world.trace, "note", lambda _time, _who, what: notes.append(what))
    run.live()
    assert not run.world.violations
    assert sum(what.endswith("in text") for what in notes) > 3


def test_a_field_for_who_cannot_read_it_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CarriedWriter, "amend", RangeWriter.amend)
    run = sharing_run(monkeypatch, "carriers", protocol="alone")
    run.live()
    assert any("who cannot read it" in text for text in run.world.violations)


def test_a_text_that_tells_too_little_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        offset_fetch, "write_text", lambda ranges, room: write_text(ranges[1:], room)
    )
    run = sharing_run(monkeypatch, "carriers", protocol="alone")
    run.live()
    assert any("does not count" in text for text in run.world.violations)


def test_a_record_that_a_filter_swallows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = FilteredRead._kept

    def swallow(*given: Any) -> Any:
        return kept(*given)._replace(pieces=[], records=0, size_bytes=0)

    monkeypatch.setattr(FilteredRead, "_kept", swallow)
    run = sharing_run(monkeypatch, protocol="alone")
    run.live()
    assert any(" is given " in text for text in run.world.violations)


def test_ranges_that_are_forgotten_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = CommittedRanges.beyond
    monkeypatch.setattr(CommittedRanges, "beyond", lambda self, at: beyond(self, at)[1:])
    run = sharing_run(monkeypatch, protocol="alone")
    run.live()
    assert any("was committed" in text for text in run.world.violations)


def test_what_is_dealt_to_two_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def early(self: Leases, now_ms: float) -> int:
        return self._end(lambda lease: lease.deadline_ms <= now_ms + 140, counted=True)

    monkeypatch.setattr(Leases, "expire", early)
    run = sharing_run(monkeypatch, protocol="alone", by_leases=True, habits=("slow",))
    run.live()
    assert any(" is dealt " in text for text in run.world.violations)
