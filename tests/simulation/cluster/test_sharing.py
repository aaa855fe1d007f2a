"""A seed that draws "coop" has groups that share; at rest their log says what is known."""

from __future__ import annotations

import pytest

from mockbroker.coop.ic_shard import CommittedRanges
from simulation.cluster.sharing import replayed_shard
from simulation.cluster.simulation import plan_of, simulate_cluster
from tests.support.simulated_sharing import crew_of, sharing_run

pytestmark = pytest.mark.sim


def test_seeds_draw_it_or_not_and_never_where_records_are_lost() -> None:
    plans = [plan_of(seed) for seed in range(60)]
    assert {plan.on["coop"] for plan in plans} == {True, False}
    assert not any(plan.on["coop"] and plan.may_lose for plan in plans)
    assert "s0" in next(plan for plan in plans if plan.on["coop"]).all_topics


def test_a_seed_that_has_it_repeats_itself() -> None:
    seed = next(seed for seed in range(60) if plan_of(seed).on["coop"])
    first, second = simulate_cluster(seed), simulate_cluster(seed)
    assert first.trace_hash == second.trace_hash
    assert not first.failed
    assert first.counts["shared standings"] > 0


def test_what_the_log_says_is_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sharing_run(monkeypatch, "crash", "move_leader", habits=("crash",))
    run.live()
    assert not run.world.violations
    crew = crew_of(run)
    (group,) = crew.groups
    broker = run.world.cluster.broker(
        run.world.cluster.metadata.topics["__individual_commit_offsets"].partitions[0].leader
    )
    assert broker is not None
    assert not replayed_shard(broker).groups
    commits = broker.services.extension.commits  # type: ignore[union-attr]
    shard = commits.runtime.shard_for(group.name)
    part = CommittedRanges()
    part.keys.insert(10_000, 10_001)
    shard.groups[group.name] = {("s0", 0): part}
    crew.check()
    told = [text.partition(" ms: ")[2] for text in run.world.violations]
    assert told[0].startswith("written ranges are")
    assert told[-1].startswith(f"{group.name} has committed all, and has")
