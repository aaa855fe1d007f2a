"""The controller is held to fence who is silent, and to let no fenced broker lead."""

from __future__ import annotations

import pytest

from mockbroker.cluster.links.heartbeats import BrokerSessions
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.metadata.changes import BrokerChanged, LeaderChanged, PartitionState
from simulation.cluster.supervision import FENCED_WITHIN_MS, Supervision
from tests.support.simulated_cluster import SimulatedCluster


def test_who_is_down_or_cut_off_is_fenced_in_time() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    supervision = Supervision(world)
    world.operate(lambda: world.controls.kill(1, fence=False))
    world.operate(lambda: world.controls.cut_link(2, CONTROLLER))
    world.run_for(FENCED_WITHIN_MS + 500)
    assert not world.violations
    assert supervision.fencings == 2


def test_who_comes_back_is_watched_anew() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    supervision = Supervision(world)
    for _ in range(5):
        world.operate(lambda: world.controls.hold_link(2, CONTROLLER))
        world.run_for(FENCED_WITHIN_MS / 3)
        world.operate(lambda: world.controls.restore_link(2, CONTROLLER))
        world.run_for(10)
    assert not world.violations
    assert supervision.fencings == 0


def test_a_controller_that_never_fences_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BrokerSessions, "_check", lambda *_: None)
    simulated = SimulatedCluster()
    world = simulated.world
    Supervision(world)
    world.operate(lambda: world.controls.kill(3, fence=False))
    world.run_for(FENCED_WITHIN_MS + 500)
    assert "not fenced" in world.violations[0]


def test_a_fenced_leader_and_a_leader_that_nobody_elects_are_noticed() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    supervision = Supervision(world)
    store = world.cluster.metadata
    topic = store.topics["t0"]
    state = topic.partitions[0]
    store.apply(BrokerChanged(store.brokers[state.leader]._replace(fenced=True)))
    supervision.look()
    assert "is fenced" in world.violations[-1]
    others = [node for node in state.isr if node != state.leader]
    nobody = PartitionState(-1, state.replicas, others, state.leader_epoch + 1, 99)
    store.apply(LeaderChanged("t0", topic.id, 0, nobody))
    supervision.look()
    assert "nobody leads" in world.violations[-1]


def test_a_fenced_broker_in_sync_is_noticed() -> None:
    simulated = SimulatedCluster()
    supervision = Supervision(simulated.world)
    store = simulated.world.cluster.metadata
    state = store.topics["t0"].partitions[0]
    follower = next(node for node in state.isr if node != state.leader)
    store.apply(BrokerChanged(store.brokers[follower]._replace(fenced=True)))
    supervision.look()
    assert "in sync and fenced" in simulated.world.violations[-1]


def test_a_broker_that_starts_with_its_old_epoch_is_noticed() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    supervision = Supervision(world)
    world.run_for(100)
    supervision._check_epochs()
    world.operate(lambda: world.controls.kill(1))
    world.operate(lambda: world.controls.revive(1))
    world.run_for(100)
    assert not world.violations
    starts, epoch = supervision._epochs[1]
    supervision._epochs[1] = starts - 1, epoch
    supervision._check_epochs()
    assert "broker 1 starts again with epoch" in world.violations[0]


def test_one_that_is_kept_out_and_comes_back_is_noticed() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    supervision = Supervision(world)
    world.operate(lambda: world.controls.fence(1))
    world.run_for(FENCED_WITHIN_MS)
    assert not world.violations
    store = world.cluster.metadata
    store.apply(BrokerChanged(store.brokers[1]._replace(fenced=False)))
    supervision.look()
    assert "broker 1 is kept out" in world.violations[0]
