"""A late answer about markers changes nothing; one that does is noticed."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn.markers import TransactionMarkers, _PendingCompletion
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from simulation.cluster.audits.crew import AuditCrew
from simulation.cluster.transactors import Transactor
from tests.support.transaction_run import transaction_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.coordinator.txn.metadata import TopicPartition
    from mockbroker_protocol.errors import ErrorCode

pytestmark = pytest.mark.sim


def told(*, refused: bool = False) -> tuple[list[str], int]:
    """What a run finds whose coordinators lose their partitions and have them again.

    `refused`: leaders do not write markers at first.
    """
    run, crew = transaction_run(transactors=3, processors=0, seed=3)
    for each in crew.clients:
        if isinstance(each, Transactor):
            each.pause_ms = 5.0
    world, nodes = run.world, run.world.nodes

    def move(to: int) -> None:
        if TRANSACTION_STATE_TOPIC in world.cluster.metadata.topics:
            world.operate(lambda: world.controls.move_leader(TRANSACTION_STATE_TOPIC, 0, to))

    def slow(delay_ms: float) -> None:
        for node in nodes:
            for other in nodes:
                if node != other:
                    world.operate(partial(world.controls.slow_link, node, other, delay_ms))

    for turn in range(12):
        at_ms = 300.0 + 150.0 * turn
        world.at(at_ms - 30, lambda: slow(40.0))
        world.at(at_ms, partial(move, nodes[turn % len(nodes)]))
        world.at(at_ms + 30, lambda: slow(0.0))
    run.plan.active_ms = 2_500.0
    (audits,) = (each for each in run.crews if isinstance(each, AuditCrew))
    if refused:
        audits.late_markers._rng = Random(1)
    try:
        run.live()
    except AssertionError:
        assert world.violations
    return world.violations, audits.late_markers.told


def test_leaders_that_refuse_at_first_are_asked_again() -> None:
    assert told(refused=True)[0] == []


def test_late_answers_change_nothing() -> None:
    violations, count = told()
    assert violations == []
    assert count


def test_one_that_is_believed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = TransactionMarkers._answered

    def believes(
        self: TransactionMarkers,
        pending: _PendingCompletion,
        errors: dict[TopicPartition, ErrorCode],
    ) -> None:
        if self._is_current(pending):
            answered(self, pending, errors)
            return
        for partition in errors:
            pending.metadata.remove_partition(partition)
        self._write_completion(pending)

    monkeypatch.setattr(TransactionMarkers, "_answered", believes)
    assert any("a late answer about markers" in one for one in told()[0])


def test_a_retry_of_what_was_given_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_on(
        self: TransactionMarkers,
        time_ms: float,
        pending: _PendingCompletion,
        partitions: Sequence[TopicPartition],
    ) -> None:
        self._timer.schedule(time_ms, lambda: self._send(pending, partitions))

    monkeypatch.setattr(TransactionMarkers, "_send_at", goes_on)
    assert any("were given up" in one for one in told(refused=True)[0])
