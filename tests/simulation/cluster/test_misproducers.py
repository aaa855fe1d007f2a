"""What a leader must refuse is refused for its reason, and none of it is stored."""

from __future__ import annotations

from random import Random
from unittest.mock import ANY

import pytest

from mockbroker.log import validator
from simulation.cluster.misproducers import BAD, MISTAKES, Misproducer, MisproducerCrew
from simulation.cluster.plan import COMPACTED, FORMATTED
from simulation.cluster.simulation import ClusterRun, plan_of
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def misproducer_of(simulated: SimulatedCluster) -> Misproducer:
    return Misproducer(simulated.world, "misproducer", Random(2), simulated.truth, simulated.plan)


def test_every_mistake_is_refused() -> None:
    simulated = SimulatedCluster()
    misproducer = misproducer_of(simulated)
    misproducer.start()
    simulated.world.run_for(6_000)
    assert not simulated.world.violations
    assert misproducer.refused > 3 * len(MISTAKES)
    assert simulated.leader_log().log_end_offset == 0


def test_a_bad_batch_that_is_stored_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    monkeypatch.setattr(validator, "crc32c", lambda _: ANY)
    misproducer = misproducer_of(simulated)
    misproducer.start()
    assert simulated.world.run_until(lambda: bool(simulated.world.violations), 6_000)
    assert "flips a bit" in simulated.world.violations[0]


def test_topics_of_other_formats_live_on_beside_bad_batches() -> None:
    plan = plan_of(4)
    plan.on = {kind: kind in ("formats", "compaction") for kind in plan.on}
    plan.transactors = plan.processors = 0
    plan.topics, plan.producers, plan.active_ms = {"t0": 1}, 2, 2_000.0
    run = ClusterRun(4, plan)
    run.live()
    assert not run.world.violations
    (crew,) = (crew for crew in run.crews if isinstance(crew, MisproducerCrew))
    assert crew.counts()["bad batches"] > 5
    assert set(plan.all_topics) == {"t0", COMPACTED, FORMATTED}
    truth = run.truth.find("t0", 0)
    assert truth is not None
    truth.mirrors[1].entries.append((0, b"=" + BAD))
    crew.check()
    assert "has stored what was refused" in run.world.violations[0]
