"""What is told of groups is replicated: nothing is un-read when their coordinator dies."""

from __future__ import annotations

import pytest

from mockbroker.state.groups import committed_offsets, describe_group, group_ids
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.cluster_core import ClusterCore, NodeClient
from tests.support.groups import subscription
from tests.support.transactions import GROUP, Told, Transactional, read_committed

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
COORDINATOR = 2
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


class World:
    """Three brokers; 2 coordinates every group, 1 every transaction."""

    def __init__(self, **config: str) -> None:
        internal = {
            **{name.replace("_", "."): value for name, value in config.items()},
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "replica.fetch.wait.max.ms": "2000",
        }
        self.core = ClusterCore(topics={"t": 1}, config=internal)
        self.producer = Transactional(self.core, "tx")
        self.producer.find()
        self.producer.find("g", GROUP)
        self.core.controls.move_leader(OFFSETS, 0, COORDINATOR)
        self.core.controls.move_leader(TRANSACTIONS, 0, 1)
        self.core.advance(1000)

    def hold(self) -> None:
        """From now on nothing of the groups is replicated."""
        for node in (1, 3):
            self.core.controls.hold_follower(OFFSETS, 0, node)
        self.core.advance(600)

    def heal(self) -> None:
        for node in (1, 3):
            self.core.controls.release_follower(OFFSETS, 0, node)
        self.core.advance(600)

    def fail_over(self) -> None:
        """The coordinator dies with what it alone has; who comes next goes on."""
        self.core.controls.kill(COORDINATOR)
        self.heal()

    @property
    def node(self) -> int:
        return self.core.state(OFFSETS).leader

    def client(self) -> NodeClient:
        return self.core.client(node=self.node)

    def commit(self, offset: int, group_id: str = "g") -> NodeClient:
        client = self.client()
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
        client.send(OffsetCommitRequest(group_id, -1, topics=[topic]), 8)
        return client

    def ask(self, *group_ids: str, stable: bool = False) -> NodeClient:
        client = self.client()
        groups = [OffsetFetchRequestGroup(group_id=one, topics=None) for one in group_ids or ("g",)]
        client.send(OffsetFetchRequest(groups=groups, require_stable=stable), 8)
        return client

    def fetch(self) -> int | None:
        return offsets(self.ask())["g"]

    def delete(self, group_id: str = "g") -> NodeClient:
        client = self.client()
        client.send(DeleteGroupsRequest([group_id]), 2)
        return client


def committed(client: NodeClient) -> int:
    return client.receive(OffsetCommitResponse).topics[0].partitions[0].error_code


def offsets(client: NodeClient) -> dict[str, int | None]:
    """The position in t-0 of each group that was asked for; the error as a negative number."""
    found: dict[str, int | None] = {}
    for group in client.receive(OffsetFetchResponse).groups:
        found[group.group_id] = -group.error_code or None
        for topic in group.topics:
            found[group.group_id] = topic.partitions[0].committed_offset
    return found


@pytest.fixture
def world() -> World:
    return World()


def test_an_unreplicated_commit_is_neither_read_nor_un_read(world: World) -> None:
    assert committed(world.commit(10)) == 0
    world.hold()
    late = world.commit(20)
    assert world.fetch() == 10
    assert committed_offsets(world.core.cluster, "g") == {("t", 0): 10}
    world.core.advance(4000)
    assert not late.answered
    world.fail_over()
    assert world.fetch() == 10


def test_a_late_commit_is_read_once_it_is_replicated(world: World) -> None:
    assert committed(world.commit(10)) == 0
    world.hold()
    late = world.commit(20)
    world.core.advance(5000)
    assert committed(late) == NOT_AVAILABLE
    assert world.fetch() == 10
    world.heal()
    assert world.fetch() == 20


def test_a_stable_fetch_waits_for_the_commits_before_it(world: World) -> None:
    assert committed(world.commit(10)) == 0
    world.hold()
    world.commit(20)
    asked = world.ask(stable=True)
    old = world.client()
    old.send(OffsetFetchRequest("g", None, require_stable=True), 7)
    assert not asked.answered
    world.heal()
    assert offsets(asked) == {"g": 20}
    answer = old.receive(OffsetFetchResponse)
    assert answer.topics[0].partitions[0].committed_offset == 20


