"""Decisions by the ACLs are in order; each other one is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.metadata.acls import Acl, Permission
from mockbroker.security import authorizer
from mockbroker.security.authorizer import StandardAuthorizer
from simulation.cluster.audits.acl_decisions import wrong_decisions
from tests.support.simulated_cluster import SimulatedCluster


def found(*kinds: str) -> list[str]:
    """What many looks find at a broker."""
    (broker, *_) = SimulatedCluster(*kinds).world.cluster.brokers
    rng = Random(1)
    return [wrong for _ in range(60) for wrong in wrong_decisions(broker, rng)]


@pytest.mark.parametrize("kind", ["acls", "admin", "topics"])
def test_decisions_by_the_rules_are_in_order(kind: str) -> None:
    assert found(kind) == []


def test_a_denial_that_loses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = StandardAuthorizer._decide

    def kind(self: StandardAuthorizer, *question: object) -> bool:
        return bool(self._metadata.acls) or decide(self, *question)  # type: ignore[arg-type]

    monkeypatch.setattr(StandardAuthorizer, "_decide", kind)
    assert "User:ann may do" in found("acls")[0]


def test_a_denial_that_implies_others_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    is_of = authorizer._is_of

    def implies(acl: Acl, operation: int) -> bool:
        return is_of(acl._replace(permission=Permission.ALLOW), operation)

    monkeypatch.setattr(authorizer, "_is_of", implies)
    assert "User:ann may not do" in found("acls")[0]


def test_decisions_that_outlive_the_acls_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandardAuthorizer, "_on_change", lambda *_: None)
    assert found("acls")
