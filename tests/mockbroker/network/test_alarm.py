"""The one timer of a server, in a loop that the test turns by hand."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, cast

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.network.alarm import Alarm
from mockbroker.network.timekeeper import TimeKeeper

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Handle:
    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        self.seconds = seconds
        self.action = action
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """What a loop was asked for."""

    def __init__(self) -> None:
        self.calls: list[Handle] = []

    def call_later(self, seconds: float, action: Callable[[], None]) -> Handle:
        self.calls.append(Handle(seconds, action))
        return self.calls[-1]

    @property
    def pending(self) -> list[Handle]:
        return [call for call in self.calls if not call.cancelled]


class World:
    def __init__(self) -> None:
        self.loop = Loop()
        self.deadline_ms: float | None = None
        self.rang = 0
        self.keeper = TimeKeeper(Cluster({}, {}, substream=Random, epoch_ms=0))
        self.alarm = Alarm(self.keeper, lambda: self.deadline_ms, self.ring)

    def ring(self) -> None:
        self.rang += 1

    def start(self) -> None:
        self.alarm.start(cast("asyncio.AbstractEventLoop", self.loop))


@pytest.fixture
def world() -> World:
    world = World()
    world.start()
    return world


def test_it_is_silent_before_the_start_and_set_by_it() -> None:
    world = World()
    world.deadline_ms = 1e9
    world.alarm.rearm()
    assert not world.alarm.is_set
    world.start()
    assert world.alarm.is_set


def test_nothing_due_sets_nothing(world: World) -> None:
    world.alarm.rearm()
    assert (world.alarm.is_set, world.loop.calls) == (False, [])


def test_only_an_earlier_deadline_sets_it_anew(world: World) -> None:
    for deadline_ms in (2e9, 3e9, 2e9, 1e9):
        world.deadline_ms = deadline_ms
        world.alarm.rearm()
    assert [call.cancelled for call in world.loop.calls] == [True, False]
    first, second = world.loop.calls
    assert first.seconds > second.seconds


def test_it_rings_once_and_is_set_by_the_step_that_it_is(world: World) -> None:
    world.deadline_ms = 1e9
    world.alarm.rearm()
    world.loop.pending[0].action()
    assert (world.rang, world.alarm.is_set) == (1, False)
    world.alarm.rearm()
    assert world.alarm.is_set


def test_it_follows_the_time_that_is_moved(world: World) -> None:
    world.deadline_ms = 1e9
    world.alarm.rearm()
    world.keeper.freeze()
    assert (world.alarm.is_set, world.loop.pending) == (False, [])
    world.alarm.rearm()
    assert not world.alarm.is_set
    world.keeper.unfreeze()
    world.keeper.set_rate(10.0)
    (call,) = world.loop.pending
    assert 0 < call.seconds <= 1e5


def test_after_the_stop_nothing_sets_it(world: World) -> None:
    world.deadline_ms = 1e9
    world.alarm.rearm()
    world.alarm.stop()
    world.alarm.rearm()
    world.keeper.set_rate(2.0)
    assert (world.alarm.is_set, world.loop.pending) == (False, [])
