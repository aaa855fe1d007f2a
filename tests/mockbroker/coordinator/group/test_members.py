"""One member of a group."""

from __future__ import annotations

import pytest

from mockbroker.clock import Timer
from mockbroker.coordinator.group.members import ClassicMember


def member(instance: str | None = None) -> ClassicMember:
    protocols = [("range", b"r"), ("sticky", b"s")]
    return ClassicMember("m", instance, "c", "/127.0.0.1", 60_000, 10_000, protocols, b"a")


def test_it_votes_for_the_first_candidate_of_its_list() -> None:
    assert member().vote(["sticky", "range"]) == "range"
    assert member().vote(["sticky"]) == "sticky"
    with pytest.raises(AssertionError):
        member().vote(["other"])


def test_its_metadata_is_per_protocol() -> None:
    assert member().metadata("sticky") == b"s"
    with pytest.raises(AssertionError):
        member().metadata("other")


def test_a_new_member_is_not_excused_by_what_is_parked_for_it() -> None:
    one = member()
    waiting = [one.is_waiting]
    one.parked_join = lambda _response: None
    waiting.append(one.is_waiting)
    one.is_new = True
    waiting.append(one.is_waiting)
    assert waiting == [False, True, False]


def test_its_successor_has_its_place_and_nothing_parked() -> None:
    old = member("i")
    old.parked_sync = lambda _response: None
    new = old.replaced_by("n")
    assert (new.member_id, new.group_instance_id, new.assignment) == ("n", "i", b"a")
    assert new.is_static
    assert not new.is_waiting


def test_a_cancelled_session_is_gone() -> None:
    one, timer = member(), Timer()
    one.session_task = timer.schedule(1, lambda: None)
    one.cancel_session()
    one.cancel_session()
    assert len(timer) == 0