def test_a_stable_fetch_that_waits_too_long_asks_for_the_coordinator(world: World) -> None:
    assert committed(world.commit(10)) == 0
    world.hold()
    world.commit(20)
    asked = world.ask("g", "h", stable=True)
    old = world.client()
    old.send(OffsetFetchRequest("g", None, require_stable=True), 7)
    world.core.advance(5000)
    error = ErrorCode.NOT_COORDINATOR
    assert offsets(asked) == {"g": -error, "h": -error}
    answer = old.receive(OffsetFetchResponse)
    assert (answer.error_code, answer.topics) == (error, [])


def test_a_stable_fetch_of_what_is_replicated_is_answered_at_once(world: World) -> None:
    assert committed(world.commit(10)) == 0
    world.hold()
    assert offsets(world.ask(stable=True)) == {"g": 10}


def test_a_group_is_there_once_it_is_replicated(world: World) -> None:
    world.hold()
    world.commit(5)
    client = world.client()
    described = client.call(DescribeGroupsRequest(["g"]), 6, DescribeGroupsResponse)
    assert described.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert client.call(ListGroupsRequest(), 4, ListGroupsResponse).groups == []
    assert group_ids(world.core.cluster) == []
    assert describe_group(world.core.cluster, "g").state == "Dead"
    world.heal()
    described = client.call(DescribeGroupsRequest(["g"]), 6, DescribeGroupsResponse)
    assert (described.groups[0].error_code, described.groups[0].group_state) == (0, "Empty")
    (listed,) = client.call(ListGroupsRequest(), 4, ListGroupsResponse).groups
    assert (listed.group_id, listed.group_state) == ("g", "Empty")


def test_a_group_is_gone_once_that_is_replicated(world: World) -> None:
    assert committed(world.commit(5)) == 0
    world.hold()
    first, second = world.delete(), world.delete()
    assert (first.answered, second.answered) == (0, 0)
    assert world.fetch() == 5
    assert describe_group(world.core.cluster, "g").state == "Empty"
    world.heal()
    errors = [one.receive(DeleteGroupsResponse).results[0].error_code for one in (first, second)]
    assert errors == [0, ErrorCode.GROUP_ID_NOT_FOUND]
    assert world.fetch() is None


def test_a_group_is_not_deleted_if_the_writes_before_are_late(world: World) -> None:
    assert committed(world.commit(5)) == 0
    world.hold()
    world.commit(6)
    deleted = world.delete()
    world.core.advance(5000)
    assert deleted.receive(DeleteGroupsResponse).results[0].error_code == NOT_AVAILABLE
    world.heal()
    assert world.fetch() == 6


def test_whoever_waits_is_answered_when_the_coordinator_shuts_down(world: World) -> None:
    world.hold()
    late = world.commit(5)
    broker = world.core.cluster.broker(COORDINATOR)
    assert broker is not None
    world.core.act(broker.services.groups.service.release_parked)
    world.core.deliver()
    assert committed(late) == NOT_AVAILABLE


def test_what_expires_is_written_once() -> None:
    world = World(offsets_retention_check_interval_ms="1000", offsets_retention_minutes="1")
    assert committed(world.commit(5)) == 0
    world.core.advance(63_000)
    assert world.fetch() is None
    log = world.core.partition(COORDINATOR, OFFSETS).log
    assert log is not None
    assert log.log_end_offset == 3  # the commit, and the tombstones of the offset and the group


# -- classic members -------------------------------------------------------------------------


class Member:
    """A classic member, at once the leader of "g"; its generation is not assigned yet."""

    def __init__(self, world: World) -> None:
        self.world = world
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=30_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", subscription("t"))],
        )
        client = world.client()
        request.member_id = client.call(request, 5, JoinGroupResponse).member_id
        client.send(request, 5)
        world.core.advance(0)
        joined = client.receive(JoinGroupResponse)
        assert joined.error_code == 0
        self.member_id, self.generation_id = joined.member_id, joined.generation_id

    def sync(self) -> NodeClient:
        client = self.world.client()
        client.send(SyncGroupRequest("g", self.generation_id, self.member_id), 3)
        return client

    def beat(self) -> NodeClient:
        client = self.world.client()
        client.send(HeartbeatRequest("g", self.generation_id, self.member_id), 3)
        return client

    def leave(self) -> NodeClient:
        client = self.world.client()
        client.send(LeaveGroupRequest("g", members=[MemberIdentity(self.member_id)]), 3)
        return client


