"""A turn is over after as many pieces as its seed says, and others come in between."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from simulation.clients import frame_of
from simulation.turns import Turns
from tests.support.simulated import Simulated
from tests.support.simulated_cluster import Listener

if TYPE_CHECKING:
    from simulation.world import World


PING = frame_of(ApiVersionsRequest(), 0, 7, "test")


def turns_of(lengths: tuple[int, ...]) -> Turns:
    turns = Turns(Random(0))
    turns._lengths = lengths
    return turns


def test_a_turn_that_is_over_stays_so_until_the_next() -> None:
    turns = turns_of((2,))
    turns.begin()
    assert [turns.over() for _ in range(4)] == [False, False, True, True]
    turns.begin()
    assert not turns.over()


def test_a_turn_without_limit_is_never_over() -> None:
    turns = turns_of((0,))
    turns.begin()
    turns.unlimited = True
    assert not turns.over()


LONG = frame_of(
    FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_epoch=-1,
        topics=[
            FetchRequestTopic("t0", partitions=[FetchRequestPartition(n) for n in range(1400)])
        ],
    ),
    11,
    7,
    "test",
)
"""A fetch that is so long that it is worked on in slices."""


@pytest.fixture
def world() -> World:
    """One in which no turn is long enough for more than a slice."""
    world = Simulated().world
    world.observers.clear()
    world.turns = turns_of((0,))
    world.carry_out()
    return world


def test_others_come_in_between_turns(world: World) -> None:
    wire, other = world.connect(Listener()), world.connect(Listener())
    wire.send(LONG)
    assert world.run_until(lambda: world.unfinished, 10)
    other.send(PING)
    assert world.run_until(lambda: bool(other.emitted_bytes), 10)
    assert not wire.emitted_bytes
    assert world.run_until(lambda: bool(wire.emitted_bytes), 10)
    assert not world.unfinished


def test_what_was_left_is_done_at_once_when_it_must_be(world: World) -> None:
    wire = world.connect(Listener())
    wire.send(LONG)
    assert world.run_until(lambda: world.unfinished, 10)
    world.finish_work()
    assert wire.emitted_bytes
    assert not world.unfinished


def test_a_probe_is_answered_at_once_and_after_all_that_was_left(world: World) -> None:
    wire = world.connect(Listener())
    wire.send(LONG)
    assert world.run_until(lambda: world.unfinished, 10)
    assert world.exchange(LONG)
    assert wire.emitted_bytes
    assert world.broker.requests.turn_over is not None
