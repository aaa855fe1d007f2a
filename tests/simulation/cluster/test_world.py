"""Clients reach each broker over wires, and lose them when it dies."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from simulation.clients import frame_of
from simulation.cluster.world import EndlessStepError
from tests.support.simulated_cluster import Listener, SimulatedCluster

PING = frame_of(ApiVersionsRequest(), 0, 7, "test")


def test_each_broker_answers_on_its_own_wire() -> None:
    world = SimulatedCluster().world
    for node in world.nodes:
        end = Listener()
        wire = world.connect_to(end, node)
        assert wire is not None
        wire.send(PING)
        world.run_for(0)
        assert end.data[4:8] == (7).to_bytes(4, "big")
    assert len(world.wires()) == 3


def test_a_broker_that_dies_takes_its_wires_and_is_not_reached() -> None:
    world = SimulatedCluster().world
    end = Listener()
    wire = world.connect_to(end, 2)
    world.operate(lambda: world.controls.kill(2))
    world.run_for(1)
    assert end.lost == 1
    assert wire is not None
    assert not wire.open
    assert world.connect_to(end, 2) is None
    assert world.wires() == []


def test_whoever_watches_looks_after_each_step() -> None:
    world = SimulatedCluster().world
    looks: list[float] = []
    world.on_step.append(lambda: looks.append(world.now_ms))
    world.run_for(1_000)
    assert looks
    assert not world.violations


def test_brokers_that_answer_each_other_for_ever_are_noticed() -> None:
    world = SimulatedCluster().world
    link = world.peers.links.get(1, 2)

    def again() -> None:
        link.send(again)

    with pytest.raises(EndlessStepError):
        world.operate(again)


def test_much_in_many_steps_is_no_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    from simulation.cluster import world as module

    monkeypatch.setattr(module, "MESSAGES_A_STEP", 100)
    world = SimulatedCluster().world
    world.run_for(10_000)
    assert not world.violations
