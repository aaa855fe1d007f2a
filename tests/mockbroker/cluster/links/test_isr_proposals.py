"""In-sync sets on their way to the controller; what is lost or refused is proposed again."""

from __future__ import annotations

from tests.support.cluster_core import ClusterCore

LAG = {"replica.lag.time.max.ms": "3000"}


def test_a_follower_that_lags_leaves_and_returns_when_it_has_caught_up() -> None:
    core = ClusterCore(topics={"t": 1}, config=LAG)
    leader, follower, other = core.state("t").replicas
    producer = core.client(node=leader)
    core.controls.hold_follower("t", 0, follower)
    producer.produce("t", b"a", acks=-1, timeout_ms=60_000)
    assert not producer.answered
    core.advance(4600)
    assert core.state("t").isr == [leader, other]
    assert producer.produced().error_code == 0
    core.controls.release_follower("t", 0, follower)
    core.deliver()
    assert sorted(core.state("t").isr) == [1, 2, 3]
    assert core.log_ends("t") == {1: 1, 2: 1, 3: 1}


def test_a_proposal_that_a_cut_link_lost_is_made_again() -> None:
    core = ClusterCore(topics={"t": 1}, config=LAG)
    leader, follower, _ = core.state("t").replicas
    core.controls.hold_follower("t", 0, follower)
    core.client(node=leader).produce("t", b"a", acks=1)
    core.controls.cut_link(leader, -1)
    core.advance(4600)
    assert follower in core.state("t").isr
    core.controls.restore_link(leader, -1)
    core.advance(3000)
    assert follower not in core.state("t").isr


def test_idle_followers_stay_in_sync() -> None:
    core = ClusterCore(topics={"t": 1}, config=LAG)
    producer = core.client(node=core.state("t").leader)
    producer.produce("t", b"a")
    core.advance(60_000)
    producer.produce("t", b"b", acks=1)
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_a_proposal_without_news_holds_the_high_watermark_back() -> None:
    """The controller agreed, and may let the follower lead, though the leader has not heard."""
    core = ClusterCore(topics={"t": 1}, config=LAG)
    leader, follower, _ = core.state("t").replicas
    core.controls.hold_follower("t", 0, follower)
    producer = core.client(node=leader)
    producer.produce("t", b"a", acks=1)
    core.advance(4600)
    assert follower not in core.state("t").isr
    core.controls.hold_link(-1, leader)
    core.controls.release_follower("t", 0, follower)
    core.deliver()
    assert follower in core.state("t").isr
    core.controls.hold_follower("t", 0, follower)
    core.advance(10_000)
    producer.produce("t", b"b", acks=1)
    core.advance(5_000)
    assert follower in core.state("t").isr
    assert core.partition(leader, "t").high_watermark == 1
    core.controls.restore_link(-1, leader)
    core.controls.release_follower("t", 0, follower)
    core.advance(1_000)
    assert core.partition(leader, "t").high_watermark == 2


def test_what_the_controller_refused_is_forgotten() -> None:
    core = ClusterCore(topics={"t": 1}, config=LAG)
    leader, follower, _ = core.state("t").replicas
    partition = core.partition(leader, "t")
    core.controls.fence(follower)
    core.deliver()
    assert follower not in core.state("t").isr
    assert partition.followers is not None
    partition._propose(partition.followers, [*partition.state.isr, follower])
    core.deliver()
    assert partition.followers.proposed is None


def test_a_proposal_that_comes_after_its_broker_was_restarted_is_refused() -> None:
    """KIP-903: with what it has by now it may not be in sync."""
    core = ClusterCore(topics={"t": 1}, config=LAG)
    leader, follower, _ = core.state("t").replicas
    core.controls.hold_follower("t", 0, follower)
    core.client(node=leader).produce("t", b"a", acks=1)
    core.advance(4600)
    assert follower not in core.state("t").isr
    core.controls.hold_link(leader, -1)
    core.controls.release_follower("t", 0, follower)
    core.deliver()
    refused: list[int] = []
    alter = core.peers.control.alter_partition
    proposals = core.peers.running[leader].proposals
    assert proposals is not None

    def noting(*arguments: object) -> int:
        refused.append(alter(leader, *arguments))  # type: ignore[arg-type]
        return refused[-1]

    proposals._propose = noting  # type: ignore[assignment]
    core.controls.kill(follower)
    core.controls.revive(follower)
    core.advance(1500)
    core.controls.restore_link(leader, -1)
    core.deliver()
    assert refused[:2] == [107, 107]
    core.advance(3000)
    assert follower in core.state("t").isr
