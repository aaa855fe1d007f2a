"""Events run in order, bytes keep their order, and a cut wire carries nothing more."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from simulation.clients import frame_of
from simulation.faults import NetworkFaults
from simulation.world import World
from tests.support.simulated import Simulated
from tests.support.simulated_cluster import Listener

PING = frame_of(ApiVersionsRequest(), 0, 7, "test")


def bare_world(faults: NetworkFaults | None = None) -> World:
    """A world that nobody observes."""
    world = Simulated(faults).world
    world.observers.clear()
    return world


@pytest.fixture
def world() -> World:
    return bare_world()


def test_events_run_by_time_then_by_age(world: World) -> None:
    ran: list[str] = []
    world.at(5, lambda: ran.append("later"))
    world.at(1, lambda: ran.append("first"))
    world.at(1, lambda: ran.append("second"))
    world.run_for(3)
    assert ran == ["first", "second"]
    assert world.now_ms == 3
    world.run_for(2)
    assert ran[-1] == "later"


def test_time_stops_where_the_condition_holds(world: World) -> None:
    reached: list[bool] = []
    world.at(2, lambda: reached.append(True))
    world.at(4, lambda: reached.append(True))
    assert world.run_until(lambda: bool(reached), 10)
    assert world.now_ms == 2
    assert not world.run_until(lambda: len(reached) > 2, 10)
    assert world.now_ms == 12


def test_a_request_travels_to_the_broker_and_back(world: World) -> None:
    end = Listener()
    wire = world.connect(end)
    wire.send(PING)
    world.run_for(0)
    assert end.data[4:8] == (7).to_bytes(4, "big")
    assert wire.read_bytes == wire.emitted_bytes == len(end.data)


def test_pieces_with_delays_arrive_in_order() -> None:
    world = bare_world(NetworkFaults(max_delay_ms=5.0, split_chance=1.0))
    end = Listener()
    wire = world.connect(end)
    for _ in range(10):
        wire.send(PING)
    world.run_for(1_000)
    assert len(end.data) == wire.emitted_bytes > 0
    assert not world.violations


def test_a_cut_loses_what_is_on_its_way() -> None:
    world = bare_world(NetworkFaults(max_delay_ms=5.0))
    end = Listener()
    wire = world.connect(end)
    wire.send(PING)
    wire.cut(heard_after_ms=2.0)
    world.run_for(1)
    assert end.lost == 1
    assert world.wires() == [wire]
    world.run_for(100)
    assert world.wires() == []
    assert end.data == b""


def test_a_lost_answer_was_written_and_never_read() -> None:
    world = bare_world(NetworkFaults(lose_chance=1.0))
    end = Listener()
    wire = world.connect(end)
    wire.send(PING)
    world.run_for(10)
    assert end.lost == 1
    assert wire.emitted_bytes > wire.read_bytes == 0


def test_what_was_sent_before_a_close_still_arrives(world: World) -> None:
    wire = world.connect(Listener())
    wire.send(PING)
    wire.close()
    world.run_for(0)
    assert wire.emitted_bytes > 0
    assert not wire.at_broker


def test_a_connection_that_the_broker_closes_is_a_violation(world: World) -> None:
    end = Listener()
    world.connect(end).send(b"\0\0\0\0")
    world.run_for(0)
    assert end.lost == 1
    assert any("closed" in violation for violation in world.violations)


def test_an_exchange_is_no_step_and_leaves_no_connection(world: World) -> None:
    steps = world.steps
    assert world.exchange(PING)[:4] == (7).to_bytes(4, "big")
    assert world.steps == steps
    assert world.broker.connections() == []
