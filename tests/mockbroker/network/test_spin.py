"""How long a loop looks for more requests before it sleeps; the test turns it by hand."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, cast

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.config.broker import BrokerConfig
from mockbroker.network import spin as spins
from mockbroker.network.server import ClusterServer
from mockbroker.network.spin import Spin
from mockbroker.network.timekeeper import TimeKeeper

if TYPE_CHECKING:
    from collections.abc import Callable


class Loop:
    """What it was asked to call, and a clock of its own."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.now = 100.0

    def call_soon(self, action: Callable[[], None]) -> None:
        self.calls.append(action)

    def turn(self, seconds: float) -> int:
        """So much time passes, then everything is called that was asked for; how much that was."""
        self.now += seconds
        calls, self.calls = self.calls, []
        for each in calls:
            each()
        return len(calls)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    running = cast("asyncio.AbstractEventLoop", made)
    monkeypatch.setattr(spins, "monotonic", lambda: made.now)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: running)
    return made


def test_the_loop_turns_until_nothing_has_come_for_so_long(loop: Loop) -> None:
    spin = Spin(0.002)
    spin.stepped()
    assert [loop.turn(0.001), loop.turn(0.0009)] == [1, 1]
    spin.stepped()  # a request: the time begins again, and it is looked once a turn as before
    assert [loop.turn(0.001), loop.turn(0.0009), loop.turn(0.0002)] == [1, 1, 1]
    assert loop.turn(0.0) == 0


def test_the_next_step_wakes_it_again(loop: Loop) -> None:
    spin = Spin(0.002)
    spin.stepped()
    assert [loop.turn(0.003), loop.turn(0.0)] == [1, 0]
    spin.stepped()
    assert [loop.turn(0.001), loop.turn(0.003), loop.turn(0.0)] == [1, 1, 0]


def test_it_ends_when_the_server_stops(loop: Loop) -> None:
    spin = Spin(1.0)
    spin.stepped()
    spin.stop()
    assert [loop.turn(0.0), loop.turn(0.0)] == [1, 0]


def test_a_loop_sleeps_at_once_unless_it_is_configured() -> None:
    assert Spin.of(BrokerConfig({})) is None
    assert Spin.of(BrokerConfig({"mockbroker.spin.us": "200"})) is not None


async def test_a_server_tells_of_its_steps_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(Spin, "stepped", lambda _: told.append(0.0))
    cluster = Cluster({"mockbroker.spin.us": "100000"}, {}, substream=Random, epoch_ms=0)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    server.act(lambda: None)
    await server.start("PLAINTEXT", "127.0.0.1", [0], lambda _, __: None)
    before = len(told)
    server.act(lambda: None)
    assert (before, len(told)) == (0, 1)
    await server.stop()
    assert len(told) == 1