def test_an_assignment_is_told_once_it_is_replicated(world: World) -> None:
    member = Member(world)
    world.hold()
    first, again = member.sync(), member.sync()
    assert not first.answered or (
        first.receive(SyncGroupResponse).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    )
    assert not again.answered
    assert describe_group(world.core.cluster, "g").state == "CompletingRebalance"
    world.heal()
    assert again.receive(SyncGroupResponse).error_code == 0
    assert describe_group(world.core.cluster, "g").state == "Stable"


def test_an_assignment_that_is_late_begins_another_generation(world: World) -> None:
    member = Member(world)
    world.hold()
    asked = member.sync()
    world.core.advance(5000)
    assert asked.receive(SyncGroupResponse).error_code == NOT_AVAILABLE
    assert describe_group(world.core.cluster, "g").state == "PreparingRebalance"
    world.heal()
    assert describe_group(world.core.cluster, "g").state == "PreparingRebalance"


def test_a_heartbeat_waits_for_what_it_follows_from(world: World) -> None:
    member = Member(world)
    assert member.sync().receive(SyncGroupResponse).error_code == 0
    world.hold()
    world.commit(5, "h")
    beat = member.beat()
    assert not beat.answered
    world.heal()
    assert beat.receive(HeartbeatResponse).error_code == 0
    world.hold()
    world.commit(6, "h")
    member.generation_id += 1
    assert member.beat().receive(HeartbeatResponse).error_code == ErrorCode.ILLEGAL_GENERATION
    member.generation_id -= 1
    beat = member.beat()
    world.core.advance(5000)
    assert beat.receive(HeartbeatResponse).error_code == NOT_AVAILABLE


def test_a_leave_waits_until_the_empty_generation_is_replicated(world: World) -> None:
    member = Member(world)
    assert member.sync().receive(SyncGroupResponse).error_code == 0
    world.hold()
    left = member.leave()
    assert not left.answered
    assert describe_group(world.core.cluster, "g").state == "Empty"
    world.heal()
    answer = left.receive(LeaveGroupResponse)
    assert (answer.error_code, answer.members[0].error_code) == (0, 0)
    world.hold()
    world.commit(5, "h")
    left = member.leave()
    world.core.advance(5000)
    assert left.receive(LeaveGroupResponse).error_code == NOT_AVAILABLE


def join(world: World, instance: str | None = None) -> NodeClient:
    """JoinGroup of an old client, who gets in at once; or of a static one."""
    client = world.client()
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", subscription("t"))],
    )
    client.send(request, 5 if instance else 3)
    return client


def test_a_group_that_expired_before_it_was_replicated_is_joined_again() -> None:
    world = World(offsets_retention_check_interval_ms="1000")
    world.hold()
    asked = join(world)
    world.core.advance(2000)
    assert not asked.answered
    world.heal()
    assert asked.receive(JoinGroupResponse).error_code == NOT_AVAILABLE


def stable_static_member(world: World) -> None:
    joined = join(world, "one").receive(JoinGroupResponse)
    client = world.client()
    request = SyncGroupRequest("g", joined.generation_id, joined.member_id, "one")
    assert client.call(request, 3, SyncGroupResponse).error_code == 0


def test_of_two_that_take_a_static_members_place_the_first_is_fenced(world: World) -> None:
    stable_static_member(world)
    world.hold()
    first, second = join(world, "one"), join(world, "one")
    assert first.receive(JoinGroupResponse).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert not second.answered
    world.heal()
    joined = second.receive(JoinGroupResponse)
    assert (joined.error_code, joined.generation_id) == (0, 1)
    assert not first.answered


def test_a_static_member_may_be_in_the_next_generation_before_its_place_is_replicated(
    world: World,
) -> None:
    stable_static_member(world)
    world.hold()
    static, another = join(world, "one"), join(world)
    for client in (static, another):
        joined = client.receive(JoinGroupResponse)
        assert (joined.error_code, joined.generation_id) == (0, 2)
    world.heal()
    assert not static.answered
    assert describe_group(world.core.cluster, "g").state == "CompletingRebalance"


