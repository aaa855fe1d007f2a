"""Members find their coordinator, and misbehave as their plan says and no more."""

from __future__ import annotations

import pytest

from simulation.cluster.coordinated_members import CoordinatedMember
from tests.support.simulated_sharing import crew_of, sharing_run

pytestmark = pytest.mark.sim

HABITS = {"crash": "crashes", "slow": "is slow"}


@pytest.mark.parametrize("habit", HABITS)
def test_members_have_the_habits_of_their_plan(monkeypatch: pytest.MonkeyPatch, habit: str) -> None:
    said: list[str] = []
    monkeypatch.setattr(CoordinatedMember, "note", lambda _, text: said.append(text))
    run = sharing_run(monkeypatch, protocol="alone", habits=(habit,))
    run.live()
    assert not run.world.violations
    assert {text for text in HABITS.values() if text in said} == {HABITS[habit]}


def test_members_find_their_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sharing_run(monkeypatch, protocol="alone")
    run.live()
    members = [each for each in crew_of(run).clients if isinstance(each, CoordinatedMember)]
    assert members
    assert {each.coordinator for each in members} <= {None, *run.world.nodes}
    assert any(each.coordinator is not None for each in members)
