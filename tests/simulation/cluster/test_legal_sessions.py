"""Fetch sessions say under ACLs what a full fetch says, and a lawyer notices when they do not."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch.sessions import FetchSessions
from mockbroker.security.authorizer import StandardAuthorizer
from simulation.cluster.lawyers import Lawyer
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sim


def at_work() -> tuple[SimulatedCluster, Lawyer]:
    simulated = SimulatedCluster("acls")
    lawyer = Lawyer(simulated.world, "lawyer", Random(5), simulated.truth, simulated.plan)
    lawyer.start()
    return simulated, lawyer


def test_sessions_say_what_a_full_fetch_says() -> None:
    simulated, lawyer = at_work()
    simulated.world.run_for(5_000)
    assert not simulated.world.violations
    assert lawyer.polls > 40
    assert lawyer.changes > 20


def keep_what_is_denied(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FetchSessions, "with_other_rights", lambda *_: ())


def hear_of_no_change(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StandardAuthorizer, "changed_since", lambda *_: [])


@pytest.mark.parametrize("mutate", [keep_what_is_denied, hear_of_no_change])
def test_what_sessions_do_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch, mutate: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mutate(monkeypatch)
    simulated, _ = at_work()
    for _ in range(60):
        simulated.world.run_for(500)
        if simulated.world.violations:
            return
    raise AssertionError("nothing was noticed")
