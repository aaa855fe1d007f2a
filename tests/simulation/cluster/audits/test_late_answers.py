"""Answers of another epoch reach followers, with records that these would take but for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.replica.fetcher import ReplicaFetcher
from simulation.cluster.simulation import ClusterRun, plan_of

if TYPE_CHECKING:
    from mockbroker.replica.fetcher import PartitionFetchState
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

pytestmark = pytest.mark.sim


def violations(seed: int) -> list[str]:
    """Of a run in which nothing else happens."""
    plan = plan_of(seed)
    plan.on = {kind: kind == "late_answers" for kind in plan.on}
    plan.topics, plan.producers, plan.active_ms, plan.every_ms = {"t0": 1}, 3, 2_000.0, 100.0
    run = ClusterRun(seed, plan)
    run.live()
    assert any(step.action == "reassign" for step in run.operator.steps)
    return run.world.violations


def test_followers_take_none_of_them() -> None:
    assert violations(4) == []


def test_a_follower_that_takes_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    process = ReplicaFetcher._process_partition_data

    def whatever_its_epoch(
        self: ReplicaFetcher, followed: PartitionFetchState, data: FetchResponsePartition
    ) -> None:
        if followed.asked is not None:
            offset, _, last, start, mark = followed.asked
            followed.asked = offset, followed.partition.leader_epoch, last, start, mark
        process(self, followed, data)

    monkeypatch.setattr(ReplicaFetcher, "_process_partition_data", whatever_its_epoch)
    assert "takes an answer that is late" in violations(4)[0]
