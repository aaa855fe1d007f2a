"""A member of a classic group whose leader splits partitions by ranges of keys.

Whoever is leader asks how many partitions there are and which topics may be shared, and assigns;
ranges travel in UserData. A group that fetches cooperatively has every partition at every member.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from mockbroker.coop import tags
from mockbroker.coop.assignor import PROTOCOL_NAME, Member, assign
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Identity
from mockbroker.coop.user_data import (
    COOPERATIVE,
    INDIVIDUAL_COMMITS,
    KEY_RANGES,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from mockbroker.coop_client.brokers import BACKOFF_SECONDS
from mockbroker.coop_client.errors import RefusedError
from mockbroker_protocol.errors import ErrorCode
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
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.coop.assignor import Assignment
    from mockbroker.coop_client.brokers import Brokers, Topic
    from mockbroker_protocol.messages.group_membership import JoinGroupResponseMember

COOPERATIVE_PROTOCOL: Final = "cooperative-fetch"
"""What members call it when each has every partition."""
_FLAGS: Final = KEY_RANGES | INDIVIDUAL_COMMITS | COOPERATIVE
_VERSION: Final = 1
_JOIN_AGAIN: Final = frozenset(
    (
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.MEMBER_ID_REQUIRED,
    )
)
_FORGOTTEN: Final = frozenset((ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND))

T = TypeVar("T")


class GroupSettings(NamedTuple):
    """How a member takes part in its group."""

    group_id: str
    topics: tuple[str, ...]
    cooperative: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    heartbeat_ms: int


class ClassicMember:
    """One member; `must_join` says that the group goes on without it unless it joins."""

    def __init__(self, brokers: Brokers, settings: GroupSettings) -> None:
        self._brokers = brokers
        self._settings = settings
        self._name = COOPERATIVE_PROTOCOL if settings.cooperative else PROTOCOL_NAME
        self.identity = Identity(settings.group_id, "", -1, None)
        self.assignment: Assignment = {}
        self.must_join = True

    async def join(self) -> None:
        """Take part in the next generation; returns with the assignment."""
        async with asyncio.timeout(2 * self._settings.rebalance_timeout_ms / 1000):
            while True:
                joined = await self._join()
                if joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                    joined.member_id = ""
                self._is_now(joined.member_id, joined.generation_id)
                if not joined.error_code and await self._sync(joined):
                    self.must_join = False
                    return
                if joined.error_code not in (ErrorCode.NONE, *_JOIN_AGAIN):
                    raise RefusedError(f"joining {self.identity.group}", joined.error_code)

    async def _join(self) -> JoinGroupResponse:
        settings = self._settings
        subscription = ConsumerProtocolSubscription(
            topics=list(settings.topics), user_data=write_subscription(_FLAGS, {})
        )
        request = JoinGroupRequest(
            group_id=settings.group_id,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.rebalance_timeout_ms,
            member_id=self.identity.member,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(self._name, _written(subscription))],
        )
        tags.tag(request, {Tag.JOIN_CAPS: bytes((_FLAGS,))})
        return await self._brokers.ask_coordinator(
            request, JoinGroupResponse, lambda one: (one.error_code,)
        )

    async def _sync(self, joined: JoinGroupResponse) -> bool:
        given: list[SyncGroupRequestAssignment] = []
        if joined.leader == joined.member_id:
            given = await self._assign(joined)
        request = SyncGroupRequest(
            group_id=self.identity.group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name=self._name,
            assignments=given,
        )
        response = await self._brokers.ask_coordinator(
            request, SyncGroupResponse, lambda one: (one.error_code,)
        )
        if response.error_code in _JOIN_AGAIN:
            await asyncio.sleep(BACKOFF_SECONDS)
            return False
        if response.error_code:
            raise RefusedError(f"joining {self.identity.group}", response.error_code)
        self.assignment = _read_assigned(response.assignment)
        return True

    async def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        members = [_member(one) for one in joined.members]
        wanted = sorted({topic for member in members for topic in member.topics})
        topics = await self._brokers.topics(wanted)
        if self._settings.cooperative:
            found = _everything(members, topics)
        else:
            caps = tags.tagged_fields(joined).get(Tag.JOIN_CAPS, b"\x00")
            found = assign(
                members,
                {name: len(topic.leaders) for name, topic in topics.items()},
                allowed=bool(tags.read_flags(caps) & KEY_RANGES),
                closed_topics={name for name, one in topics.items() if not one.may_be_shared},
            )
        return [
            SyncGroupRequestAssignment(member_id, _assigned(assignment))
            for member_id, assignment in found.items()
        ]

    async def beat(self) -> None:
        """Tell that it lives, and hear whether the group moves."""
        if self.must_join:
            return
        told = self.identity
        request = HeartbeatRequest(told.group, told.generation, told.member)
        response = await self._brokers.ask_coordinator(
            request, HeartbeatResponse, lambda one: (one.error_code,)
        )
        if self.identity == told and response.error_code:
            self.note_refusal(response.error_code)

    def note_refusal(self, code: int) -> None:
        """The coordinator refused something for this reason: it is time to join again."""
        self.must_join = True
        if code in _FORGOTTEN:
            self._is_now("", -1)
        elif code not in _JOIN_AGAIN:
            raise RefusedError(f"being in {self.identity.group}", code)

    async def leave(self) -> None:
        """Let the others have what it has."""
        if not self.identity.member:
            return
        request = LeaveGroupRequest(
            self.identity.group, members=[MemberIdentity(self.identity.member)]
        )
        await self._brokers.ask_coordinator(
            request, LeaveGroupResponse, lambda one: (one.error_code,)
        )
        self._is_now("", -1)

    def _is_now(self, member: str, generation: int) -> None:
        self.identity = Identity(self.identity.group, member, generation, None)


def _member(one: JoinGroupResponseMember) -> Member:
    subscription = _read(ConsumerProtocolSubscription, one.metadata)
    said = read_subscription(subscription.user_data)
    shares = said is not None and bool(said.flags & KEY_RANGES)
    return Member(one.member_id, frozenset(subscription.topics), shares)


def _everything(members: Iterable[Member], topics: Mapping[str, Topic]) -> dict[str, Assignment]:
    return {
        member.id: {
            name: dict.fromkeys(topics[name].leaders, ())
            for name in member.topics
            if name in topics
        }
        for member in members
    }


def _assigned(assignment: Assignment) -> bytes:
    named = [ConsumerProtocolTopicPartition(topic, list(of)) for topic, of in assignment.items()]
    return _written(ConsumerProtocolAssignment(named, write_assignment(assignment)))


def _read_assigned(data: bytes) -> Assignment:
    if not data:
        return {}
    told = _read(ConsumerProtocolAssignment, data)
    ranges = read_assignment(told.user_data)
    if ranges is not None:
        return ranges
    return {one.topic: dict.fromkeys(one.partitions, ()) for one in told.assigned_partitions}


def _written(message: object) -> bytes:
    return _VERSION.to_bytes(2, "big") + b"".join(encode(message, _VERSION))


def _read(message: type[T], data: bytes) -> T:
    version = min(int.from_bytes(data[:2], "big"), 3)
    return decode(message, version, data, 2)[0]
