"""Fetch sessions say under ACLs what a full fetch says, and who checks notices when they do not."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch.sessions import FetchSessions
from mockbroker.security.authorizer import StandardAuthorizer
from simulation.cluster.acl_checkers import AclChecker
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sim


def at_work() -> tuple[SimulatedCluster, AclChecker]:
    simulated = SimulatedCluster("acls")
    checker = AclChecker(simulated.world, "acl-checker", Random(5), simulated.truth, simulated.plan)
    checker.start()
    return simulated, checker


def test_sessions_say_what_a_full_fetch_says() -> None:
    simulated, checker = at_work()
    simulated.world.run_for(7_000)
    assert not simulated.world.violations
    assert checker.polls > 40
    assert checker.changes > 20


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
