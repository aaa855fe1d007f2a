"""Answers that come late, early or for nothing are noticed."""

from __future__ import annotations

import pytest

from mockbroker.purgatory.purgatory import DelayedOperation, Purgatory
from mockbroker.replica import delayed_fetch
from mockbroker.replica.delayed_entries import DelayedEntries
from mockbroker.replica.partition import PartitionHost
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.group_membership import JoinGroupRequest, JoinGroupResponse
from simulation.cluster.audits.waits import Wait, Waits
from tests.support.simulated_cluster import SimulatedCluster


def watched(acks: int = -1, *, writes: bool = True) -> tuple[SimulatedCluster, Waits]:
    simulated = SimulatedCluster()
    waits = Waits(simulated.world, simulated.truth)
    simulated.world.on_answer.append(waits.judge)
    simulated.producer.acks, simulated.producer.idempotent = acks, False
    if writes:
        simulated.producer.start()
    simulated.consumer.start()
    return simulated, waits


def told(simulated: SimulatedCluster, ms: float = 3_000) -> str:
    world = simulated.world
    world.run_until(lambda: bool(world.violations), ms)
    return world.violations[0] if world.violations else ""


@pytest.mark.parametrize("acks", [-1, 1])
def test_nobody_waits_for_nothing(acks: int) -> None:
    simulated, waits = watched(acks)
    assert not told(simulated)
    assert waits.judged > 30


def test_records_that_wake_nobody_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionHost, "mark_ready", lambda *_: None)
    simulated, _ = watched(1)
    assert "records were visible at" in told(simulated)


def test_a_fetch_that_gives_up_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delayed_fetch.PartitionsWait, "satisfied", lambda _: True)
    simulated, _ = watched()
    assert "nothing is told" in told(simulated)


def test_a_deadline_that_comes_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Purgatory._arm

    def later(self: Purgatory, operation: DelayedOperation) -> None:
        operation.deadline_ms += 20
        arm(self, operation)

    monkeypatch.setattr(Purgatory, "_arm", later)
    simulated, _ = watched(writes=False)
    assert "of at most 100" in told(simulated)


def test_a_produce_that_outlives_its_leader_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DelayedEntries, "try_complete", lambda _: False)
    simulated, _ = watched()
    world = simulated.world
    simulated.producer.timeout_ms = 900
    world.run_for(200)
    state = world.cluster.metadata.topics["t0"].partitions[0]
    to = next(node for node in state.replicas if node != state.leader)
    world.operate(lambda: world.controls.move_leader("t0", 0, to))
    assert "it leads no more since" in told(simulated)


def test_a_reader_that_is_not_told_of_a_high_watermark_is_noticed() -> None:
    simulated, waits = watched()
    world = simulated.world
    world.run_for(500)
    leader = world.cluster.metadata.topics["t0"].partitions[0].leader
    part = FetchRequestPartition(partition=0, fetch_offset=3, high_watermark=1)
    request = FetchRequest(max_wait_ms=100, topics=[FetchRequestTopic("t0", partitions=[part])])
    wait = Wait(leader, world.now_ms, world.now_ms + 100, by_timer=True)
    assert "passed 1 at" in waits._untold(wait, request)
    part.high_watermark = 1 << 40
    assert not waits._untold(wait, request)


def test_a_member_that_waits_and_is_thrown_out_is_noticed() -> None:
    simulated = SimulatedCluster()
    waits = Waits(simulated.world, simulated.truth, frozenset(("upgraded",)))
    wait = Wait(1, 100.0, 300.0, by_timer=True)
    gone = JoinGroupResponse(error_code=25)
    request = JoinGroupRequest("g", member_id="m")
    assert waits._wrong_join(wait, request, gone)
    assert not waits._wrong_join(wait._replace(ended_ms=100.0), request, gone)
    assert not waits._wrong_join(wait, request, JoinGroupResponse())
    for other in (
        JoinGroupRequest("g"),
        JoinGroupRequest("g", member_id="m", group_instance_id="i"),
        JoinGroupRequest("upgraded", member_id="m"),
    ):
        assert not waits._wrong_join(wait, other, gone)
