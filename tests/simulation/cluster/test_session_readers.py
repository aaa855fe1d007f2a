"""Readers with sessions read all, and notice what a session leaves untold."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from simulation.cluster.session_readers import NodeSession, SessionReader
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.session_handler import AnsweredPartition
from tests.support.simulated_cluster import SimulatedCluster


class Reading:
    """A reader of `t0`, which has one partition, and its session at the leader."""

    def __init__(self, version: int = 12) -> None:
        simulated = self.simulated = SimulatedCluster()
        reader = SessionReader(
            simulated.world, "session", Random(1), simulated.truth, simulated.plan
        )
        self.reader, self.world = reader, simulated.world
        reader.version, reader.from_followers = version, False
        reader.tells_high_watermarks = version == 18
        reader.start()
        simulated.produce(3)
        self.world.run_for(2_000)

    @property
    def leader(self) -> int:
        return self.world.cluster.metadata.topics["t0"].partitions[0].leader


@pytest.mark.parametrize("version", [7, 12, 13, 15, 18])
def test_a_reader_reads_all_and_is_told_all(version: int) -> None:
    reading = Reading(version)
    assert reading.reader.positions == {("t0", 0): reading.simulated.truth.end_offset("t0", 0)}
    assert reading.reader.checks > 0
    assert not reading.reader.untold()
    assert not reading.world.violations


def test_a_reader_goes_elsewhere_when_its_broker_dies() -> None:
    reading = Reading()
    world, leader = reading.world, reading.leader
    world.operate(lambda: world.controls.kill(leader))
    world.run_for(3_000)
    reading.simulated.produce(3)
    world.run_for(3_000)
    assert reading.leader != leader
    assert reading.reader.positions == {("t0", 0): reading.simulated.truth.end_offset("t0", 0)}
    assert not world.violations


def test_what_a_session_does_not_tell_is_noticed() -> None:
    reading = Reading()
    reader, leader = reading.reader, reading.leader
    session, key = reader._sessions[leader], ("t0", 0)
    held = session.handler.view[key]
    session.handler.view[key] = AnsweredPartition(0, 99, 0)
    reader._look(leader, session)
    assert "is not told" in reader.untold()
    reader._check_told(leader, session, {key: session.untold[key]})
    assert not reading.world.violations
    session.handler.view[key] = held
    reader._check_told(leader, session, {})
    assert not reading.world.violations, "it is again what the session has"
    session.handler.view[key] = AnsweredPartition(0, 99, 0)
    reader._look(leader, session)
    reader._check_told(leader, session, {})
    assert "does not tell" in reading.world.violations[0]


def test_a_high_watermark_that_goes_back_is_noticed() -> None:
    reading = Reading()
    key = "t0", 0
    was, now = AnsweredPartition(0, 5, 0), AnsweredPartition(0, 4, 0)
    failed = AnsweredPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
    reader, node = reading.reader, reading.simulated.follower()
    session = NodeSession()
    session.asked_ms[key] = reading.world.now_ms
    reader._check_high_watermarks(node, session, {key: was}, {key: failed})
    partition = reading.simulated.partition_at(node)
    partition.append_as_follower(b"", partition.high_watermark - 1, 0)  # as a new leader answers
    reader._check_high_watermarks(node, session, {key: was}, {key: now})
    assert not reading.world.violations
    session.asked_ms[key] += 1
    reader._check_high_watermarks(node, session, {key: was}, {key: now})
    assert "went back from 5 to 4" in reading.world.violations[0]


def test_an_answer_with_strangers_is_noticed() -> None:
    reading = Reading()
    session = reading.reader._sessions[reading.leader]
    stranger = FetchResponseTopic("u", partitions=[FetchResponsePartition(0)])
    answer = FetchResponse(session_id=session.handler.session_id, responses=[stranger])
    reading.reader._take(reading.leader, session, answer, full=False)
    assert "which its session does not" in reading.world.violations[0]


def test_a_run_looks_into_all_caches() -> None:
    seed = next(seed for seed in range(50) if plan_of(seed).on["fetch_sessions"])
    run = ClusterRun(seed)
    run.live()
    assert not run.world.violations
    assert run.counts()["sessions' answers"] > 0
