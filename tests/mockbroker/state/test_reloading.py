"""Groups and transactions come back as their logs have them, with the members that still live."""

from __future__ import annotations

from mockbroker.state.groups import commit_offsets, committed_offsets, describe_group
from mockbroker.state.reading import READ_COMMITTED, TopicReader
from mockbroker.state.reloading import reload_coordinators
from mockbroker.state.transactions import transaction
from mockbroker.state.writing import NewRecord, put
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from tests.support.core import Core, CoreClient
from tests.support.group_calls import consumer_heartbeat, stable_group
from tests.support.scoped import Scoped
from tests.support.transactions import Transactional


def heartbeat(client: CoreClient, member_id: str) -> int:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    return client.call(request, 4, HeartbeatResponse).error_code


def leave(client: CoreClient, member_id: str) -> None:
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id)])
    assert not client.call(request, 5, LeaveGroupResponse).error_code


def test_a_member_that_lives_stays_and_its_commits_go_back() -> None:
    scoped = Scoped(Core(topics={"t": 1}))
    client = scoped.core.client()
    member_id = stable_group(client)
    with scoped.unchanged():
        commit_offsets(scoped.cluster, "other", {("t", 0): 1})
        other = scoped.core.client()
        stable_group(other, "third")
    assert heartbeat(client, member_id) == ErrorCode.NONE


def test_a_group_that_lost_a_member_comes_back_without_any() -> None:
    scoped = Scoped(Core(topics={"t": 1}))
    client = scoped.core.client()
    member_id = stable_group(client)
    end = scoped.begin()
    leave(client, member_id)
    end()
    assert describe_group(scoped.cluster, "g").state == "Empty"
    assert heartbeat(client, member_id) == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_of_a_group_of_the_scope_are_unknown() -> None:
    scoped = Scoped(Core(topics={"t": 1}))
    client = scoped.core.client()
    with scoped.unchanged():
        member_id = stable_group(client)
    assert heartbeat(client, member_id) == ErrorCode.UNKNOWN_MEMBER_ID
    stable_group(scoped.core.client())


def test_members_of_the_consumer_protocol_stay_or_go_alike() -> None:
    scoped = Scoped(Core(topics={"t": 1}))
    client = scoped.core.client()
    epoch = consumer_heartbeat(client, "m1", topics=["t"]).member_epoch
    with scoped.unchanged():
        commit_offsets(scoped.cluster, "other", {("t", 0): 1})
    assert consumer_heartbeat(client, "m1", epoch).error_code == ErrorCode.NONE
    end = scoped.begin()
    assert consumer_heartbeat(client, "m1", -1).error_code == ErrorCode.NONE
    end()
    assert describe_group(scoped.cluster, "g").members == []
    assert consumer_heartbeat(client, "m1", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_from_a_snapshot_no_member_comes_back() -> None:
    core = Core(topics={"t": 1})
    epoch = consumer_heartbeat(core.client(), "m1", topics=["t"]).member_epoch
    reload_coordinators(core.cluster, "__consumer_offsets", range(50))
    assert consumer_heartbeat(core.client(), "m1", epoch).error_code == ErrorCode.NONE
    reload_coordinators(core.cluster, "__consumer_offsets", range(50), keep_members=False)
    assert describe_group(core.cluster, "g").members == []
    assert consumer_heartbeat(core.client(), "m1", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_transaction_that_was_open_is_open_again_and_one_of_the_scope_never_was() -> None:
    scoped = Scoped(Core(topics={"t": 1}))
    first = Transactional.begin(scoped.core, "first")
    first.add({"t": [0]})
    first.write("t", 0, "one")
    with scoped.unchanged():
        assert first.end(commit=True).error == ErrorCode.NONE
        second = Transactional.begin(scoped.core, "second")
        second.add({"t": [0]})
        second.write("t", 0, "two")
        assert second.end(commit=True).error == ErrorCode.NONE
        third = Transactional.begin(scoped.core, "third")
        third.add({"t": [0]})
        third.write("t", 0, "three")
    open_one = transaction(scoped.cluster, "first")
    assert open_one is not None
    assert open_one.state == "Ongoing"
    assert transaction(scoped.cluster, "second") is None
    put(scoped.cluster, "t", [NewRecord(b"plain")])
    committed = TopicReader("t", isolation=READ_COMMITTED)
    assert committed.read(scoped.cluster) == []
    assert third.end(commit=True).error == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert first.end(commit=True).error == ErrorCode.NONE
    values = [
        record.value for record in TopicReader("t", isolation=READ_COMMITTED).read(scoped.cluster)
    ]
    assert values == [b"one", b"plain"]


def test_other_topics_are_no_coordinator_s() -> None:
    core = Core(topics={"t": 1})
    commit_offsets(core.cluster, "g", {("t", 0): 0})
    reload_coordinators(core.cluster, "t", [0])
    assert committed_offsets(core.cluster, "g") == {("t", 0): 0}
