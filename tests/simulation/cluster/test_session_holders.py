"""Sessions last as long as they were told to; a broker that errs is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.security.authenticator import Authenticator
from simulation.cluster.session_holders import SessionHolder
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from simulation.cluster.world import ClusterWorld

pytestmark = pytest.mark.sim


def held() -> tuple[ClusterWorld, SessionHolder]:
    simulated = SimulatedCluster("logins")
    world = simulated.world
    holder = SessionHolder(world, "holder", Random(1), simulated.truth, simulated.plan)
    holder.start()
    world.run_for(8_000)
    return world, holder


def test_sessions_by_the_rules_are_in_order() -> None:
    world, holder = held()
    assert not world.violations
    assert holder.served > 50
    assert holder.renewed


def test_one_that_never_ends_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Authenticator, "is_expired", lambda *_: False)
    assert any("and it is served" in one for one in held()[0].violations)


def test_one_that_ends_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Authenticator, "is_expired", lambda *_: True)
    assert any("its session ended before" in one for one in held()[0].violations)
