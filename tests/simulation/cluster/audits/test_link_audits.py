"""What travels over links that carry nothing, or not at all over those that carry, is noticed."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker.cluster.links.isr_proposals import IsrProposals
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.links.metadata_feed import MetadataFeed
from simulation.cluster.audits.link_audits import LinkAudits, wrong_proposals
from tests.support.simulated_cluster import SimulatedCluster


def found(*, held_ms: float = 1_500) -> str:
    """What is found where a leader hears nothing for a while, and nor do those who ask it."""
    simulated = SimulatedCluster()
    world = simulated.world
    audits = LinkAudits(world)
    simulated.produce(1)
    leader = world.cluster.metadata.topics["t0"].partitions[0].leader
    follower = simulated.follower()
    world.operate(partial(world.controls.shrink_isr, "t0", 0, follower))
    world.operate(partial(world.controls.hold_link, CONTROLLER, leader))
    world.operate(partial(world.controls.hold_link, leader, follower))
    for node in world.nodes:
        if node != leader:
            world.operate(partial(world.controls.hold_link, leader, node))
    told: list[str] = []
    for at in range(40):
        world.run_for(held_ms / 20)
        if at == 20:
            world.operate(partial(world.controls.restore_link, CONTROLLER, leader))
            world.operate(partial(world.controls.restore_link, leader, follower))
        audits.look()
        for broker in world.cluster.brokers:
            told += wrong_proposals(broker, world.cluster.metadata)
    return "\n".join((*world.violations, *told))


def test_links_by_the_rules_are_in_order() -> None:
    assert found() == ""


def test_metadata_over_a_held_link_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def deliver(self: MetadataFeed) -> None:
        self.ready = False
        while self._pending:
            self.image.apply(self._pending.popleft()[1])

    monkeypatch.setattr(MetadataFeed, "deliver", deliver)
    assert "and its link is held" in found()


def test_metadata_that_is_not_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MetadataFeed, "_wake", lambda _: None)
    assert "does not hear what is due" in found()


def test_a_request_that_is_not_given_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BrokerClient, "_check", lambda _: None)
    assert "waits for broker" in found()


def proposed(*, forgets: bool) -> str:
    """What is found of a leader that does not hear that its proposal was taken."""
    simulated = SimulatedCluster()
    world = simulated.world
    simulated.produce(1)
    leader, follower = simulated.partition_at(_leader(simulated)), simulated.follower()
    held = partial(world.controls.hold_follower, "t0", 0, follower)
    world.operate(held)
    world.operate(partial(world.controls.shrink_isr, "t0", 0, follower))
    world.operate(partial(world.controls.hold_link, CONTROLLER, _leader(simulated)))
    world.operate(partial(world.controls.release_follower, "t0", 0, follower))
    world.run_for(300)
    assert leader.followers is not None
    assert leader.followers.proposed is not None
    if forgets:
        leader.followers.proposed = None
    broker = world.cluster.broker(_leader(simulated))
    assert broker is not None
    return "\n".join(wrong_proposals(broker, world.cluster.metadata))


def _leader(simulated: SimulatedCluster) -> int:
    return simulated.world.cluster.metadata.topics["t0"].partitions[0].leader


def test_a_proposal_that_is_kept_is_in_order() -> None:
    assert proposed(forgets=False) == ""


def test_one_that_is_forgotten_is_noticed() -> None:
    assert "are in sync" in proposed(forgets=True)


def test_one_that_is_not_sent_again_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(self: IsrProposals, partition: object, isr: list[int], epochs: list[int]) -> None:
        of = partition.leader_epoch, partition.state.partition_epoch  # type: ignore[attr-defined]
        self._send(partial(self._arrive, partition, of, isr, epochs))  # type: ignore[arg-type]

    monkeypatch.setattr(IsrProposals, "_ask", once)
    assert "and does not do so again" in proposed(forgets=False)
