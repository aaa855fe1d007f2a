"""What is done to brokers and links, and what is wrong with it when it cannot be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.node_controls import ControlError
from mockbroker.metadata.changes import ClientQuotasChanged
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable


DAY_MS = 86_400_000


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


def test_a_broker_that_starts_anew_throttles_as_before(core: ClusterCore) -> None:
    values = {"producer_byte_rate": 1.0}
    core.act(
        lambda: core.cluster.metadata.apply(ClientQuotasChanged((("client-id", "a"),), values))
    )
    core.controls.kill(1)
    core.deliver()
    core.controls.revive(1)
    core.deliver()
    broker = core.cluster.broker(1)
    assert broker is not None
    assert broker.services.quotas is not None
    assert broker.services.quotas.charge("producer_byte_rate", "User:A", "a", 1000) > 0


def test_a_skewed_clock_stamps_records_otherwise(core: ClusterCore) -> None:
    leader = core.state("t").leader
    broker = core.cluster.broker(leader)
    assert broker is not None
    before = broker.services.clock.wall_ms()
    core.controls.skew_clock(leader, 60_000)
    assert broker.services.clock.wall_ms() - before == 60_000
    assert core.cluster.clock.wall_ms() == before


def test_a_clock_that_is_put_ahead_makes_logs_old_by_the_next_round(core: ClusterCore) -> None:
    leader = core.state("t").leader
    core.client(node=leader).produce("t", b"a")
    core.advance(60_000)
    log = core.partition(leader, "t").log
    assert log is not None
    core.controls.skew_clock(leader, 8 * DAY_MS)
    assert log.log_start_offset == 0
    core.advance(300_000)
    assert log.log_start_offset == 1


def test_a_broker_that_loses_its_unflushed_tail_gets_it_back_from_the_leader(
    core: ClusterCore,
) -> None:
    old = core.state("t").leader
    core.client(node=old).produce("t", b"a")
    core.controls.stop(old)  # flushed
    core.controls.revive(old)
    core.advance(3000)
    new = core.state("t").leader
    core.client(node=new).produce("t", b"b")
    core.controls.kill(old, lose="unflushed")
    core.deliver()
    kept = core.controls.log("t", 0, old)
    assert kept is not None
    assert (kept.log_end_offset, kept.high_watermark) == (1, 1)
    core.controls.revive(old)
    core.advance(3000)
    assert core.values(old, "t") == [b"a", b"b"]
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_nothing_acknowledged_is_lost_while_one_broker_at_a_time_loses_its_tail() -> None:
    core = ClusterCore(config={"min.insync.replicas": "2"}, topics={"t": 1})
    values = []
    for round_ in range(6):
        leader = core.state("t").leader
        values.append(b"%d" % round_)
        producer = core.client(node=leader)
        producer.produce("t", values[-1])
        assert producer.produced().error_code == 0
        fence = round_ % 2 == 0
        core.controls.kill(leader, lose="unflushed", fence=fence)
        core.deliver()
        core.controls.revive(leader)
        core.advance(10_000)
        assert core.state("t").leader != -1
        assert sorted(core.state("t").isr) == [1, 2, 3]
        assert [core.values(node, "t") for node in (1, 2, 3)] == [values] * 3


def test_who_crashed_is_not_eligible_until_it_has_caught_up() -> None:
    """KIP-966: it may lack what it acknowledged. The last one that led is taken in the end."""
    core = ClusterCore(config={"min.insync.replicas": "3"}, topics={"t": 1})
    old = core.state("t").leader
    first, second = (node for node in (1, 2, 3) if node != old)
    core.controls.kill(first)
    core.deliver()
    assert list(core.state("t").elr) == [first]
    core.controls.revive(first)
    core.deliver()
    assert first not in core.state("t").elr
    core.advance(3000)
    for node in (first, second, old):
        core.controls.kill(node, lose="unflushed")
        core.deliver()
    assert core.state("t").leader == -1
    core.controls.revive(first)
    core.advance(3000)
    assert core.state("t").leader == -1
    core.controls.revive(second)
    core.advance(3000)
    assert core.state("t").leader == -1
    core.controls.revive(old)
    core.advance(3000)
    assert core.state("t").leader == old
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_who_stopped_cleanly_stays_eligible() -> None:
    core = ClusterCore(config={"min.insync.replicas": "3"}, topics={"t": 1})
    leader = core.state("t").leader
    follower = next(node for node in (1, 2, 3) if node != leader)
    core.controls.stop(follower)
    core.controls.revive(follower)
    core.deliver()
    core.advance(3000)
    core.controls.kill(leader)
    core.deliver()
    assert follower in (*core.state("t").isr, *core.state("t").elr)


def test_what_cannot_be_done_says_why(core: ClusterCore) -> None:
    controls = core.controls
    wrong: list[tuple[Callable[[], None], str]] = [
        (lambda: controls.kill(9), "there is no broker 9; there are 1, 2, 3"),
        (lambda: controls.kill(1, lose="all"), "lose: 'all' is none of nothing, unflushed"),
        (lambda: controls.revive(1), "broker 1 is running"),
        (lambda: controls.move_leader("x", 0, 1), "there is no topic 'x'"),
        (lambda: controls.hold_high_watermark("t", 7), "there is no partition t-7"),
        (lambda: controls.cut_link(1, 1), "two ends"),
        (lambda: controls.slow_link(1, 2, -1.0), "delay_ms: -1.0 is negative"),
        (lambda: controls.cut_link(1, 9), "there is no broker 9"),
        (lambda: controls.reassign("t", 0, [1, 9]), "9"),
        (lambda: controls.reassign("x", 0, [1]), "does not host"),
        (lambda: controls.elect_unclean("x", 0), "No such topic as x"),
        (lambda: controls.elect_preferred("t", 7), "No such partition as t-7"),
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
