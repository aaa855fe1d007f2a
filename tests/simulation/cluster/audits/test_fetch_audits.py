"""A fetch is answered as the logs and the metadata have it; each other answer is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mockbroker.log.unified_log import UnifiedLog
from mockbroker.replica.in_sync import Followers
from mockbroker.replica.log_reader import LogReader
from simulation.cluster.audits.fetch_audits import FetchAudits
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    import pytest

    from mockbroker.log.results import ReadResult


def told(questions: int = 400) -> list[str]:
    """What is found by so many questions while a producer writes."""
    simulated = SimulatedCluster()
    world = simulated.world
    audits = FetchAudits(world, Random(1), simulated.plan.racks)
    simulated.producer.start()
    for _ in range(questions):
        world.run_for(5)
        audits.look()
    assert audits.asked == questions
    return world.violations


def test_answers_by_the_rules_are_in_order() -> None:
    assert told() == []


def test_a_reader_that_is_sent_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Followers, "preferred_replica", lambda *_: 3)
    assert "is sent to 3, not" in told()[0]


def test_a_divergence_that_is_not_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogReader, "_divergence", lambda *_: None)
    assert "not Told(" in told()[0]


def test_bytes_beyond_the_limit_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = UnifiedLog.read

    def generous(
        self: UnifiedLog, offset: int, max_bytes: int, isolation: object, min_one: object
    ) -> ReadResult:
        del min_one
        return read(self, offset, max_bytes * 2, isolation, True)  # type: ignore[arg-type]

    monkeypatch.setattr(UnifiedLog, "read", generous)
    assert "not Told(" in told()[0]
