"""Transactions by the rules are in order; each broken rule is noticed."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.markers import TransactionMarkers
from mockbroker.coordinator.txn.service import TransactionCoordinatorService
from mockbroker.coordinator.txn.timeouts import Timeouts
from simulation.cluster import transaction_audits
from simulation.cluster.transactors import Transactor
from tests.support.transaction_run import transaction_run


def told(*, silent: bool = False) -> list[str]:
    """What a run's audits find; `silent`: its producer leaves transactions open."""
    run, crew = transaction_run(transactors=2, processors=1, seed=3)
    for each in crew.clients:
        if isinstance(each, Transactor):
            each.pause_ms = 5_000.0 if silent else 5.0
    run.plan.active_ms = 4_000.0
    try:
        run.live()
    except AssertionError:
        assert run.world.violations
    return run.world.violations


def test_transactions_by_the_rules_are_in_order() -> None:
    assert told() == []


@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (TransactionMarkers, "send", "and nobody ends it"),
        (Timeouts, "watch", "nobody looks whether it is overdue"),
    ],
)
def test_a_broken_rule_is_noticed(
    where: object, name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, lambda *_: None)
    assert any(wrong in one for one in told())


def test_one_that_is_overdue_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_audits, "OVERDUE_MS", 300)
    monkeypatch.setattr(TransactionCoordinatorService, "_fence", lambda *_: None)
    assert any("is overdue since" in one for one in told(silent=True))
