"""ACL checkers find nothing in brokers that keep to them, and notice what is decided wrongly."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.apis.auth_helper import AuthHelper
from mockbroker.metadata.acl_index import AclIndex
from mockbroker.metadata.acls import AclFilter
from mockbroker.security import authorizer
from mockbroker.security.authorizer import StandardAuthorizer
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from simulation.clients import frame_of
from simulation.cluster import acl_checkers
from simulation.cluster.acl_checkers import AclChecker, AclCheckerCrew
from simulation.cluster.simulation import ClusterRun, plan_of
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sim


def at_work() -> tuple[SimulatedCluster, AclChecker]:
    simulated = SimulatedCluster("acls")
    checker = AclChecker(simulated.world, "acl-checker", Random(5), simulated.truth, simulated.plan)
    checker.start()
    return simulated, checker


def test_brokers_keep_to_their_acls() -> None:
    simulated, checker = at_work()
    simulated.world.run_for(5_000)
    assert not simulated.world.violations
    assert checker.checks > 40
    assert checker.changes > 40


def forget_prefixes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AclIndex, "_count_prefix", lambda *_: None)


def imply_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(authorizer, "_IMPLIED_BY", {})


def remember_too_long(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StandardAuthorizer, "_on_change", lambda *_: None)


def find_nothing_to_write(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StandardAuthorizer, "allows_some", lambda *_: False)


def take_all_that_is_near(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AclFilter, "matches", lambda *_: True)


def show_every_topic(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AuthHelper, "show_topics", lambda _: None)


@pytest.mark.parametrize("shows_all", [False, True])
def test_expressions_leave_out_what_may_not_be_described(
    monkeypatch: pytest.MonkeyPatch, shows_all: bool
) -> None:
    monkeypatch.setattr(acl_checkers, "QUESTIONS", (acl_checkers.expressions,))
    if shows_all:
        show_every_topic(monkeypatch)
    simulated, checker = at_work()
    world = simulated.world
    world.exchange(frame_of(FindCoordinatorRequest("any", 0), 3, 1, "probe"))
    noticed = world.run_until(lambda: bool(world.violations), 60_000 if shows_all else 10_000)
    assert checker.expressions > 3
    assert noticed is shows_all


@pytest.mark.parametrize(
    "mutate",
    [
        forget_prefixes,
        imply_nothing,
        remember_too_long,
        find_nothing_to_write,
        take_all_that_is_near,
    ],
)
def test_what_is_decided_wrongly_is_noticed(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    simulated, _ = at_work()
    violations = simulated.world.violations
    assert simulated.world.run_until(lambda: bool(violations), 20_000)


def test_a_seed_has_one_where_nobody_else_changes_acls() -> None:
    plan = plan_of(3)
    plan.on.update(acls=True, admin=False, strangers=False)
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, AclCheckerCrew))
    assert len(crew.clients) == 1
    assert crew.counts() == {
        "ACLs changed": 0,
        "held to ACLs": 0,
        "sessions held to ACLs": 0,
        "expressions held to ACLs": 0,
    }
    plans = [plan_of(seed) for seed in range(100)]
    assert any(each.on["acls"] for each in plans)
    assert not any(each.on["acls"] and each.on["admin"] for each in plans)
