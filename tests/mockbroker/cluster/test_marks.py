"""Brokers, links and holds are as they were, whatever was done to them in between."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.state.writing import NewRecord, put
from tests.support.cluster_core import ClusterCore
from tests.support.metadata_logs import QuorumCore
from tests.support.scoped import Scoped

if TYPE_CHECKING:
    from collections.abc import Callable


SELDOM = {"replica.fetch.wait.max.ms": "2000", "replica.lag.time.max.ms": "10000"}
"""Fewer rounds of fetches among the brokers."""


@pytest.fixture
def scoped() -> Scoped:
    scoped = Scoped(ClusterCore(topics={"t": 2}, config=SELDOM))
    put(scoped.cluster, "t", [NewRecord(b"x", partition=0), NewRecord(b"y", partition=1)])
    return scoped


def leader_and_follower(scoped: Scoped) -> tuple[int, int]:
    state = scoped.cluster.controls.partition_state("t", 0)
    return state.leader, next(node for node in state.replicas if node != state.leader)


def kill(scoped: Scoped) -> None:
    scoped.cluster.controls.kill(leader_and_follower(scoped)[0])


def kill_silently(scoped: Scoped) -> None:
    scoped.cluster.controls.kill(leader_and_follower(scoped)[0], fence=False)


def kill_and_lose(scoped: Scoped) -> None:
    scoped.cluster.controls.kill(leader_and_follower(scoped)[0], lose="unflushed")


def stop(scoped: Scoped) -> None:
    scoped.cluster.controls.stop(leader_and_follower(scoped)[1])


def stop_all(scoped: Scoped) -> None:
    for node_id in (1, 2, 3):
        scoped.cluster.controls.kill(node_id)


def kill_and_revive(scoped: Scoped) -> None:
    node_id = leader_and_follower(scoped)[0]
    scoped.cluster.controls.kill(node_id)
    scoped.cluster.interconnect.drain()
    scoped.cluster.controls.revive(node_id)


def fence(scoped: Scoped) -> None:
    scoped.cluster.controls.fence(leader_and_follower(scoped)[0])


def isolate(scoped: Scoped) -> None:
    scoped.cluster.controls.isolate(leader_and_follower(scoped)[0])


def slow(scoped: Scoped) -> None:
    scoped.cluster.controls.slow_link(1, 2, 50)
    scoped.cluster.controls.slow_link(CONTROLLER, 3, 50)


def hold(scoped: Scoped) -> None:
    scoped.cluster.controls.hold_link(1, 2)
    scoped.cluster.controls.hold_link(CONTROLLER, 1)


def move_leader(scoped: Scoped) -> None:
    scoped.cluster.controls.move_leader("t", 0, leader_and_follower(scoped)[1])


def shrink(scoped: Scoped) -> None:
    follower = leader_and_follower(scoped)[1]
    scoped.cluster.controls.hold_follower("t", 0, follower)
    scoped.cluster.controls.shrink_isr("t", 0, follower)


def reassign(scoped: Scoped) -> None:
    scoped.cluster.controls.reassign("t", 0, [leader_and_follower(scoped)[1]])


def skew(scoped: Scoped) -> None:
    scoped.cluster.controls.skew_clock(2, 60_000)


def unregister(scoped: Scoped) -> None:
    scoped.cluster.controller.replication.unregister(2)


def tell_nothing(scoped: Scoped) -> None:
    scoped.cluster.controls.tell_high_watermark(tell=False)


def hold_high_watermark(scoped: Scoped) -> None:
    scoped.cluster.controls.hold_high_watermark("t", 1)


ACTIONS = [
    fence,
    hold,
    hold_high_watermark,
    isolate,
    kill,
    kill_and_lose,
    kill_and_revive,
    kill_silently,
    move_leader,
    reassign,
    shrink,
    skew,
    slow,
    stop,
    stop_all,
    tell_nothing,
    unregister,
]


def act(scoped: Scoped, action: Callable[[Scoped], None]) -> None:
    scoped.core.act(lambda: action(scoped))
    scoped.advance(3_000)


def write(scoped: Scoped) -> None:
    """Put records where there is somebody to take them."""
    for index in (0, 1):
        if scoped.cluster.broker(scoped.cluster.controls.partition_state("t", index).leader):
            scoped.core.act(partial(put, scoped.cluster, "t", [NewRecord(b"z", partition=index)]))
    scoped.advance(3_000)


@pytest.mark.parametrize("action", ACTIONS)
def test_what_was_whole_is_whole_again(scoped: Scoped, action: Callable[[Scoped], None]) -> None:
    with scoped.unchanged():
        act(scoped, action)
        write(scoped)
    for index in (0, 1):
        scoped.core.act(partial(put, scoped.cluster, "t", [NewRecord(b"n", partition=index)]))
    scoped.advance(1_000)
    logs = [
        log for node in (1, 2, 3) if (log := scoped.cluster.controls.log("t", 0, node)) is not None
    ]
    assert {(log.log_end_offset, log.high_watermark) for log in logs} == {(2, 2)}


CUT_OFF = (hold, isolate)


@pytest.mark.parametrize("action", CUT_OFF)
def test_links_that_were_broken_are_broken_again(
    scoped: Scoped, action: Callable[[Scoped], None]
) -> None:
    links = scoped.cluster.interconnect.links
    act(scoped, action)
    before = links.faulty()
    end = scoped.begin()
    for source, target in before:
        scoped.cluster.controls.restore_link(source, target)
    scoped.cluster.controls.cut_link(2, 3)
    scoped.advance(1_000)
    end()
    assert links.faulty() == before


@pytest.mark.parametrize("action", [action for action in ACTIONS if action not in CUT_OFF])
def test_what_was_broken_is_broken_again(scoped: Scoped, action: Callable[[Scoped], None]) -> None:
    controls = scoped.cluster.controls
    act(scoped, action)
    scoped.advance(20_000)
    with scoped.unchanged():
        for source in (1, 2, 3, CONTROLLER):
            for target in (1, 2, 3, CONTROLLER):
                if source != target:
                    controls.restore_link(source, target)
        for node in scoped.cluster.nodes:
            if node.broker is None:
                controls.revive(node.node_id)
            scoped.core.deliver()
            controls.unfence(node.node_id)
            controls.skew_clock(node.node_id, 0)
        controls.tell_high_watermark(tell=True)
        scoped.advance(3_000)
        write(scoped)


@pytest.fixture
def with_metadata_log() -> Scoped:
    return Scoped(QuorumCore(topics={"t": 1}))


def test_commits_of_the_metadata_log_that_were_held_inside_go_on(with_metadata_log: Scoped) -> None:
    quorum = with_metadata_log.cluster.quorum()
    with with_metadata_log.unchanged():
        quorum.hold()
        quorum.append_no_op()
        assert quorum.high_watermark == quorum.log.log_end_offset - 1
    quorum.append_no_op()
    assert quorum.high_watermark == quorum.log.log_end_offset


def test_commits_of_the_metadata_log_that_were_held_are_held_again(
    with_metadata_log: Scoped,
) -> None:
    quorum = with_metadata_log.cluster.quorum()
    quorum.hold()
    with with_metadata_log.unchanged():
        quorum.release()
    quorum.append_no_op()
    assert quorum.high_watermark == quorum.log.log_end_offset - 1


def test_a_reset_lets_commits_of_the_metadata_log_go_on(with_metadata_log: Scoped) -> None:
    quorum = with_metadata_log.cluster.quorum()
    quorum.hold()
    with_metadata_log.core.act(with_metadata_log.scopes.reset)
    quorum.append_no_op()
    assert quorum.high_watermark == quorum.log.log_end_offset
