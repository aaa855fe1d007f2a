"""Time stands, runs faster and is moved by hand; what is due runs in order, at its own time."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.journal import ClockChanged
from mockbroker.network import timekeeper
from mockbroker.network.timekeeper import MAX_MOVE_MS, SLICE_SECONDS, TimeKeeper

if TYPE_CHECKING:
    from mockbroker.journal import Event

DAY_MS = 86_400_000.0


class Machine:
    """The machine's monotonic time, in the test's hands."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(timekeeper, "monotonic", machine.monotonic)
    return machine


@pytest.fixture
def cluster() -> Cluster:
    return Cluster({}, {}, substream=Random, epoch_ms=1_700_000_000_000)


def test_time_passes_as_on_the_machine(machine: Machine, cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster)
    machine.seconds += 1.5
    assert keeper.now_ms() == 1500.0
    assert keeper.delay_seconds(2000.0) == 0.5
    assert keeper.wall_ms == 1_700_000_001_500


def test_a_frozen_clock_stands_and_arms_no_timer(machine: Machine, cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster)
    keeper.freeze()
    machine.seconds += 60
    assert keeper.now_ms() == 0.0
    assert keeper.delay_seconds(1.0) is None
    assert keeper.delay_seconds(0.0) == 0.0  # what is due already is not put off
    keeper.unfreeze()
    machine.seconds += 1
    assert keeper.now_ms() == 1000.0
    assert TimeKeeper(cluster, frozen=True).frozen


def test_a_rate_makes_deadlines_come_sooner(machine: Machine, cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster)
    machine.seconds += 1
    keeper.set_rate(60)
    machine.seconds += 1
    assert keeper.now_ms() == 61_000.0
    assert keeper.delay_seconds(121_000.0) == 1.0
    keeper.freeze()
    keeper.unfreeze()
    machine.seconds += 1
    assert keeper.now_ms() == 121_000.0


def test_an_advance_runs_what_is_due_in_order_each_at_its_time(cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster, frozen=True)
    seen: list[tuple[str, float]] = []

    def again() -> None:
        seen.append(("again", cluster.clock.now_ms))

    def first() -> None:
        seen.append(("first", cluster.clock.now_ms))
        cluster.timer.schedule(cluster.clock.now_ms + DAY_MS, again)

    cluster.timer.schedule(5 * DAY_MS, lambda: seen.append(("last", cluster.clock.now_ms)))
    cluster.timer.schedule(DAY_MS, first)
    cluster.timer.schedule(9 * DAY_MS, lambda: seen.append(("never", 0.0)))
    keeper.advance(7 * DAY_MS)
    assert seen == [("first", DAY_MS), ("again", 2 * DAY_MS), ("last", 5 * DAY_MS)]
    assert cluster.clock.now_ms == keeper.now_ms() == 7 * DAY_MS
    assert cluster.clock.wall_ms() == 1_700_000_000_000 + int(7 * DAY_MS)


def test_a_long_advance_gives_way_after_each_slice_of_work(
    machine: Machine, cluster: Cluster
) -> None:
    keeper = TimeKeeper(cluster, frozen=True)

    def work() -> None:
        machine.seconds += 0.6 * SLICE_SECONDS
        cluster.timer.schedule(cluster.clock.now_ms + 1000, work)

    cluster.timer.schedule(1000, work)
    met = []
    for _ in keeper.advancing(10_000):
        met.append(keeper.now_ms())
        assert cluster.clock.now_ms == keeper.now_ms()
    assert met == [2000.0, 4000.0, 6000.0, 8000.0, 10_000.0]
    assert keeper.now_ms() == 10_000.0


def test_what_an_advance_skipped_is_told() -> None:
    several = Cluster({}, {"t": 3}, substream=Random, epoch_ms=0, brokers=3)
    told: list[Event] = []
    several.journal.listen(told.append)
    keeper = TimeKeeper(several, frozen=True)
    keeper.advance(DAY_MS)
    (changed,) = [each for each in told if isinstance(each, ClockChanged)]
    assert changed.skipped_rounds == several.rounds_skipped > 1_000_000
    counted = [
        broker.metrics()["mockbroker:type=ClusterMetrics,name=IdleRoundsSkipped"]
        for broker in several.brokers
    ]
    assert sum(counted) == pytest.approx(changed.skipped_rounds, rel=0.001)


def test_a_task_that_renews_itself_at_once_does_not_hold_up_the_time(cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster, frozen=True)

    def renew() -> None:
        cluster.timer.schedule(cluster.clock.now_ms, renew)

    renew()
    keeper.advance(10)
    assert keeper.now_ms() == 10.0


def test_wall_time_jumps_alone_and_deadlines_come_alone(cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster, frozen=True)
    keeper.jump(-DAY_MS)
    assert (keeper.now_ms(), keeper.wall_ms) == (0.0, 1_700_000_000_000 - int(DAY_MS))
    keeper.jump(DAY_MS)
    keeper.advance(DAY_MS, wall=False)
    assert (keeper.now_ms(), keeper.wall_ms) == (DAY_MS, 1_700_000_000_000)


def test_the_wall_time_comes_back_from_wherever_jumps_have_led(cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster, frozen=True)
    mark = keeper.mark()
    for _ in range(3):
        keeper.jump(MAX_MOVE_MS)
    keeper.back_to(mark)
    assert keeper.wall_ms == 1_700_000_000_000


def test_servers_and_the_journal_are_told(cluster: Cluster) -> None:
    keeper = TimeKeeper(cluster)
    told: list[float] = []
    keeper.on_change(lambda: told.append(keeper.scale))
    keeper.freeze()
    keeper.freeze()
    keeper.set_rate(2)
    keeper.advance(1)
    keeper.unfreeze()
    assert told == [0.0, 0.0, 2000.0]
    actions = [e.action for e in cluster.journal.events() if isinstance(e, ClockChanged)]
    assert actions == ["freeze", "rate", "advance", "unfreeze"]


@pytest.mark.parametrize("by_ms", [-1.0, float("inf"), float("nan"), 1e15])
def test_no_time_goes_back_or_on_for_ever(cluster: Cluster, by_ms: float) -> None:
    keeper = TimeKeeper(cluster)
    with pytest.raises(ValueError, match="advance"):
        keeper.advance(by_ms)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), 1e9])
def test_a_rate_that_makes_no_sense_is_refused(cluster: Cluster, rate: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        TimeKeeper(cluster).set_rate(rate)
    with pytest.raises(ValueError, match="jump"):
        TimeKeeper(cluster).jump(float("inf"))