# -- members of the consumer protocol --------------------------------------------------------


def beat(client: NodeClient, epoch: int = 0) -> NodeClient:
    client.send(
        ConsumerGroupHeartbeatRequest(
            group_id="c",
            member_id="m",
            member_epoch=epoch,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        ),
        1,
    )
    return client


def described(client: NodeClient) -> tuple[int, str, int]:
    request = ConsumerGroupDescribeRequest(["c"])
    (group,) = client.call(request, 1, ConsumerGroupDescribeResponse).groups
    return group.error_code, group.group_state, len(group.members)


def test_a_consumer_group_is_described_as_it_is_replicated(world: World) -> None:
    world.hold()
    joined = beat(world.client())
    again = beat(world.client())
    assert (joined.answered, again.answered) == (0, 0)
    assert described(world.client()) == (ErrorCode.GROUP_ID_NOT_FOUND, "", 0)
    assert describe_group(world.core.cluster, "c").state == "Dead"
    world.heal()
    assert joined.receive(ConsumerGroupHeartbeatResponse).member_epoch == 2
    assert again.receive(ConsumerGroupHeartbeatResponse).member_epoch == 2
    assert described(world.client()) == (0, "Stable", 1)


def test_a_member_whose_join_was_late_is_expected_all_the_same(world: World) -> None:
    world.hold()
    joined = beat(world.client())
    world.core.advance(5000)
    assert joined.receive(ConsumerGroupHeartbeatResponse).error_code == NOT_AVAILABLE
    world.heal()
    assert described(world.client()) == (0, "Stable", 1)
    world.core.advance(45_000)
    assert described(world.client()) == (0, "Empty", 0)


def test_a_member_that_was_not_replicated_is_unknown_to_the_next_coordinator(world: World) -> None:
    world.hold()
    beat(world.client())
    world.fail_over()
    assert described(world.client()) == (ErrorCode.GROUP_ID_NOT_FOUND, "", 0)


# -- transactions ----------------------------------------------------------------------------


class AtGroups(Transactional):
    """The same producer, connected to a coordinator of groups."""

    def __init__(self, core: ClusterCore, node: int) -> None:
        super().__init__(core)
        self._client = core.client(node=node)


def begin(world: World) -> Transactional:
    """A transaction with a record in t and the position 5 of "g"."""
    producer = world.producer
    producer.become(producer.init())
    world.core.controls.move_leader("t", 0, 1)
    world.core.advance(0)
    assert producer.send("t", 0, "out") == 0
    at_groups = AtGroups(world.core, COORDINATOR)
    at_groups.become(Told(0, producer.producer_id, producer.epoch))
    assert at_groups.commit_offset("g", "t", 0, 5) == 0
    return producer


def test_a_marker_that_only_a_dead_coordinator_had_is_written_again(world: World) -> None:
    producer = begin(world)
    world.hold()
    producer.finish(commit=True)
    world.core.advance(1000)
    assert read_committed(world.core, "t") == ["out"]
    assert producer.state == "PrepareCommit"
    world.fail_over()
    world.core.advance(1000)
    assert producer.state == "CompleteCommit"
    assert offsets(world.ask(stable=True)) == {"g": 5}


def test_a_marker_waits_for_its_replicas_as_long_as_a_commit(world: World) -> None:
    world.hold()
    client = world.client()
    topic = WritableTxnMarkerTopic(OFFSETS, [0])
    client.send(WriteTxnMarkersRequest([WritableTxnMarker(7, 0, True, [topic])]), 1)
    world.core.advance(4999)
    assert not client.answered
    world.core.advance(1)
    (marker,) = client.receive(WriteTxnMarkersResponse).markers
    assert marker.topics[0].partitions[0].error_code == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("commit", [True, False])
def test_a_late_marker_ends_the_transaction_when_it_is_replicated(
    world: World, commit: bool
) -> None:
    producer = begin(world)
    world.hold()
    producer.finish(commit=commit)
    world.core.advance(25_000)
    assert producer.state == ("PrepareCommit" if commit else "PrepareAbort")
    assert world.fetch() is None
    world.heal()
    world.core.advance(10_000)
    assert producer.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert world.fetch() == (5 if commit else None)
