"""The crew of transactions lives with the others, and says what is not at its end."""

from __future__ import annotations

import pytest

from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.transactions import TransactionCrew
from simulation.cluster.transactors import Transactor
from tests.support.transaction_run import transaction_run

pytestmark = pytest.mark.sim


def test_a_transaction_that_its_producer_has_left_is_ended_by_a_time_out() -> None:
    run, crew = transaction_run(transactors=3)
    actors = [each for each in crew.clients if isinstance(each, Transactor)]
    for each in actors:
        each.leaves, each.timeout_ms, each.pause_ms = True, 1_500, 300.0
    crew.start()
    run._create_topics()
    run.world.run_for(700)
    crew.stop()
    assert crew.behind().startswith("broker ")
    assert run.world.run_until(lambda: not crew.behind(), 5_000)
    assert run.world.now_ms > 1_500


def test_a_plan_without_transactions_has_none_of_it() -> None:
    seed = next(seed for seed in range(100) if not plan_of(seed).on["transactions"])
    run = ClusterRun(seed)
    (crew,) = (crew for crew in run.crews if isinstance(crew, TransactionCrew))
    assert crew.clients == []
    crew.check()


def test_a_reader_that_lags_is_told() -> None:
    run, crew = transaction_run()
    run.live()
    assert crew.behind() == ""
    crew.readers[0].positions["t0", 0] -= 1
    assert crew.behind() == "reader0 with t0-0"
