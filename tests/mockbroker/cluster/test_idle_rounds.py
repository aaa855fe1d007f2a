"""Rounds that are skipped leave a cluster as those that are played do, whatever its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.idle_rounds import (
    BALANCE_CHECKS,
    FETCHES,
    HEARTBEATS,
    IN_SYNC_CHECKS,
)
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.faults.fault import Fault
from tests.support.moved_core import MovedCore

if TYPE_CHECKING:
    from collections.abc import Callable


HOUR_MS = 3_600_000.0
DAY_MS = 24 * HOUR_MS


SELDOM = {
    "leader.imbalance.check.interval.seconds": "25",
    "replica.fetch.wait.max.ms": "2400",
    "replica.lag.time.max.ms": "8000",
}
"""Fewer rounds to play: they are the same rounds."""


def kill(core: MovedCore) -> None:
    core.controls.kill(2, fence=False)


def cut_from_the_controller(core: MovedCore) -> None:
    core.controls.slow_link(2, CONTROLLER, 5.5)
    core.advance(12_000)
    core.controls.cut_link(2, CONTROLLER)


def hold_before_the_controller(core: MovedCore) -> None:
    core.controls.hold_link(2, CONTROLLER)
    core.advance(45_000)
    core.controls.restore_link(2, CONTROLLER)


def hold_a_follower(core: MovedCore) -> None:
    follower = core.state("t").replicas[1]
    core.controls.hold_follower("t", 0, follower)
    core.client(node=core.state("t").leader).produce("t", b"v", acks=1)
    core.advance(12_000)
    core.controls.release_follower("t", 0, follower)


def slow_fetches(core: MovedCore) -> None:
    core.controls.slow_link(1, 2, 70.5)
    core.controls.slow_link(2, 1, 3.0)
    core.advance(12_000)
    core.client(node=core.state("t").leader).produce("t", b"v")


def fence_and_let_in(core: MovedCore) -> None:
    core.controls.fence(3)
    core.advance(12_000)
    core.controls.unfence(3)


def move_a_leader(core: MovedCore) -> None:
    core.controls.move_leader("t", 0, core.state("t").replicas[1])


def fetch_under_a_rule(core: MovedCore) -> None:
    rule = Fault.from_dict({"api": "Fetch", "delay_ms": 120})
    core.cluster.faults.add(rule)
    core.advance(6000)
    core.cluster.faults.clear()


def rule_between_brokers(core: MovedCore) -> None:
    rule = {"api": "Fetch", "listener": "REPL*", "delay_ms": 120, "count": 5}
    core.cluster.faults.add(Fault.from_dict(rule))
    core.advance(6000)
    core.client(node=core.state("t").leader).produce("t", b"v")


@pytest.mark.parametrize(
    "act",
    [
        kill,
        cut_from_the_controller,
        hold_before_the_controller,
        hold_a_follower,
        slow_fetches,
        fence_and_let_in,
        move_a_leader,
        fetch_under_a_rule,
        rule_between_brokers,
    ],
)
def test_what_happens_after_and_before_a_long_quiet_comes_at_its_time(
    act: Callable[[MovedCore], None],
) -> None:
    ways = []
    for skips in (True, False):
        core = MovedCore(skips=skips, config=SELDOM)
        core.advance(12_000)
        act(core)
        core.advance(333.25)
        core.advance(45_000)
        ways.append(core)
    assert ways[0].picture() == ways[1].picture()
    assert ways[0].ticks < ways[1].ticks / 2


def test_a_broker_that_led_nothing_is_fenced_at_its_time() -> None:
    core = MovedCore(skips=True, topics={})
    core.advance(50_000)
    core.controls.kill(2, fence=False)
    core.advance(DAY_MS)
    assert core.changes[-1] == (59_000.0, "BrokerChanged")


def test_the_rounds_left_out_leave_the_times_of_the_last_of_them() -> None:
    core = MovedCore(skips=True)
    core.advance(310_000)
    core.cluster.skip_idle(core.now_ms + HOUR_MS)
    last_ms = core.now_ms + HOUR_MS - 3 * 500
    for partition in (core.partition(core.state("t", at).leader, "t", at) for at in range(3)):
        assert partition.followers is not None
        for follower in partition.followers.all():
            assert follower.reader is not None
            assert follower.reader.polled_ms() >= last_ms
    parked = [
        connection.in_work.arrived_ms
        for broker in core.cluster.brokers
        for connection in broker.connections()
        if connection.in_work is not None
    ]
    assert len(parked) == 6
    assert min(parked) >= last_ms
    connections = [len(broker.connections()) for broker in core.cluster.brokers]
    opened = [broker.connections_opened for broker in core.cluster.brokers]
    core.advance(2 * HOUR_MS)
    assert [len(broker.connections()) for broker in core.cluster.brokers] == connections
    assert [broker.connections_opened for broker in core.cluster.brokers] == opened


def test_a_week_of_an_idle_cluster_is_a_few_steps() -> None:
    core = MovedCore(skips=True)
    core.advance(7 * DAY_MS)
    assert core.ticks < 400
    per_broker = 7 * DAY_MS / 2000
    assert core.skipped[HEARTBEATS] == pytest.approx(3 * per_broker, rel=0.01)
    assert core.skipped[FETCHES] == pytest.approx(6 * 7 * DAY_MS / 500, rel=0.01)
    assert core.skipped[IN_SYNC_CHECKS] == pytest.approx(3 * 7 * DAY_MS / 15_000, rel=0.01)
    assert core.skipped[BALANCE_CHECKS] == pytest.approx(7 * DAY_MS / 300_000, rel=0.01)


def test_only_a_rule_that_may_meet_brokers_has_each_round_played() -> None:
    core = MovedCore(skips=True)
    core.cluster.faults.add(Fault.from_dict({"api": "Fetch", "error": 6}))
    core.cluster.faults.add(Fault.from_dict({"delay_ms": 5, "listener": "PLAIN*"}))
    core.advance(DAY_MS)
    assert core.ticks < 400
    (armed, _) = core.cluster.faults.list()
    assert (armed.hits, armed.matched) == (0, 0)
    core.cluster.faults.add(Fault.from_dict({"delay_ms": 5, "listener": "*"}))
    before = dict(core.skipped)
    core.advance(10_000)
    assert core.skipped == before


def test_the_session_of_a_broker_that_died_ends_on_the_way() -> None:
    core = MovedCore(skips=True)
    core.advance(10_000)
    core.controls.kill(2, fence=False)
    core.advance(DAY_MS)
    assert core.cluster.metadata.brokers[2].fenced
    assert all(2 not in core.state("t", index).isr for index in range(3))
    assert core.skipped[FETCHES] > 100_000
