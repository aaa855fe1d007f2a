"""A group becomes stable though its members join twice, and each of them is answered."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.coordinator.group import join
from mockbroker.coordinator.group.join import JoinHandler
from simulation.cluster import hasty_joins
from simulation.cluster.audits.departures import Departures
from simulation.cluster.classic_members import ClassicMember
from simulation.cluster.hasty_joins import HastyJoins
from tests.support.simulated_groups import SimulatedGroup

pytestmark = pytest.mark.sim


def told(monkeypatch: pytest.MonkeyPatch, *, static: bool) -> list[str]:
    monkeypatch.setattr(hasty_joins, "CHANCE", 0.9)
    group = SimulatedGroup("eager", 3, crash=static, leave=True)
    hasty = HastyJoins(group.book, Random(1))
    for number in range(3):
        member = group.member(number)
        assert isinstance(member, ClassicMember)
        member._hasty = hasty
        if static and number:
            member.instance_id, member.version = f"i-{number}", 9
    departures, found = Departures(group.world), list[str]()
    for _ in range(300):
        group.world.run_for(10)
        for broker in group.world.cluster.brokers:
            found += departures.look(broker)
    group.group.calm_down()
    group.world.run_for(400)  # by then all is replicated again
    if not found:
        group.settle()
    return found + group.world.violations


@pytest.mark.parametrize("static", [False, True])
def test_each_join_is_answered(monkeypatch: pytest.MonkeyPatch, static: bool) -> None:
    assert told(monkeypatch, static=static) == []


def test_a_join_that_is_forgotten_for_another_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rejoin = JoinHandler._rejoin

    def forgets(self: JoinHandler, asked: join.Join, member: object) -> None:
        member.parked_join = member.parked_join and (lambda _: None)  # type: ignore[attr-defined]
        rejoin(self, asked, member)  # type: ignore[arg-type]

    monkeypatch.setattr(JoinHandler, "_rejoin", forgets)
    assert any("JOIN_GROUP wait" in one for one in told(monkeypatch, static=False))


def test_a_static_member_that_was_is_answered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "answer_parked", lambda *_: None)
    assert any("JOIN_GROUP wait" in one for one in told(monkeypatch, static=True))
