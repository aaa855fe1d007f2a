"""Batches are let through as they should be; who is let through otherwise is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn import verification
from mockbroker.coordinator.txn.verification import Operation
from mockbroker.node.broker import Broker
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits import verification_probes
from simulation.cluster.audits.verification_probes import VerificationProbes
from tests.support.transaction_run import transaction_run

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="module")
def broker() -> Broker:
    """One that leads partitions of which some have a transaction open."""
    run, _ = transaction_run(transactors=3, seed=3)
    run._create_topics()
    for each in run.crews:
        each.start()
    world = run.world

    def found() -> list[Broker]:
        return [
            each
            for each in world.cluster.brokers
            for partition in each.services.replicas.all_partitions()
            if partition.is_leader and partition.log is not None and partition.log.producers
            for entry in partition.log.producers.producers.values()
            if entry.current_txn_first_offset >= 0 and entry.producer_epoch > 0
        ]

    assert world.run_until(lambda: bool(found()), 5_000)
    return found()[0]


def told(broker: Broker, count: int = 600) -> list[str]:
    """What is found in so many rounds."""
    probes = VerificationProbes(Random(1))
    found = [wrong for _ in range(count) for wrong in probes.look(broker)]
    assert probes.asked == count
    return found


def test_batches_are_let_through_as_they_should_be(broker: Broker) -> None:
    assert told(broker) == []


def answers(error: ErrorCode | None) -> object:
    """A log that always says that."""
    return lambda *_: error


@pytest.mark.parametrize(
    ("module", "name", "other", "wrong"),
    [
        (verification, "_ask_log", answers(None), "the coordinator is asked 1 times"),
        (verification, "_ask_log", answers(ErrorCode.NONE), "the coordinator is asked 0 times"),
        (verification, "_append_error", lambda error, _: error, "is answered"),
        (verification, "_RETRY_BACKOFF_MAX", "request.timeout.ms", "waits until"),
        (
            verification_probes,
            "OPERATIONS",
            (Operation.ADD, Operation.VERIFY, Operation.ADD),
            "lets",
        ),
    ],
)
def test_who_is_let_through_otherwise_is_noticed(
    module: ModuleType,
    name: str,
    other: object,
    wrong: str,
    broker: Broker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, name, other)
    assert any(wrong in one for one in told(broker))
