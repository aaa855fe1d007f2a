"""Offsets are found by time where a walk over the records finds them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.log import timestamp_lookup
from mockbroker.log.offsets import TimestampAndOffset
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.messages.list_offsets import ListOffsetsPartitionResponse
from simulation.cluster import seekers
from simulation.cluster.seekers import Seeker, SeekerCrew, stamps_of
from simulation.cluster.simulation import ClusterRun, plan_of
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from mockbroker.log.segment import Segment

pytestmark = pytest.mark.sim


def seeking(simulated: SimulatedCluster) -> Seeker:
    seeker = Seeker(simulated.world, "seeker", Random(2), simulated.truth, simulated.plan)
    simulated.producer.start()
    seeker.start()
    return seeker


def test_a_seeker_finds_while_a_producer_writes() -> None:
    simulated = SimulatedCluster()
    seeker = seeking(simulated)
    simulated.world.run_for(4_000)
    assert not simulated.world.violations
    assert seeker.found > 50


def test_an_offset_that_is_not_the_first_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = timestamp_lookup.first_at_or_after

    def one_later(
        segments: Sequence[Segment], timestamp: int, start: int
    ) -> Generator[object, None, TimestampAndOffset | None]:
        found = yield from find(segments, timestamp, start)
        return None if found is None else found._replace(offset=found.offset + 1)

    monkeypatch.setattr(timestamp_lookup, "first_at_or_after", one_later)
    simulated = SimulatedCluster()
    seeking(simulated)
    assert simulated.world.run_until(lambda: bool(simulated.world.violations), 4_000)
    assert "is found at" in simulated.world.violations[0]


@pytest.mark.parametrize(("gone", "found_later"), [(True, False), (False, False), (True, True)])
def test_what_is_found_may_be_compacted_away_since(
    monkeypatch: pytest.MonkeyPatch, *, gone: bool, found_later: bool
) -> None:
    """Before its answer arrives the first of them goes; one behind what is left is no answer."""
    simulated = SimulatedCluster()
    simulated.produce(3)
    log = simulated.leader_log()
    stamps = stamps_of(log)
    seeker = Seeker(simulated.world, "seeker", Random(2), simulated.truth, simulated.plan)
    monkeypatch.setattr(seekers, "stamps_of", lambda _: stamps[1:])
    offset, stamp = stamps[2 if found_later else 0]
    data = ListOffsetsPartitionResponse(0, timestamp=stamp, offset=offset)
    seeker._check(("t0", 0), stamps[0][1], data, log, log.high_watermark, cleaned=gone)
    right = gone and not found_later
    assert bool(simulated.world.violations) != right


def test_an_epoch_that_ends_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(self: UnifiedLog, leader_epoch: int) -> tuple[int, int]:
        return leader_epoch, self.log_end_offset + 1

    monkeypatch.setattr(UnifiedLog, "end_offset_for_epoch", late)
    simulated = SimulatedCluster()
    seeking(simulated)
    world = simulated.world
    for to in (1, 2, 3, 1, 2, 3):
        world.run_for(300)
        world.operate(lambda to=to: world.controls.move_leader("t0", 0, to))  # type: ignore[misc]
    assert world.run_until(
        lambda: any("of ('t0', 0) ends at" in text for text in world.violations), 4_000
    )


def test_all_times_are_looked_up_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(4)
    plan.on = {kind: kind == "look_ups" for kind in plan.on}
    plan.transactors = plan.processors = plan.committers = 0
    plan.topics, plan.active_ms = {"t0": 1}, 1_000.0
    run = ClusterRun(4, plan)
    run.live()
    assert not run.world.violations
    (crew,) = (crew for crew in run.crews if isinstance(crew, SeekerCrew))
    assert crew.counts()["found"]
    monkeypatch.setattr(UnifiedLog, "offset_for_timestamp", lambda *_: None)
    crew.check()
    assert "is found at None" in run.world.violations[0]
