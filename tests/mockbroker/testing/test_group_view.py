"""A group seen from a test."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mockbroker import MockBroker
from mockbroker.state.groups import GroupError
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker_protocol.messages.group_membership import (
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.mockbroker.state.test_groups import assignment
from tests.support.blocking import BlockingConnection
from tests.support.group_calls import join_request


class Consumer:
    """The only member of group g, over TCP."""

    def __init__(self, bootstrap: str) -> None:
        self.client = BlockingConnection(bootstrap)
        first = self.client.call(join_request(), 9, JoinGroupResponse)
        self.member_id = first.member_id
        self.client.call(join_request(first.member_id), 9, JoinGroupResponse)

    def sync(self) -> None:
        request = SyncGroupRequest(
            group_id="g",
            generation_id=1,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(self.member_id, assignment("orders", 0))],
        )
        self.client.call(request, 5, SyncGroupResponse)

    def commit(self, offset: int) -> None:
        topic = OffsetCommitRequestTopic(
            name="orders", partitions=[OffsetCommitRequestPartition(0, offset)]
        )
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=1,
            member_id=self.member_id,
            topics=[topic],
        )
        self.client.call(request, 8, OffsetCommitResponse)

    def leave(self) -> None:
        request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(self.member_id)])
        self.client.call(request, 5, LeaveGroupResponse)
        self.client.close()


def test_a_group_is_followed_through_its_life() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        broker.topic("orders").put_all(["one", "two"])
        group = broker.group("g")
        assert (group.state, broker.groups()) == ("Dead", [])
        consumer = Consumer(broker.bootstrap_servers)
        syncing = threading.Thread(target=consumer.sync)
        syncing.start()
        assert group.wait_stable(members=1).generation_id == 1
        syncing.join()
        assert [member.assignment for member in group.members()] == [{"orders": [0]}]
        assert group.lag() == {("orders", 0): 2}
        committing = threading.Thread(target=consumer.commit, args=(2,))
        committing.start()
        assert group.wait_committed({("orders", 0): 2}) == {("orders", 0): 2}
        committing.join()
        assert group.wait_caught_up() == {("orders", 0): 0}
        with pytest.raises(GroupError, match="group g: it is Stable"):
            group.commit({("orders", 0): 0})
        leaving = threading.Thread(target=consumer.leave)
        leaving.start()
        assert group.wait_state("Empty", "Dead").state == "Empty"
        assert group.wait_empty().state == "Empty"
        leaving.join()
        assert broker.groups() == ["g"]
        group.delete()
        assert broker.groups() == []


def test_what_a_group_never_commits_is_left_out_of_a_wait() -> None:
    with MockBroker(topics={"orders": 1, "changelog": 1}) as broker:
        broker.topic("changelog").put_all(["one", "two"])
        group = broker.group("g")
        group.commit({("orders", 0): 0, ("changelog", 0): 1})
        assert group.wait_caught_up(topics=["orders"]) == {("orders", 0): 0}
        with pytest.raises(WaitTimeoutError, match=r"to catch up in changelog: it is Empty"):
            group.wait_caught_up(0, topics=["changelog"])
        with pytest.raises(WaitTimeoutError, match="to catch up: it is Empty"):
            group.wait_caught_up(0)


def test_a_wait_in_vain_shows_the_group() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        broker.group("other").commit({("orders", 0): 3})
        with pytest.raises(WaitTimeoutError) as caught:
            broker.group("g").wait_stable(members=2, timeout=0)
        assert str(caught.value) == (
            "waited 0 s for group g to be Stable with 2 member(s): it is Dead with 0 member(s),"
            " committed {}, lag {}\n  groups: other"
        )
        with pytest.raises(WaitTimeoutError, match=r"to commit \{\('orders', 0\): 4\}"):
            broker.group("other").wait_committed({("orders", 0): 4}, 0)
        assert repr(broker.group("g")) == "GroupView('g')"


async def test_in_the_callers_loop_it_is_awaited() -> None:
    async with MockBroker(topics={"orders": 1}) as broker:
        await broker.aio.topic("orders").put("one")
        group = broker.aio.group("g")
        waiting = asyncio.ensure_future(group.wait_committed({("orders", 0): 1}))
        await group.commit({("orders", 0): 1})
        assert await waiting == {("orders", 0): 1}
        assert await group.committed() == {("orders", 0): 1}
        assert await group.lag() == {("orders", 0): 0}
        assert await group.wait_caught_up() == {("orders", 0): 0}
        assert (await group.describe()).state == "Empty"
        assert await group.members() == []
        assert (await group.wait_state("Empty")).group_id == "g"
        assert (await group.wait_empty()).group_id == "g"
        with pytest.raises(WaitTimeoutError, match="to be Stable: it is Empty"):
            await group.wait_stable(timeout=0)
        await group.delete()
        assert await group.committed() == {}
