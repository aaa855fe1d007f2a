"""Committers find what they committed at whichever broker coordinates."""

from __future__ import annotations

from random import Random

import pytest

from simulation.cluster.committers import Committer
from tests.support.simulated_cluster import SimulatedCluster


def committer_of(simulated: SimulatedCluster) -> Committer:
    return Committer(simulated.world, "group", Random(1), simulated.truth, simulated.plan)


def test_offsets_outlive_their_coordinator() -> None:
    simulated = SimulatedCluster()
    world, committer = simulated.world, committer_of(simulated)
    committer.start()
    world.run_for(2_000)
    before, checks = committer.acknowledged, committer.checks
    assert before > 0
    assert checks > 0
    leader = world.cluster.metadata.topics["__consumer_offsets"].partitions[0].leader
    world.operate(lambda: world.controls.kill(leader))
    world.run_for(3_000)
    assert committer.acknowledged > before
    assert committer.checks > checks
    assert not world.violations


def test_an_offset_that_was_un_read_is_noticed() -> None:
    simulated = SimulatedCluster()
    committer = committer_of(simulated)
    committer.start()
    simulated.world.run_for(2_000)
    values = committer.book.offsets._values["group", *committer.part]
    values.extend((1_000_000, None))
    committer.book.offsets._known["group", *committer.part] = len(values) - 1
    committer.book.offsets._ends_at["group", *committer.part] += [0, 0]
    simulated.world.run_until(lambda: bool(simulated.world.violations), 2_000)
    assert "was told" in simulated.world.violations[0]


def test_a_committer_is_done_when_its_last_offset_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated = SimulatedCluster()
    committer = committer_of(simulated)
    committer.start()
    simulated.world.run_for(1_000)
    committer.stop()
    committer.finish()
    assert simulated.world.run_until(lambda: not committer.busy, 5_000)
    last = committer.acknowledged
    committer.acknowledged, checks = last + 1, committer.checks
    committer.tried, committer._finishing = last + 1, True
    monkeypatch.setattr(committer, "_commit", lambda _node: committer.later())
    committer.proceed()
    assert not simulated.world.run_until(lambda: not committer.busy, 5_000)
    assert committer.checks == checks
    assert not simulated.world.violations


def test_a_write_that_timed_out_is_told_as_an_unavailable_coordinator() -> None:
    simulated = SimulatedCluster()
    committer = committer_of(simulated)
    committer._again(15)
    assert not simulated.world.violations
    committer._again(7)
    assert "answers 7" in simulated.world.violations[0]
