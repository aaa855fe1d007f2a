"""What is done to partitions: their leaders, in-sync sets, followers and high watermarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.node_controls import ControlError
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.cluster_core import ClusterCore

if TYPE_CHECKING:
    pass


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 1})


def test_a_moved_leader_is_known_to_the_old_one(core: ClusterCore) -> None:
    old = core.state("t").leader
    new = next(node for node in core.state("t").isr if node != old)
    producer = core.client(node=old)
    core.controls.move_leader("t", 0, new)
    core.deliver()
    producer.produce("t", b"a", version=12)
    answer = producer.receive(ProduceResponse)
    told = answer.responses[0].partition_responses[0]
    assert told.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told.current_leader is not None
    assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (new, 1)
    assert [each.node_id for each in answer.node_endpoints or ()] == [new]


def test_a_held_high_watermark_holds_up_who_waits_for_it(core: ClusterCore) -> None:
    producer = core.client(node=core.state("t").leader)
    core.controls.hold_high_watermark("t", 0)
    producer.produce("t", b"a")
    assert not producer.answered
    core.controls.release_high_watermark("t", 0)
    core.deliver()
    assert producer.produced().error_code == 0


def test_a_held_follower_below_the_minimum_in_sync_refuses_writes() -> None:
    core = ClusterCore(topics={"t": 1}, config={"min.insync.replicas": "3"})
    leader, follower, _ = core.state("t").replicas
    producer = core.client(node=leader)
    core.controls.hold_follower("t", 0, follower)
    producer.produce("t", b"a", timeout_ms=60_000)
    core.controls.shrink_isr("t", 0, follower)
    core.deliver()
    producer2 = core.client(node=leader)
    producer2.produce("t", b"b")
    assert producer2.produced().error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    core.controls.release_follower("t", 0, follower)
    core.deliver()
    assert producer.produced().error_code == 0


def test_a_reassignment_ends_when_the_new_replicas_are_in_sync() -> None:
    core = ClusterCore(topics={"t": 1}, config={"default.replication.factor": "2"})
    first, second = core.state("t").replicas
    (third,) = {1, 2, 3} - {first, second}
    producer = core.client(node=first)
    producer.produce("t", b"a", b"b")
    core.controls.reassign("t", 0, [third, second])
    core.advance(1000)
    assert list(core.state("t").replicas) == [third, second]
    assert sorted(core.state("t").isr) == sorted([third, second])
    moved = core.controls.log("t", 0, third)
    assert moved is not None
    assert moved.log_end_offset == 2
    assert core.controls.log("t", 0, first) is None


def test_a_preferred_election_gives_a_partition_back_to_its_first_replica() -> None:
    core = ClusterCore(topics={"t": 1})
    first, second, _ = core.state("t").replicas
    with pytest.raises(ControlError, match="not needed"):
        core.controls.elect_preferred("t", 0)
    core.controls.move_leader("t", 0, second)
    core.controls.hold_follower("t", 0, first)
    core.controls.shrink_isr("t", 0, first)
    with pytest.raises(ControlError, match="preferred leader was not available"):
        core.controls.elect_preferred("t", 0)
    core.controls.release_follower("t", 0, first)
    core.advance(1000)
    assert core.state("t").leader == second
    epoch = core.state("t").leader_epoch
    core.controls.elect_preferred("t", 0)
    core.deliver()
    assert (core.state("t").leader, core.state("t").leader_epoch) == (first, epoch + 1)


def test_an_unclean_election_loses_what_the_new_leader_lacks() -> None:
    core = ClusterCore(topics={"t": 1})
    leader, first, second = core.state("t").replicas
    for follower in (first, second):
        core.controls.hold_follower("t", 0, follower)
        core.controls.shrink_isr("t", 0, follower)
    producer = core.client(node=leader)
    producer.produce("t", b"a")
    assert producer.produced().error_code == 0
    with pytest.raises(ControlError, match="not needed"):
        core.controls.elect_unclean("t", 0)
    core.controls.kill(leader)
    core.deliver()
    assert core.state("t").leader == -1
    core.controls.elect_unclean("t", 0)
    core.deliver()
    assert core.state("t").leader == first
    kept = core.controls.log("t", 0, leader)
    assert kept is not None
    assert kept.log_end_offset == 1
    core.controls.revive(leader)
    core.advance(1000)
    truncated = core.controls.log("t", 0, leader)
    assert truncated is kept
    assert truncated.log_end_offset == 0


def test_a_group_is_coordinated_by_whoever_its_partition_was_moved_to(core: ClusterCore) -> None:
    before = core.controls.coordinator("readers")
    core.deliver()
    (after, _) = {1, 2, 3} - {before}
    core.controls.move_coordinator("readers", after)
    assert core.controls.coordinator("readers") == after
    core.controls.kill(after)
    core.deliver()
    assert core.controls.coordinator("readers") not in (after, -1)


def test_who_was_put_out_holds_nothing_back_though_its_session_was_polled_since() -> None:
    """Its fetcher asked for another partition of the same leader just before."""
    core = ClusterCore(topics={"t": 4})
    leader, *followers = core.state("t").replicas
    other = next(index for index in (1, 2, 3) if core.state("t", index).leader == leader)
    producer = core.client(node=leader)
    producer.produce("t", b"a")
    core.advance(100)
    producer.produce("t", b"b", index=other)
    core.advance(100)
    for follower in followers:
        core.controls.hold_follower("t", 0, follower)
        core.controls.shrink_isr("t", 0, follower)
    core.deliver()
    alone = core.client(node=leader)
    alone.produce("t", b"c")
    core.deliver()
    assert alone.produced().error_code == 0
