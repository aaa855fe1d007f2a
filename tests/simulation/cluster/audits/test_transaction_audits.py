"""Transactions by the rules are in order; each broken rule is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn.markers import TransactionMarkers
from mockbroker.coordinator.txn.service import TransactionCoordinatorService
from mockbroker.coordinator.txn.shard import TransactionShard
from mockbroker.coordinator.txn.timeouts import Timeouts
from simulation.cluster.audits import transaction_audits
from simulation.cluster.audits.transaction_audits import TransactionAudits
from simulation.cluster.transactors import Transactor
from tests.support.transaction_run import transaction_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.txn.metadata import TransactionMetadata


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


def test_a_completion_that_is_given_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionMarkers, "_write_completion", lambda *_: None)
    assert any("its last record is not written again" in one for one in told())


def test_one_that_is_overdue_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_audits, "OVERDUE_MS", 300)
    monkeypatch.setattr(TransactionCoordinatorService, "_fence", lambda *_: None)
    assert any("is overdue since" in one for one in told(silent=True))


def states_told(change: Callable[[TransactionMetadata], None] | None = None) -> list[str]:
    """What the states of a run at rest are held to be, `change` of one of them made before."""
    run, _ = transaction_run(transactors=2, seed=3)
    run.live()
    found: list[str] = []
    for broker in run.world.cluster.brokers:
        transactions = broker.services.transactions
        for shard in transactions.service.runtime.shards() if transactions.in_use else ():
            for known in [*shard.transactions.values()]:
                if change is not None:
                    change(known)
            if change is forget:
                shard.transactions.clear()
        audits = TransactionAudits(run.world.cluster.metadata)
        found += [*audits.wrong_states(broker, Random(1))]
    return found


def forget(_known: TransactionMetadata) -> None:
    """It goes with all others."""


def test_states_are_those_of_the_log() -> None:
    assert states_told() == []


def test_states_of_no_record_are_noticed() -> None:
    assert (
        "there is no replicated record" in states_told(lambda one: setattr(one, "start_ms", 7))[0]
    )
    assert "is forgotten" in states_told(forget)[0]
    of_none = states_told(lambda one: setattr(one, "producer_epoch", -1))
    assert "none of its records is under way" in of_none[0]


def test_who_goes_on_before_what_was_loaded_is_replicated_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, _ = transaction_run(transactors=2, processors=1, seed=3)
    run._create_topics()
    for each in run.crews:
        each.start()
    audits, world = TransactionAudits(run.world.cluster.metadata), run.world

    def told_now() -> list[str]:
        return [one for each in world.cluster.brokers for one in audits.look(each, world.now_ms)]

    def is_pending() -> bool:
        return any(
            known.pending_state is not None
            for broker in world.cluster.brokers
            if broker.services.transactions.in_use
            for shard in broker.services.transactions.service.runtime.shards()
            for known in shard.transactions.values()
        )

    assert world.run_until(is_pending, 2_000)
    assert told_now() == []
    monkeypatch.setattr(TransactionShard, "is_settled", property(lambda _: False))
    assert any("goes on before what was loaded" in one for one in told_now())
