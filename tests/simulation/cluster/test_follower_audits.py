"""What a leader knows of its followers is held against them."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker.replica.in_sync import Follower, Followers
from mockbroker.replica.partition import Partition
from simulation.cluster.follower_audits import FollowerAudits
from tests.support.simulated_cluster import SimulatedCluster


def audited() -> SimulatedCluster:
    simulated = SimulatedCluster()
    FollowerAudits(simulated.world, simulated.truth)
    return simulated


def test_nothing_is_wrong_while_a_producer_writes() -> None:
    simulated = audited()
    simulated.produce(5)
    assert not simulated.world.violations
    assert simulated.leader_log().high_watermark


def test_a_high_watermark_ahead_of_the_followers_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Followers, "high_watermark", lambda _self, end, *_: end)
    simulated = audited()
    simulated.produce(1)
    assert "its in-sync replicas have" in simulated.world.violations[0]


def test_one_that_moves_with_too_few_in_sync_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "is_under_min_isr", lambda _: False)
    simulated = audited()
    simulated.plan.min_isr = 2
    world = simulated.world
    for node in (2, 3):
        world.operate(partial(world.controls.kill, node))
    simulated.producer.acks, simulated.producer.idempotent = 1, False
    simulated.producer.start()
    world.run_for(3_000)
    assert any("of at least 2 in sync" in one for one in world.violations)


def test_a_follower_that_is_taken_to_have_more_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = Follower.fetched

    def ahead(self: Follower, *told: object) -> None:
        fetched(self, *told)  # type: ignore[arg-type]
        self.log_end_offset += 100

    monkeypatch.setattr(Follower, "fetched", ahead)
    simulated = audited()
    simulated.producer.start()
    simulated.world.run_for(500)
    assert any("takes" in one and "to have" in one for one in simulated.world.violations)


def proposing(monkeypatch: pytest.MonkeyPatch, isr: list[int]) -> SimulatedCluster:
    """A follower is held, then released; its leader proposes this set both times."""
    monkeypatch.setattr(Followers, "shrinkage", lambda *_: isr)
    simulated = audited()
    simulated.produce(1)
    simulated.world.run_for(1_200)
    return simulated


def test_who_is_at_the_end_and_is_to_leave_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    leader = simulated.world.cluster.metadata.topics["t0"].partitions[0].leader
    simulated = proposing(monkeypatch, [leader])
    assert any("is at the end" in one for one in simulated.world.violations)


def test_a_proposal_that_is_not_noted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def propose(self: Partition, _: Followers, isr: list[int]) -> None:
        assert self._host.propose_isr is not None
        self._host.propose_isr(self, isr)

    monkeypatch.setattr(Partition, "_propose", propose)
    simulated = proposing(monkeypatch, [1])
    assert any("does not note" in one for one in simulated.world.violations)
