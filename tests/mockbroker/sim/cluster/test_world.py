"""Clients reach each broker over wires, and lose them when it dies."""

from __future__ import annotations

from mockbroker.sim.clients import frame_of
from protocol.messages.api_versions import ApiVersionsRequest
from tests.support.simulated_cluster import Listener, SimulatedCluster

PING = frame_of(ApiVersionsRequest(), 0, 7, "test")


def test_each_broker_answers_on_its_own_wire() -> None:
    world = SimulatedCluster().world
    for node in world.nodes:
        end = Listener()
        wire = world.connect(end, node)
        assert wire is not None
        wire.send(PING)
        world.run_for(0)
        assert end.data[4:8] == (7).to_bytes(4, "big")
    assert len(world.wires()) == 3


def test_a_broker_that_dies_takes_its_wires_and_is_not_reached() -> None:
    world = SimulatedCluster().world
    end = Listener()
    wire = world.connect(end, 2)
    world.operate(lambda: world.controls.kill(2))
    world.run_for(1)
    assert end.lost == 1
    assert wire is not None
    assert not wire.open
    assert world.connect(end, 2) is None
    assert world.wires() == []


def test_whoever_watches_looks_after_each_step() -> None:
    world = SimulatedCluster().world
    looks: list[float] = []
    world.on_step.append(lambda: looks.append(world.now_ms))
    world.run_for(1_000)
    assert looks
    assert not world.violations
