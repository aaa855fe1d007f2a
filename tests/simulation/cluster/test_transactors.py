"""Transactional producers commit, abort, are succeeded, and hear that they are fenced."""

from __future__ import annotations

import pytest

from simulation.cluster.transactors import Transactor
from tests.support.transaction_run import transaction_run

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("bumps_epochs", [False, True])
def test_both_generations_commit_and_abort(bumps_epochs: bool) -> None:
    run, crew = transaction_run()
    (transactor,) = (each for each in crew.clients if isinstance(each, Transactor))
    transactor.bumps_epochs, transactor.abort_chance = bumps_epochs, 0.5
    transactor.produce_version, transactor.end_version = (12, 5) if bumps_epochs else (11, 4)
    transactor.pause_ms = 10.0
    run.live()
    assert run.world.violations == []
    assert transactor.commits > 1
    assert transactor.aborts > 1
    assert (transactor.epoch > transactor.commits) is bumps_epochs


def test_a_successor_fences_who_was_before() -> None:
    run, crew = transaction_run(transactors=3, succession_chance=0.2)
    run.live()
    assert run.world.violations == []
    actors = [each for each in crew.clients if isinstance(each, Transactor)]
    assert len(actors) > 3
    assert sorted(each.lineage.transactional_id for each in actors if each.is_latest) == [
        "txn0",
        "txn1",
        "txn2",
    ]
    assert any(each.fenced for life in crew.ledger.lineages.values() for each in life.transactions)


def test_no_transactional_id_goes_back_to_the_first_generation() -> None:
    run, crew = transaction_run(transactors=3, succession_chance=0.3)
    run.live()
    generations: dict[str, list[bool]] = {}
    for each in crew.clients:
        if isinstance(each, Transactor):
            key = each.lineage.transactional_id
            generations.setdefault(key, []).append(each.bumps_epochs)
    assert any(len(each) > 1 for each in generations.values())
    assert all(each == sorted(each) for each in generations.values())


def test_a_coordinator_that_was_replaced_proves_nothing() -> None:
    run, crew = transaction_run()
    (transactor,) = (each for each in crew.clients if isinstance(each, Transactor))
    transactor.transaction = crew.ledger.begin(transactor.lineage, transactor.name)
    transactor._failed("commit", 48, replaced=True)
    assert run.world.violations == []
    transactor.transaction = crew.ledger.begin(transactor.lineage, transactor.name)
    transactor._failed("commit", 48, replaced=False)
    assert "commit answers 48" in run.world.violations[0]


def test_a_broker_asks_the_coordinator_that_it_has_heard_of() -> None:
    run, crew = transaction_run()
    run.live()
    (transactor,) = (each for each in crew.clients if isinstance(each, Transactor))
    part = transactor._coordinated_by
    truth = run.truth.find(*part)
    assert truth is not None
    epoch, before = truth.state.leader_epoch, truth.state.leader
    after, other = (node for node in run.world.nodes if node != before)
    for node in (before, after, other):
        assert transactor._coordinated_in(node, itself=False) == epoch
        assert transactor._coordinated_in(node, itself=True) == (epoch if node == before else -1)
    run.world.operate(lambda: run.world.controls.isolate(before))
    run.world.operate(lambda: run.world.controls.move_leader(*part, after))
    assert transactor._coordinated_in(before, itself=False) == -1
    assert transactor._coordinated_in(other, itself=False) == epoch + 1


def test_who_is_fenced_without_a_reason_tells() -> None:
    run, crew = transaction_run()
    (transactor,) = (each for each in crew.clients if isinstance(each, Transactor))
    transactor.transaction = crew.ledger.begin(transactor.lineage, transactor.name)
    transactor.lose("commit", 90)
    assert "txn0.1: commit answers 90, and nobody has fenced it" in run.world.violations[0]
