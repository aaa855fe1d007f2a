"""Routing to shards, the internal topic, and partitions that are owned elsewhere."""

from __future__ import annotations

import pytest

from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import LeaveGroupRequest, LeaveGroupResponse
from mockbroker_protocol.messages.group_offsets import OffsetDeleteRequest, OffsetDeleteResponse
from tests.support.groups import SESSION_MS, Answer, Groups

TOPIC = "__consumer_offsets"


def test_the_internal_topic_is_made_by_the_first_record() -> None:
    groups = Groups()
    groups.heartbeat("m", 1)
    groups.service.list_groups([], [])
    groups.service.describe_group("g", 6)
    groups.fetched()
    assert TOPIC not in groups.metadata.topics
    groups.commit(5)
    assert len(groups.metadata.topics[TOPIC].partitions) == 50


@pytest.mark.parametrize(("count", "index"), [("50", 3), ("5", 3), ("2", 1)])
def test_records_stand_in_the_partition_of_their_group(count: str, index: int) -> None:
    groups = Groups({"offsets.topic.num.partitions": count})
    groups.commit(5, group_id="g")
    assert list(groups.log) == [index]


def test_groups_stay_where_they_are_when_the_topic_has_other_counts() -> None:
    groups = Groups()
    groups.controller.create_topics([NewTopic(TOPIC, 4)])
    assert groups.service.runtime.partition_for("g") == 103 % 4


def test_a_topic_that_cannot_be_made_is_no_coordinator() -> None:
    groups = Groups({"offsets.topic.replication.factor": "3"})
    assert groups.commit(5) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_group_that_is_coordinated_elsewhere() -> None:
    groups = Groups()
    groups.service.runtime.unload(groups.service.runtime.partition_for("g"))
    error = ErrorCode.NOT_COORDINATOR
    assert groups.join().value.error_code == error
    assert groups.sync("m", 1).value.error_code == error
    assert groups.heartbeat("m", 1) == error
    assert groups.commit(5) == error
    left: Answer[LeaveGroupResponse] = Answer()
    groups.service.leave(LeaveGroupRequest("g", "m"), 2, left)
    assert left.value.error_code == error
    deleted: Answer[OffsetDeleteResponse] = Answer()
    groups.service.offsets.delete(OffsetDeleteRequest("g"), deleted)
    assert deleted.value.error_code == error
    assert groups.service.offsets.fetch("g", None, require_stable=False) == (error, [])
    assert groups.service.describe_group("g", 6).error_code == error
    errors: list[ErrorCode] = []
    groups.service.delete_group("g", errors.append)
    assert errors == [error]


def test_bad_requests_are_refused_before_they_reach_a_shard() -> None:
    groups = Groups()
    groups.service.runtime.unload(groups.service.runtime.partition_for(""))
    assert groups.join(group_id="").value.error_code == ErrorCode.INVALID_GROUP_ID
    assert groups.heartbeat("m", 1, group_id="") == ErrorCode.INVALID_GROUP_ID


def test_members_that_were_loaded_have_a_whole_session_and_no_more() -> None:
    groups = Groups()
    groups.stable(1)
    other = groups.rebuilt()
    other.advance(SESSION_MS - 1)
    assert other.group().members
    other.advance(1)
    assert not other.group().members
