"""Nobody waits at a broker for what is there; who does is noticed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from mockbroker.metadata.topic_requests import TopicReference
from mockbroker.replica import delayed_fetch
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.delayed_fetch import COMPLETE
from mockbroker.replica.partition import PartitionHost
from simulation.parked import needless_waits, superseded
from simulation.runner import carry_out
from simulation.simulation import Run
from tests.support.simulated import Simulated
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable


def found(simulated: Simulated) -> list[str]:
    """What is found after each step while a producer writes and a consumer waits."""
    told: list[str] = []
    broker = simulated.world.broker
    simulated.world.on_step.append(lambda: told.extend(needless_waits(broker)))
    simulated.produce_for(100)
    return told


@pytest.mark.parametrize("sessionless", [True, False])
def test_what_an_append_wakes_is_no_needless_wait(*, sessionless: bool) -> None:
    simulated = Simulated()
    simulated.consumer(sessionless=sessionless).start()
    assert found(simulated) == []


@pytest.mark.parametrize("sessionless", [True, False])
def test_who_is_not_woken_is_noticed(monkeypatch: pytest.MonkeyPatch, *, sessionless: bool) -> None:
    monkeypatch.setattr(PartitionHost, "mark_ready", lambda *_: None)
    simulated = Simulated()
    simulated.consumer(sessionless=sessionless).start()
    assert "of 1 bytes are there" in found(simulated)[0]


def sleeping(monkeypatch: pytest.MonkeyPatch, until: Callable[[int], bool]) -> None:
    """Fetches that wait take some reasons to end for none."""
    weigh = delayed_fetch.bytes_available

    def weighed(*asked: object) -> int:
        available = weigh(*asked)  # type: ignore[arg-type]
        return 0 if until(available) else available

    monkeypatch.setattr("mockbroker.replica.log_reader.bytes_available", weighed)


def test_a_fetch_of_a_deleted_partition_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping(monkeypatch, lambda available: available == COMPLETE)
    simulated = Simulated()
    simulated.consumer(max_wait_ms=500).start()
    world = simulated.world
    world.run_for(50)
    world.operate(lambda: world.cluster.controller.delete_topics([TopicReference("t1")]))
    assert next(needless_waits(world.broker)).endswith("t1-0 is gone")


def test_a_reader_that_knows_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping(monkeypatch, lambda _: True)
    simulated = Simulated()
    style = {"sends_high_watermarks": True, "min_bytes": 100_000, "max_wait_ms": 10_000}
    simulated.consumer(18, **style).start()
    assert "which is what its reader knows" in found(simulated)[0]


def test_a_produce_that_is_done_and_waits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    simulated.producer.start()
    simulated.world.run_for(200)
    brokers = simulated.world.cluster.brokers
    assert not [one for broker in brokers for one in needless_waits(broker)]
    monkeypatch.setattr(AppendEntry, "is_done", lambda _: False)
    told: list[str] = []
    simulated.world.on_step.append(
        lambda: told.extend(one for broker in brokers for one in needless_waits(broker))
    )
    simulated.world.run_for(500)
    assert "DelayedEntries" in told[0]
    assert told[0].endswith("all of it is done")


def test_a_fetch_in_slices_that_was_superseded_is_known() -> None:
    seen: list[object] = []
    run = Run(739)
    run.world.on_step.append(
        lambda: seen.extend(
            superseded(operation)
            for operations in run.world.broker.services.replicas.fetch_purgatory._watchers.values()
            for operation in operations
            if isinstance(operation._answer, partial)  # type: ignore[attr-defined]
        )
    )
    assert not carry_out(run).failed
    assert any(seen)
