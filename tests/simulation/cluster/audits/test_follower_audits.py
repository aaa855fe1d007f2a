"""What a leader knows of its followers is held against them."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker.replica.in_sync import Follower, Followers
from mockbroker.replica.partition import Partition
from simulation.cluster.audits.follower_audits import FollowerAudits
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


def looked(simulated: SimulatedCluster, ms: int = 1_000) -> list[str]:
    """What is found by looks at all brokers while a producer writes."""
    world = simulated.world
    audits = FollowerAudits(world, simulated.truth)
    simulated.producer.acks, simulated.producer.idempotent = 1, False
    simulated.producer.start()
    for _ in range(ms // 20):
        world.run_for(20)
        for broker in world.cluster.brokers:
            audits.look(broker)
    return world.violations


def test_who_fetches_from_before_the_end_has_not_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(SimulatedCluster()) == []
    fetched = Follower.fetched

    def at_once(
        self: Follower, reader: object, end: int, now_ms: float, broker_epoch: int = -1
    ) -> None:
        fetched(self, reader, end, now_ms, broker_epoch)  # type: ignore[arg-type]
        self.log_end_offset, self.caught_up_ms = end // 2, now_ms

    monkeypatch.setattr(Follower, "fetched", at_once)
    assert any("has caught up with" in one for one in looked(SimulatedCluster()))


def test_a_low_watermark_of_the_leader_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Followers, "low_watermark", lambda _self, start: start + 1)
    assert "its low watermark is" in looked(SimulatedCluster())[0]


def test_who_left_the_set_has_to_catch_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(simulated: SimulatedCluster) -> list[str]:
        world, follower = simulated.world, simulated.follower()
        world.operate(partial(world.controls.hold_follower, "t0", 0, follower))
        return looked(simulated)

    assert leave(SimulatedCluster()) == []
    monkeypatch.setattr(Follower, "removed_from_isr", lambda _: None)
    assert any("left the set, and has caught up" in one for one in leave(SimulatedCluster()))


def test_who_has_lagged_since_nobody_looked_may_leave() -> None:
    simulated = audited()
    simulated.produce(3)
    world, node = simulated.world, simulated.follower()
    leader = world.cluster.metadata.topics["t0"].partitions[0].leader
    world.on_step.remove(simulated.truth.look)
    world.operate(partial(world.controls.hold_link, leader, node))
    simulated.produce(3)
    world.run_for(1_500)
    assert node not in world.cluster.metadata.topics["t0"].partitions[0].isr
    assert not any("was at the end" in one for one in world.violations)


def test_an_idle_follower_that_is_to_leave_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def resume(simulated: SimulatedCluster) -> list[str]:
        FollowerAudits(simulated.world, simulated.truth)
        simulated.produce(1)
        for _ in range(10):
            simulated.world.run_for(1_300)
            simulated.produce(3)
        return simulated.world.violations

    assert resume(SimulatedCluster()) == []
    monkeypatch.setattr(Follower, "leader_appended", lambda *_: None)
    monkeypatch.setattr(
        Follower, "is_caught_up", lambda self, *_: self.replica_id != 1 or self.fetched_ms < 1_000
    )
    assert any(
        "was at the end" in one or "is at the end" in one for one in resume(SimulatedCluster())
    )


def test_an_epoch_that_begins_below_what_came_before_it_is_noticed() -> None:
    simulated = audited()
    simulated.produce(5)
    moved_to = simulated.follower()
    simulated.world.operate(partial(simulated.world.controls.move_leader, "t0", 0, moved_to))
    found = looked(simulated)
    assert found == []
    for broker in simulated.world.cluster.brokers:
        for partition in broker.services.replicas.led_partitions():
            partition.epoch_start_offset = 0
    assert any("its epoch begins at" in one for one in looked(simulated, 100))


def test_what_is_known_of_followers_of_an_epoch_before_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated = audited()
    simulated.produce(1)
    audits = FollowerAudits(simulated.world, simulated.truth)
    for broker in simulated.world.cluster.brokers:
        audits.look(broker)
    for broker in simulated.world.cluster.brokers:
        for partition in broker.services.replicas.led_partitions():
            monkeypatch.setattr(partition, "leader_epoch", partition.leader_epoch + 1)
        audits.look(broker)
    assert "its followers are those of epoch" in simulated.world.violations[0]


def test_a_proposal_before_the_news_of_one_that_was_taken_is_noticed() -> None:
    simulated = SimulatedCluster()
    audits = FollowerAudits(simulated.world, simulated.truth)
    simulated.produce(1)
    state = simulated.world.cluster.metadata.topics["t0"].partitions[0]
    leader, isr = simulated.partition_at(state.leader), [state.leader]
    assert audits._taken_before(leader, isr) == ""
    taken = state._replace(isr=isr, partition_epoch=state.partition_epoch + 1)
    simulated.world.cluster.metadata.topics["t0"].partitions[0] = taken
    assert "was taken" in audits._taken_before(leader, [*state.replicas])
