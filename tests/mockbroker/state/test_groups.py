"""Groups as a test sees them."""

from __future__ import annotations

import pytest

from mockbroker.state.groups import (
    Group,
    GroupError,
    Member,
    commit_offsets,
    committed_offsets,
    decode_assignment,
    describe_group,
    group_ids,
    lag,
)
from mockbroker.state.writing import NewRecord, delete_records, put
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.plan import encode
from tests.support.core import Core
from tests.support.group_calls import consumer_heartbeat, join_group, stable_group
from tests.support.inside import make_cluster


def assignment(topic: str, *indexes: int) -> bytes:
    assigned = [ConsumerProtocolTopicPartition(topic, list(indexes))]
    return b"\0\3" + b"".join(encode(ConsumerProtocolAssignment(assigned), 3))


def test_a_group_that_nobody_knows_is_dead() -> None:
    cluster = make_cluster()
    assert describe_group(cluster, "g") == Group("g", "Dead", -1, "", [])
    assert committed_offsets(cluster, "g") == {}
    assert lag(cluster, "g") == {}
    assert group_ids(cluster) == []


def test_members_have_what_they_were_assigned() -> None:
    core = Core(topics={"orders": 3})
    member_id = stable_group(core.client("svc"), assignment=assignment("orders", 2, 0))
    group = describe_group(core.cluster, "g")
    assert group[:4] == ("g", "Stable", 1, "range")
    assert group.members == [Member(member_id, "svc", "/127.0.0.1", None, {"orders": [0, 2]})]
    assert group_ids(core.cluster) == ["g"]


def test_an_assignment_that_is_no_consumers_is_empty() -> None:
    assert decode_assignment(b"") == {}
    assert decode_assignment(b"\0\0\0\0\0\x09") == {}
    assert decode_assignment(assignment("orders", 1)) == {"orders": [1]}


def test_lag_counts_from_the_commit_or_from_the_first_record() -> None:
    core = Core(topics={"orders": 3})
    cluster = core.cluster
    put(cluster, "orders", [NewRecord(b"x", partition=at % 3) for at in range(12)])
    commit_offsets(cluster, "g", {("orders", 0): 3})
    assert committed_offsets(cluster, "g") == {("orders", 0): 3}
    assert lag(cluster, "g") == {("orders", 0): 1}
    delete_records(cluster, "orders")
    put(cluster, "orders", [NewRecord(b"x", partition=2)])
    stable_group(core.client(), assignment=assignment("orders", 1, 2))
    assert lag(cluster, "g") == {("orders", 0): 1, ("orders", 1): 0, ("orders", 2): 1}


def test_commits_are_told_by_topic_and_partition_whichever_came_first() -> None:
    cluster = Core(topics={"b": 3, "a": 1}).cluster
    for place in (("b", 2), ("b", 0), ("a", 0), ("b", 1)):
        commit_offsets(cluster, "g", {place: 0})
    assert list(committed_offsets(cluster, "g")) == [("a", 0), ("b", 0), ("b", 1), ("b", 2)]


def test_offsets_are_committed_from_outside_for_a_group_without_members() -> None:
    core = Core(topics={"orders": 1})
    commit_offsets(core.cluster, "g", {("orders", 0): 7})
    with pytest.raises(GroupError, match="there is no partition orders-1; topics: orders"):
        commit_offsets(core.cluster, "g", {("orders", 1): 7})
    with pytest.raises(GroupError, match="there is no partition nope-0"):
        commit_offsets(core.cluster, "g", {("orders", 0): 8, ("nope", 0): 7})
    assert committed_offsets(core.cluster, "g") == {("orders", 0): 7}
    join_group(core.client())
    with pytest.raises(GroupError, match=r"has 1 member\(s\); allowed: a group without members"):
        commit_offsets(core.cluster, "g", {("orders", 0): 9})


def test_a_group_of_the_consumer_protocol_has_epochs_and_partitions_by_name() -> None:
    core = Core(topics={"orders": 2})
    client = core.client("svc")
    put(core.cluster, "orders", [NewRecord(b"x", partition=1)])
    first = consumer_heartbeat(client, "m1", topics=["orders"])
    group = describe_group(core.cluster, "g")
    assert group[:4] == ("g", "Stable", first.member_epoch, "uniform")
    assert group.group_type == "consumer"
    assert group.members == [
        Member("m1", "svc", "/127.0.0.1", None, {"orders": [0, 1]}, first.member_epoch)
    ]
    assert group_ids(core.cluster) == ["g"]
    assert lag(core.cluster, "g") == {("orders", 0): 0, ("orders", 1): 1}
    with pytest.raises(GroupError, match=r"it is Stable and has 1 member\(s\)"):
        commit_offsets(core.cluster, "g", {("orders", 0): 1})


def test_a_group_of_the_consumer_protocol_is_reconciling_until_all_have_their_share() -> None:
    core = Core(topics={"orders": 2}, config={"group.consumer.assignment.interval.ms": "0"})
    client = core.client()
    epoch = consumer_heartbeat(client, "m1", topics=["orders"]).member_epoch
    consumer_heartbeat(client, "m2", topics=["orders"])
    group = describe_group(core.cluster, "g")
    assert group.state in ("Assigning", "Reconciling")
    assert group.generation_id > epoch
    assert [member.assignment for member in group.members] == [{"orders": [0, 1]}, {}]


def test_an_empty_group_of_the_consumer_protocol_takes_commits_from_outside() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    consumer_heartbeat(client, "m1", topics=["orders"])
    consumer_heartbeat(client, "m1", -1)
    commit_offsets(core.cluster, "g", {("orders", 0): 7})
    assert describe_group(core.cluster, "g").state == "Empty"
    assert committed_offsets(core.cluster, "g") == {("orders", 0): 7}
