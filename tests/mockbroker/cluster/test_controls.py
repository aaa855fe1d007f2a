"""Controls do what they say, and say what is wrong when they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.controls import ControlError
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 1})


def test_a_clean_stop_moves_leaders_first_and_answers_who_waits(core: ClusterCore) -> None:
    leader = core.state("t").leader
    core.controls.stop(leader)
    core.deliver()
    state = core.state("t")
    assert state.leader not in (leader, -1)
    assert leader not in state.isr
    assert leader not in [each.broker_id for each in core.cluster.brokers]
    core.controls.revive(leader)
    core.advance(1000)
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_a_fenced_broker_stays_fenced_until_let_in(core: ClusterCore) -> None:
    leader = core.state("t").leader
    core.controls.fence(leader)
    core.advance(20_000)
    assert core.state("t").leader != leader
    assert core.cluster.metadata.brokers[leader].fenced
    core.controls.unfence(leader)
    core.advance(3000)
    assert not core.cluster.metadata.brokers[leader].fenced
    assert sorted(core.state("t").isr) == [1, 2, 3]


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


def test_a_skewed_clock_stamps_records_otherwise(core: ClusterCore) -> None:
    leader = core.state("t").leader
    broker = core.cluster.broker(leader)
    assert broker is not None
    before = broker.services.clock.wall_ms()
    core.controls.skew_clock(leader, 60_000)
    assert broker.services.clock.wall_ms() - before == 60_000
    assert core.cluster.clock.wall_ms() == before


def test_what_cannot_be_done_says_why(core: ClusterCore) -> None:
    controls = core.controls
    wrong: list[tuple[Callable[[], None], str]] = [
        (lambda: controls.kill(9), "there is no broker 9; there are 1, 2, 3"),
        (lambda: controls.revive(1), "broker 1 is running"),
        (lambda: controls.move_leader("x", 0, 1), "there is no topic 'x'"),
        (lambda: controls.hold_high_watermark("t", 7), "there is no partition t-7"),
        (lambda: controls.cut_link(1, 1), "two ends"),
        (lambda: controls.slow_link(1, 2, -1.0), "delay_ms: -1.0 is negative"),
        (lambda: controls.cut_link(1, 9), "there is no broker 9"),
        (lambda: controls.reassign("t", 0, [1, 9]), "9"),
        (lambda: controls.reassign("x", 0, [1]), "does not host"),
        (lambda: controls.elect_unclean("x", 0), "No such topic as x"),
        (lambda: controls.move_coordinator("g", 9), "broker 9 cannot lead"),
    ]
    for action, reason in wrong:
        with pytest.raises(ControlError, match=reason):
            action()
    controls.kill(1)
    with pytest.raises(ControlError, match="broker 1 is down"):
        controls.kill(1)
    controls.cut_link(2, CONTROLLER)


def test_one_broker_alone_has_nothing_to_control() -> None:
    with pytest.raises(ControlError, match="start more"):
        Core().cluster.controls.kill(1)


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
