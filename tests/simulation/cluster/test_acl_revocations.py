"""A rule takes from a principal what it must, and what it takes or leaves wrongly is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.node.request_client import RequestClient
from simulation.cluster.acl_checkers import AclChecker
from simulation.cluster.acl_revocations import revoke
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.sim


def told() -> tuple[list[str], int]:
    """What is found when rules are met between changes of ACLs, and how many ACLs were lost."""
    simulated = SimulatedCluster("acls")
    world = simulated.world
    checker = AclChecker(world, "acl-checker", Random(5), simulated.truth, simulated.plan)
    checker.start()
    lost = 0
    for _ in range(120):
        world.run_for(40)
        before = len(world.cluster.metadata.acls)
        revoke(checker, world.cluster.brokers[0])
        lost += before - len(world.cluster.metadata.acls)
    return world.violations, lost


def test_who_meets_a_rule_loses_what_it_says() -> None:
    violations, lost = told()
    assert violations == []
    assert lost > 2


def takes_all(self: RequestClient, *_: object) -> Sequence[object]:
    return [*self._services.metadata.acls]


@pytest.mark.parametrize(
    ("name", "spoilt"),
    [("acls_to_lose", takes_all), ("acls_to_lose", lambda *_: ()), ("lose", lambda *_: False)],
)
def test_what_is_lost_wrongly_is_noticed(
    name: str, spoilt: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestClient, name, spoilt)
    assert any("User:" in one and "not" in one for one in told()[0])
