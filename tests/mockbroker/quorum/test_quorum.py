"""The quorum's epochs and its high watermark; fetches that wait are tested with their handler."""

from __future__ import annotations

import pytest

from mockbroker.quorum.quorum import METADATA_VERSION, ParkedFetch
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata_records import (
    FeatureLevelRecord,
    NoOpRecord,
    RegisterControllerRecord,
    TopicRecord,
)
from mockbroker_protocol.messages.raft_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
)
from tests.support.cluster_core import ClusterCore
from tests.support.metadata_logs import CONTROLLER, QuorumCore, records_in


def test_the_log_begins_with_leader_version_and_voters() -> None:
    core = QuorumCore()
    change, version, voters, *rest = records_in(core.quorum.log)
    assert isinstance(change, LeaderChangeMessage)
    assert isinstance(voters, VotersRecord)
    assert (change.leader_id, version) == (1, KRaftVersionRecord(0, 1))
    (voter,) = voters.voters
    assert voter.voter_directory_id == core.quorum.directory_id
    assert [(one.name, one.port) for one in voter.endpoints] == [(CONTROLLER.name, CONTROLLER.port)]
    assert FeatureLevelRecord("metadata.version", METADATA_VERSION) in rest
    assert any(isinstance(record, RegisterControllerRecord) for record in rest)


def test_a_voter_on_its_own_commits_at_once() -> None:
    core = QuorumCore(topics={"a": 1})
    assert core.quorum.high_watermark == core.quorum.log.log_end_offset
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    assert core.quorum.high_watermark == core.quorum.log.log_end_offset


def test_what_the_store_applies_goes_into_the_log() -> None:
    core = QuorumCore()
    end = core.quorum.log.log_end_offset
    from mockbroker.metadata.topic_requests import NewTopic

    core.act(lambda: core.cluster.controller.create_topics([NewTopic("later", 1)]))
    first, *_ = records_in(core.quorum.log, end)
    assert isinstance(first, TopicRecord)
    assert first.name == "later"


def test_the_high_watermark_trails_by_the_commit_delay() -> None:
    core = QuorumCore(config={"mockbroker.quorum.commit.delay.ms": "40"})
    marks = [core.quorum.high_watermark]
    core.advance(40)
    end = core.quorum.log.log_end_offset
    assert [*marks, core.quorum.high_watermark] == [None, end]
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    core.advance(20)
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    assert core.quorum.high_watermark == end
    core.advance(20)
    assert core.quorum.high_watermark == end + 1
    core.advance(20)
    assert core.quorum.high_watermark == end + 2


def test_held_commits_wait_for_their_release() -> None:
    core = QuorumCore()
    end = core.quorum.log.log_end_offset
    core.act(core.quorum.hold)
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    assert core.quorum.high_watermark == end
    core.act(core.quorum.release)
    assert core.quorum.high_watermark == end + 1
    core.act(core.quorum.release)
    assert core.quorum.high_watermark == end + 1


def test_a_new_epoch_commits_with_a_record_of_its_own() -> None:
    core = QuorumCore()
    core.act(core.quorum.hold)
    end = core.quorum.log.log_end_offset
    core.act(core.quorum.begin_epoch)
    assert (core.quorum.epoch, core.quorum.high_watermark) == (2, None)
    (change,) = records_in(core.quorum.log, end)
    assert isinstance(change, LeaderChangeMessage)
    core.act(core.quorum.release)
    assert core.quorum.high_watermark == end + 1


@pytest.mark.parametrize("interval", [0, 500])
def test_no_op_records_keep_the_log_moving(interval: int) -> None:
    core = QuorumCore(config={"metadata.max.idle.interval.ms": str(interval)})
    end = core.quorum.log.log_end_offset
    core.advance(1200)
    assert core.quorum.log.log_end_offset - end == (2 if interval else 0)
    core.cluster.release_parked(core.now_ms)
    core.advance(5000)
    assert core.quorum.log.log_end_offset - end == (2 if interval else 0)


def test_a_parked_fetch_ends_once() -> None:
    core = QuorumCore()
    ends: list[bool] = []
    fetch = ParkedFetch(core.quorum.log.log_end_offset, ends.append)
    core.act(lambda: core.quorum.park(fetch, core.now_ms + 100))
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    core.quorum.give_up(fetch)
    core.advance(200)
    assert ends == [False]


def test_an_advance_before_it_came_wakes_nobody() -> None:
    core = QuorumCore()
    core.act(core.quorum.hold)
    core.act(core.quorum.release)
    ends: list[bool] = []
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    core.act(core.quorum.hold)
    fetch = ParkedFetch(core.quorum.log.log_end_offset + 1, ends.append)
    core.act(lambda: core.quorum.park(fetch, core.now_ms + 100))
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    assert ends == []


DELAYED = {"mockbroker.quorum.commit.delay.ms": "40"}


def test_what_an_epoch_before_wrote_commits_nothing_of_the_next() -> None:
    core = QuorumCore(config=DELAYED)
    core.advance(40)
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    core.advance(20)
    core.act(core.quorum.begin_epoch)
    core.advance(20)
    assert core.quorum.high_watermark is None
    core.advance(20)
    assert core.quorum.high_watermark == core.quorum.log.log_end_offset


def test_a_late_commit_does_not_take_back_what_was_committed() -> None:
    core = QuorumCore(config=DELAYED)
    core.advance(40)
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    core.advance(20)
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    core.act(core.quorum.hold)
    core.act(core.quorum.release)
    end = core.quorum.log.log_end_offset
    for _ in range(3):
        assert core.quorum.high_watermark == end
        core.advance(20)


def test_whoever_waits_is_told_of_an_advance_and_of_another_epoch() -> None:
    core = QuorumCore()
    core.act(core.quorum.hold)
    core.act(lambda: core.quorum.append([NoOpRecord()]))
    told: list[tuple[bool, bool]] = []

    def answer(late: bool) -> None:
        told.append((late, core.quorum.is_leader))

    def wait() -> None:
        fetch = ParkedFetch(core.quorum.log.log_end_offset, answer)
        core.quorum.park(fetch, core.now_ms + 10_000)

    wait()
    core.act(core.quorum.release)
    assert told == [(False, True)]
    wait()
    core.act(core.quorum.begin_epoch)
    assert told[1:] == [(False, False)]


def test_only_who_knows_the_epoch_is_obeyed() -> None:
    core = QuorumCore()
    codes = [core.quorum.leader_error(core.quorum.epoch + by) for by in (-1, 0, 1)]
    assert codes == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


def test_brokers_that_are_up_hear_which_features_the_log_finalizes() -> None:
    core = ClusterCore()
    core.act(lambda: core.cluster.start_quorum(CONTROLLER, {1: [], 2: [], 3: []}))
    features = core.cluster.metadata.features
    assert features["metadata.version"] == METADATA_VERSION
    assert [broker.services.metadata.features for broker in core.cluster.brokers] == [features] * 3
