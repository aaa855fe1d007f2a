"""What is stored is held against what was appended; deletions and disks do no harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simulation.cluster.plan import COMPACTED, CREW_KINDS, DELETED, SHORT_LIVED
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.steps import Step
from simulation.cluster.storage import StorageCrew

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog


def log_of(crew: StorageCrew, name: str, index: int, node: int) -> UnifiedLog:
    log = crew.world.controls.log(name, index, node)
    assert log is not None
    return log


pytestmark = pytest.mark.sim

STORAGE = ("delete_records", "retention", "compaction", "full_disk", "snapshot")


def storage_run(*kinds: str, steps: list[Step] | None = None) -> tuple[ClusterRun, StorageCrew]:
    """A run of seed 4 with nothing on but these kinds."""
    assert set(kinds) <= set(CREW_KINDS)
    plan = plan_of(4)
    plan.on = {kind: kind in kinds for kind in plan.on}
    plan.transactors = plan.processors = 0
    plan.topics, plan.producers, plan.active_ms = {"t0": 1}, 3, 2_000.0
    run = ClusterRun(4, plan, steps)
    (crew,) = (crew for crew in run.crews if isinstance(crew, StorageCrew))
    return run, crew


def test_every_kind_of_storage_does_its_work_and_breaks_no_rule() -> None:
    run, crew = storage_run(*STORAGE)
    run.live()
    assert not run.world.violations
    counts = crew.counts()
    assert counts["deleted"]
    assert counts["compacted away"]
    assert counts["restored"] == 1
    assert any(step.action == "fill_disk" for step in run.operator.steps)
    assert not run.world.cluster.faults.list()
    starts = {
        name: log_of(crew, name, 0, 1).log_start_offset
        for name in (COMPACTED, DELETED, SHORT_LIVED)
    }
    assert starts[COMPACTED] == 0
    assert starts[DELETED] > 0
    assert starts[SHORT_LIVED] > 0


def test_a_full_disk_refuses_producers_until_it_is_freed() -> None:
    steps = [Step(100.0 + node, "fill_disk", node_id=node) for node in (1, 2, 3)]
    run, _ = storage_run("full_disk", steps=steps)
    run._create_topics()
    run.operator.play(steps)
    for crew in run.crews:
        crew.start()
    run.world.run_for(1_000)
    assert any(": 56" in line for line in run.world.trace.last())
    for crew in run.crews:
        crew.stop()
        crew.finish()
    assert run.world.run_until(lambda: not run._busy(), 5_000)


def test_a_record_that_differs_or_is_missing_is_noticed() -> None:
    run, crew = storage_run("compaction")
    run.live()
    assert not run.world.violations
    truth = run.truth.find("t0", 0)
    assert truth is not None
    entries = truth.mirrors[2].entries
    assert entries[0] is not None
    entries[0] = entries[0][0], b"k=another"
    crew.check()
    compacted = run.truth.find(COMPACTED, 0)
    assert compacted is not None
    mirror = compacted.mirrors[3]
    log = log_of(crew, COMPACTED, 0, 3)
    crew._check_stored(compacted, 3, log, {}, compacted=True)
    assert mirror.entries
    told = [text.partition(": ")[2] for text in run.world.violations]
    assert "t0-0: broker 2 holds" in run.world.violations[0]
    assert any("lost the last value of" in text for text in told)


def test_a_hole_is_noticed_unless_an_unclean_election_may_have_cut_it() -> None:
    run, crew = storage_run("compaction")
    run.live()
    truth = run.truth.find("t0", 0)
    assert truth is not None
    log = log_of(crew, "t0", 0, 2)
    for floor, told in ((-1, 1), (0, 0)):
        del run.world.violations[:]
        truth.unclean_floor = floor
        crew._check_stored(truth, 2, log, {}, compacted=False)
        assert len(run.world.violations) == told


def test_a_snapshot_that_is_not_restored_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = storage_run("snapshot")
    monkeypatch.setattr("mockbroker.state.snapshot.restore", lambda *_: None)
    run.live()
    assert "the restored snapshot differs: topics" in run.world.violations[0]


def test_quotas_and_acls_that_are_not_restored_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, _ = storage_run("snapshot")
    for name in ("replace_client_quotas", "replace_acls"):
        monkeypatch.setattr(f"mockbroker.state.snapshot.{name}", lambda *_: None)
    run.live()
    assert "the restored snapshot differs: quotas" in run.world.violations[0]
