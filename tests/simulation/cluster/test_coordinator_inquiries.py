"""What brokers tell of transactions, producers and groups is held against their coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.apis import describe_producers, find_coordinator
from mockbroker.coop.extension import Cooperation
from mockbroker.coordinator.group.shared import Lease, Sharing
from mockbroker.coordinator.txn.service import TransactionCoordinatorService
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import ListTransactionsResponse
from simulation.cluster import coordinator_inquiries as inquiries
from simulation.cluster.inquirers import InquiryCrew
from simulation.cluster.simulation import ClusterRun, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.cluster.inquirers import Inquirer
    from simulation.cluster.metadata_inquiries import Asker

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def run() -> ClusterRun:
    """One with transactions and groups of both kinds, which has lived."""
    seed = 0
    while plan_of(seed).may_lose or not plan_of(seed).on["transactions"]:
        seed += 1
    plan = plan_of(seed)
    on = ("transactions", "consumer_group", "classic_group", "inquiries")
    plan.on = {kind: kind in on for kind in plan.on}
    plan.transactors, plan.processors, plan.active_ms = 2, 1, 1_000.0
    run = ClusterRun(seed, plan)
    run.live()
    assert not run.world.violations
    return run


def inquirer_of(run: ClusterRun) -> Inquirer:
    (crew,) = (crew for crew in run.crews if isinstance(crew, InquiryCrew))
    (inquirer,) = crew.inquirers
    del run.world.violations[:]
    return inquirer


def asked(inquirer: Inquirer, question: Callable[[Asker], None]) -> list[str]:
    """What is wrong when each broker is asked again and again."""
    for _ in range(20):
        for node, broker in enumerate(inquirer.world.cluster.brokers, 1):
            inquirer.node, inquirer.broker = node, broker
            question(inquirer)
    return inquirer.world.violations


@pytest.mark.parametrize("question", inquiries.COORDINATOR_INQUIRIES)
def test_a_good_broker_has_nothing_wrong(
    run: ClusterRun, question: Callable[[Asker], None]
) -> None:
    assert not asked(inquirer_of(run), question)


def test_transactions_that_are_not_told_are_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = ListTransactionsResponse(), iter(())
    monkeypatch.setattr(TransactionCoordinatorService, "list_transactions", lambda *_: nothing)
    told = asked(inquirer_of(run), inquiries.list_transactions)
    assert any("transactions is set(), not {(" in each for each in told)


def test_producers_and_coordinators_that_are_not_told_are_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe_producers, "_producers", lambda _: [])
    assert "producers is set(), not" in asked(inquirer_of(run), inquiries.describe_producers)[0]
    nowhere = ErrorCode.COORDINATOR_NOT_AVAILABLE, (-1, "", -1)
    monkeypatch.setattr(find_coordinator, "_find", lambda *_: nowhere)
    assert "coordinators is" in asked(inquirer_of(run), inquiries.find_coordinators)[0]


def test_what_is_shared_is_told_and_what_is_told_otherwise_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = plan_of(3)
    plan.on = {kind: kind in ("coop", "inquiries") for kind in plan.on}
    plan.unclean, plan.active_ms = False, 1_000.0
    run = ClusterRun(3, plan)
    run.live()
    assert not run.world.violations
    inquirer = inquirer_of(run)
    assert not asked(inquirer, inquiries.shared_partitions)
    leases = [Lease(6, 9, "a", 1, 0.0), Lease(9, 9, "b", 1, 0.0)]
    one = Sharing(3, [(2, 5)], [], {}, None, leases, [], [])
    parts = [("s0", 0), ("s0", 9), ("a9", 0)]
    told = lambda *_: iter([(part, one) for part in parts])  # noqa: E731
    monkeypatch.setattr(Cooperation, "told", told)
    wrong = " ".join(asked(inquirer, inquiries.shared_partitions))
    assert "[(2, 5)] beyond 3 in order is False" in wrong
    assert "[(6, 9), (9, 9)] apart is False" in wrong
