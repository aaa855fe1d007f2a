"""How members that share a partition get into their group: by JoinGroup, or by heartbeats.

The leader of a classic group deals ranges by the extension's own assignor; that of a group of
KIP-848 is its broker. A member that has not opted in reads whole partitions or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.assignor import PROTOCOL_NAME, Member, assign
from mockbroker.coop.krange import NAME as KRANGE
from mockbroker.coop.numbers import Tag
from mockbroker.coop.user_data import (
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.plan import decode, encode
from simulation.cluster.plan import SHARED
from simulation.cluster.sharers import NO_GENERATION, Setting, Sharer

if TYPE_CHECKING:
    from random import Random

    from mockbroker.coop.assignor import Assignment, Ranges

JOIN_VERSION, SYNC_VERSION, BEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
HEARTBEAT_VERSION = 1
CONSUMER = "consumer"
CAPS = 7
PROTOCOL_VERSION = 1
JOINS, LEAVES = 0, -1


def _packed(message: object) -> bytes:
    version = PROTOCOL_VERSION.to_bytes(2, "big")
    return version + b"".join(encode(message, PROTOCOL_VERSION))


class ClassicSharer(Sharer):
    """Joins, syncs, beats."""

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        super().__init__(setting, name, rng)
        self.opts_in = not (self.group.on["opted_out"] and rng.random() < 0.4)
        self.member_id = ""
        self.ranges = None
        self._joined = False
        self._synced_at: tuple[int, ...] = ()
        self._members: list[JoinGroupResponseMember] = []

    @property
    def is_in(self) -> bool:
        return self._joined and bool(self._synced_at)

    @property
    def era(self) -> object:
        """A coordinator that knows of no generation may number the next one as the last."""
        return self._synced_at, self.generation

    def lose_identity(self) -> None:
        self.must_rejoin()
        self.member_id, self.generation = "", NO_GENERATION

    def must_rejoin(self) -> None:
        super().must_rejoin()
        self._joined, self._synced_at, self.ranges = False, (), None

    def get_in(self, node: int) -> None:
        if self._joined:
            self._sync(node)
        else:
            self._join(node)

    def _join(self, node: int) -> None:
        said = write_subscription(CAPS, {}) if self.opts_in else None
        metadata = _packed(ConsumerProtocolSubscription([SHARED], said))
        request = JoinGroupRequest(
            group_id=self.book.group,
            session_timeout_ms=self.group.session_timeout_ms,
            rebalance_timeout_ms=self.group.rebalance_timeout_ms,
            member_id=self.member_id,
            protocol_type=CONSUMER,
            protocols=[JoinGroupRequestProtocol(PROTOCOL_NAME, metadata)],
        )
        tags.tag(request, {Tag.JOIN_CAPS: bytes((CAPS,))})

        def answered(answer: JoinGroupResponse | None) -> None:
            if answer is None or answer.error_code:
                if answer is not None and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    self.member_id = answer.member_id
                self.refused(
                    "join",
                    -1 if answer is None else answer.error_code,
                    ErrorCode.MEMBER_ID_REQUIRED,
                )
                return
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self._members = answer.members if answer.leader == answer.member_id else []
            self._joined = True
            self.later(1.0)

        self.ask(node, request, JOIN_VERSION, JoinGroupResponse, answered)

    def _sync(self, node: int) -> None:
        request = SyncGroupRequest(
            group_id=self.book.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type=CONSUMER,
            protocol_name=PROTOCOL_NAME,
            assignments=[
                SyncGroupRequestAssignment(member_id, _given(parts))
                for member_id, parts in self._dealt().items()
            ],
        )
        led = self.book.ask(node).led[:1]

        def answered(answer: SyncGroupResponse | None) -> None:
            if answer is None or answer.error_code:
                self.refused("sync", -1 if answer is None else answer.error_code)
                return
            self.ranges = _taken(answer.assignment)
            self._synced_at = (*led, node)
            self.note(f"has {self.ranges} in {self.generation} by {node}")
            self.later(1.0)

        self.ask(node, request, SYNC_VERSION, SyncGroupResponse, answered)

    def _dealt(self) -> dict[str, Assignment]:
        """What the leader gives to whom; a follower gives nothing."""
        members = []
        for one in self._members:
            version = int.from_bytes(one.metadata[:2], "big")
            told, _ = decode(ConsumerProtocolSubscription, version, one.metadata, 2)
            members.append(
                Member(one.member_id, [SHARED], read_subscription(told.user_data) is not None)
            )
        return assign(members, {SHARED: 1}) if members else {}

    def stay(self, node: int) -> None:
        def answered(answer: HeartbeatResponse | None) -> None:
            if answer is None or answer.error_code:
                self.refused("heartbeat", -1 if answer is None else answer.error_code)
            else:
                self.pause()

        request = HeartbeatRequest(self.book.group, self.generation, self.member_id, None)
        self.ask(node, request, BEAT_VERSION, HeartbeatResponse, answered)

    def leave(self, node: int) -> None:
        def answered(_: LeaveGroupResponse | None) -> None:
            self.lose_identity()
            self.later(self.rng.choice((20.0, 400.0)))

        request = LeaveGroupRequest(
            group_id=self.book.group, members=[MemberIdentity(self.member_id, None)]
        )
        self.ask(node, request, LEAVE_VERSION, LeaveGroupResponse, answered)


def _given(parts: Assignment) -> bytes:
    topics = [ConsumerProtocolTopicPartition(topic, list(of)) for topic, of in parts.items()]
    return _packed(ConsumerProtocolAssignment(topics, write_assignment(parts)))


def _taken(data: bytes) -> Ranges | None:
    """The ranges of the one partition; none is all of it, None nothing."""
    if not data:
        return None
    told, _ = decode(ConsumerProtocolAssignment, int.from_bytes(data[:2], "big"), data, 2)
    parts = read_assignment(told.user_data)
    return None if parts is None else parts.get(SHARED, {}).get(0)


class ConsumerSharer(Sharer):
    """Beats, and does what the answers say."""

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        super().__init__(setting, name, rng)
        self.opts_in = not (self.group.on["opted_out"] and rng.random() < 0.4)
        self.generation = JOINS
        self.ranges = None
        self._lives = 0
        self._must_tell_all = True
        self._gave_up = False
        """Whether an answer took from it what it had: it says so, or is thrown out in the end."""

    @property
    def is_in(self) -> bool:
        return self.generation > JOINS

    def lose_identity(self) -> None:
        super().lose_identity()
        self.generation, self.ranges = JOINS, None
        self._must_tell_all, self._gave_up = True, False

    def refused(self, what: str, error: int, *also: ErrorCode) -> None:
        self._must_tell_all = True
        super().refused(what, error, *also)

    def get_in(self, node: int) -> None:
        self._lives += 1
        self.member_id = f"{self.name}-{self._lives}"
        self._must_tell_all = True
        self.stay(node)

    def stay(self, node: int) -> None:
        request = self._request(self.generation)
        tells_all, self._must_tell_all = self._must_tell_all, False
        if tells_all:
            request.rebalance_timeout_ms = self.group.rebalance_timeout_ms
            request.subscribed_topic_names = [SHARED]
            request.server_assignor = KRANGE if self.opts_in else None
        if tells_all or self._gave_up:
            request.topic_partitions = self._held()

        def answered(answer: ConsumerGroupHeartbeatResponse | None) -> None:
            if answer is None or answer.error_code:
                self.refused("heartbeat", -1 if answer is None else answer.error_code)
                return
            self._go_on(answer)
            self.pause()

        version = HEARTBEAT_VERSION
        self.ask(node, request, version, ConsumerGroupHeartbeatResponse, answered)

    def _held(self) -> list[HeartbeatTopicPartitions]:
        if self.ranges is None:
            return []
        return [HeartbeatTopicPartitions(self.world.cluster.metadata.topics[SHARED].id, [0])]

    def _request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.book.group, member_id=self.member_id, member_epoch=epoch
        )
        if self.opts_in:
            tags.tag(request, {Tag.HEARTBEAT_CAPS: bytes((CAPS,))})
        return request

    def _go_on(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        before = self.ranges
        self.generation = answer.member_epoch
        self._gave_up = False
        if answer.assignment is None:
            return
        self.ranges = None
        for topic in answer.assignment.topic_partitions:
            if 0 in topic.partitions:
                told = tags.tagged_fields(topic).get(Tag.HEARTBEAT_RANGES)
                ranges = {} if told is None else tags.read_partition_ranges(told)
                self.ranges = tuple(ranges.get(0, ()))
        self._gave_up = before is not None and self.ranges is None
        if self.ranges != before:
            self.note(f"has {self.ranges} at epoch {self.generation}")
            self.lose_work()

    def leave(self, node: int) -> None:
        def answered(_: ConsumerGroupHeartbeatResponse | None) -> None:
            self.lose_identity()
            self.later(self.rng.choice((20.0, 400.0)))

        request = self._request(LEAVES)
        version = HEARTBEAT_VERSION
        self.ask(node, request, version, ConsumerGroupHeartbeatResponse, answered)
