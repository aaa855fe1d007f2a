"""Committing, fetching and deleting positions."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.offsets import TopicPartitions
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue
from mockbroker_protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from tests.support.groups import EPOCH_MS, SESSION_MS, Answer, Groups, subscription


def delete(groups: Groups, *partitions: int, group_id: str = "g") -> OffsetDeleteResponse:
    answer: Answer[OffsetDeleteResponse] = Answer()
    asked = [OffsetDeleteRequestPartition(index) for index in partitions]
    topics = [OffsetDeleteRequestTopic("t", asked)]
    groups.service.offsets.delete(OffsetDeleteRequest(group_id, topics), answer)
    return answer.value


def test_a_commit_without_a_group_makes_a_simple_one() -> None:
    groups = Groups()
    assert groups.commit(5, metadata="note") == 0
    stored = groups.fetched()["t", 0]
    assert (stored.offset, stored.leader_epoch, stored.metadata) == (5, 7, "note")
    group = groups.group()
    assert (group.state, group.protocol_type) == (GroupState.EMPTY, None)


def test_a_commit_is_one_record() -> None:
    groups = Groups()
    groups.commit(5, metadata=None, partition=1)
    (record,) = groups.records()
    assert record.key == OffsetCommitKey("g", "t", 1)
    assert record.value == OffsetCommitValue(5, 7, "", EPOCH_MS)


@pytest.mark.parametrize(
    ("version", "error"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_generation_of_no_group_is_refused(version: int, error: ErrorCode) -> None:
    groups = Groups()
    assert groups.commit(5, member_id="m", generation_id=1, version=version) == error
    assert groups.shard().groups == {}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, 0),
        ({"member_id": "", "generation_id": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"metadata": "x" * 4096}, 0),
        ({"metadata": "x" * 4097}, ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_commits_of_a_stable_group(options: dict[str, object], error: int) -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    arguments: dict[str, object] = {"member_id": member_id, "generation_id": 1, **options}
    assert groups.commit(5, **arguments) == error  # type: ignore[arg-type]
    assert (("t", 0) in groups.fetched()) == (error == 0)


def test_an_empty_group_takes_commits_from_anyone_outside_a_generation() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    groups.leave((member_id, None))
    assert groups.commit(5) == 0
    assert groups.commit(6, member_id="x") == 0
    in_generation = groups.commit(7, member_id=member_id, generation_id=2)
    assert in_generation == ErrorCode.UNKNOWN_MEMBER_ID


def test_commits_are_taken_while_joining_but_not_before_the_sync() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.join(leader)
    assert groups.commit(5, member_id=follower, generation_id=1) == 0
    groups.join(follower)
    in_between = groups.commit(6, member_id=follower, generation_id=2)
    assert in_between == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_renews_the_session() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    groups.advance(SESSION_MS - 1)
    groups.commit(5, member_id=member_id, generation_id=1)
    groups.advance(SESSION_MS - 1)
    assert member_id in groups.group().members


def test_the_retention_of_old_versions_is_a_time() -> None:
    groups = Groups()
    groups.commit(5, retention_ms=1_000, version=4)
    (record,) = groups.records()
    assert isinstance(record.value, OffsetCommitValue)
    assert record.value.expire_timestamp == EPOCH_MS + 1_000
    assert record.value_version == 1


def test_a_commit_that_cannot_be_written_changes_nothing() -> None:
    groups = Groups()
    groups.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert groups.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.fetched() == {}


def test_what_was_never_committed_is_minus_one_without_error() -> None:
    groups = Groups()
    groups.commit(5)
    asked = [TopicPartitions("t", [0, 1]), TopicPartitions("other", [3])]
    error, topics = groups.service.offsets.fetch("g", asked, require_stable=False)
    assert error is ErrorCode.NONE
    found = [[(one.offset, one.metadata, one.error) for one in each] for _, each in topics]
    assert found == [[(5, "", 0), (-1, "", 0)], [(-1, "", 0)]]
    error, topics = groups.service.offsets.fetch("none", None, require_stable=True)
    assert (error, topics) == (ErrorCode.NONE, [])


def test_a_position_of_an_earlier_topic_of_that_name_is_not_shown() -> None:
    groups = Groups()
    groups.commit(5, topic_id=b"1" * 16)
    asked = [TopicPartitions("t", [0], topic_id) for topic_id in (bytes(16), b"1" * 16, b"2" * 16)]
    _, topics = groups.service.offsets.fetch("g", asked, require_stable=False)
    assert [fetched[0].offset for _, fetched in topics] == [5, 5, -1]


def test_positions_of_an_open_transaction_are_unstable() -> None:
    groups = Groups()
    groups.commit(5)
    record = groups.records()[0]
    groups.shard().replay(1, 42, record)
    assert groups.fetched(require_stable=True)["t", 0].error is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert groups.fetched()["t", 0].offset == 5
    groups.shard().end_transaction(42, commit=True)
    assert groups.fetched(require_stable=True)["t", 0].offset == 5


def test_deleting_writes_a_tombstone_where_something_is_stored() -> None:
    groups = Groups()
    groups.commit(5)
    response = delete(groups, 0, 1)
    assert [one.error_code for one in response.topics[0].partitions] == [0, 0]
    assert groups.fetched() == {}
    assert [record.value is None for record in groups.records()] == [False, True]


def test_a_topic_with_a_subscriber_keeps_its_positions() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1, protocols=[("range", subscription("t"))])
    groups.commit(5, member_id=member_id, generation_id=1)
    response = delete(groups, 0)
    assert response.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert ("t", 0) in groups.fetched()


def test_a_topic_that_no_member_reads_loses_its_positions() -> None:
    groups = Groups(topics=(("t", 2), ("other", 1)))
    (member_id,) = groups.stable(1, protocols=[("range", subscription("other"))])
    groups.commit(5, member_id=member_id, generation_id=1)
    assert delete(groups, 0).topics[0].partitions[0].error_code == 0
    assert groups.fetched() == {}


def test_deleting_needs_a_group_that_can_tell_what_it_reads() -> None:
    groups = Groups()
    assert delete(groups, 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete(groups, 0, group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    groups.join(version=3, protocol_type="connect")
    assert delete(groups, 0).error_code == ErrorCode.NON_EMPTY_GROUP


def test_a_deletion_that_cannot_be_written_changes_nothing() -> None:
    groups = Groups()
    groups.commit(5)
    groups.fail_with = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert delete(groups, 0).error_code == ErrorCode.NOT_COORDINATOR
    assert ("t", 0) in groups.fetched()
