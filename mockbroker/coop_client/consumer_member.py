"""A member of a group of KIP-848 that asks for the broker's assignor `krange`.

The coordinator assigns; what changes is taken over at a poll, so that what was acknowledged before
is committed first. Then the member tells what it has, and others may take what it gave up. In a
group that fetches cooperatively the assignment does not count: a member reads all its topics.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Final

from mockbroker.coop import tags
from mockbroker.coop.krange import NAME
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Identity
from mockbroker.coop.user_data import COOPERATIVE, INDIVIDUAL_COMMITS, KEY_RANGES
from mockbroker.coop_client.errors import RefusedError
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)

if TYPE_CHECKING:
    from mockbroker.coop.assignor import Assignment
    from mockbroker.coop_client.brokers import Brokers
    from mockbroker.coop_client.classic_member import GroupSettings
    from mockbroker_protocol.messages.consumer_group import Assignment as Told

_FENCED: Final = frozenset(
    (
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    )
)
_LEAVING: Final = -1


class ConsumerMember:
    """One member (see `ClassicMember`)."""

    def __init__(self, brokers: Brokers, settings: GroupSettings) -> None:
        self._brokers = brokers
        self._settings = settings
        self.identity = Identity(settings.group_id, uuid.uuid4().hex, 0, None)
        self.assignment: Assignment = {}
        self._target: Assignment = {}
        self.must_join = True
        self._turns = asyncio.Lock()

    async def join(self) -> None:
        """Join, or take over what the coordinator assigned, and say so."""
        self.must_join = False
        self.assignment = self._target
        async with self._turns:
            if self.identity.generation:
                await self._tell(await self._owned())
            else:
                await self._tell([])
        if self._settings.cooperative:
            topics = await self._brokers.topics(self._settings.topics)
            self.assignment = {
                name: dict.fromkeys(topic.leaders, ()) for name, topic in topics.items()
            }

    async def beat(self) -> None:
        """Tell that it lives, and hear what it shall have."""
        async with self._turns:
            if self.identity.generation:
                await self._tell(None)

    def note_refusal(self, code: int) -> None:
        """The coordinator refused something for this reason."""
        if code in _FENCED:
            self._begin_anew()
        elif code != ErrorCode.STALE_MEMBER_EPOCH:
            raise RefusedError(f"being in {self.identity.group}", code)

    async def leave(self) -> None:
        """Let the others have what it has."""
        if self.identity.generation:
            await self._ask(
                ConsumerGroupHeartbeatRequest(
                    self.identity.group, self.identity.member, member_epoch=_LEAVING
                )
            )

    async def _tell(self, owned: list[HeartbeatTopicPartitions] | None) -> None:
        settings, told = self._settings, self.identity
        request = ConsumerGroupHeartbeatRequest(
            told.group, told.member, told.generation, topic_partitions=owned
        )
        if not told.generation:
            request.rebalance_timeout_ms = settings.rebalance_timeout_ms
            request.subscribed_topic_names = list(settings.topics)
            request.server_assignor = None if settings.cooperative else NAME
        response = await self._ask(request)
        if response.error_code:
            self.note_refusal(response.error_code)
            return
        self.identity = told._replace(generation=response.member_epoch)
        if response.assignment is not None and not settings.cooperative:
            self._target = await self._read(response.assignment)
            self.must_join = self.must_join or self._target != self.assignment

    async def _ask(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        flags = KEY_RANGES | INDIVIDUAL_COMMITS | COOPERATIVE
        tags.tag(request, {Tag.HEARTBEAT_CAPS: bytes((flags,))})
        return await self._brokers.ask_coordinator(
            request, ConsumerGroupHeartbeatResponse, lambda one: (one.error_code,)
        )

    async def _owned(self) -> list[HeartbeatTopicPartitions]:
        topics = await self._brokers.topics(self._settings.topics)
        return [
            HeartbeatTopicPartitions(topics[name].id, sorted(of))
            for name, of in self.assignment.items()
            if name in topics
        ]

    async def _read(self, told: Told) -> Assignment:
        topics = await self._brokers.topics(self._settings.topics)
        names = {topic.id: name for name, topic in topics.items()}
        found: Assignment = {}
        for topic in told.topic_partitions:
            packed = tags.tagged_fields(topic).get(Tag.HEARTBEAT_RANGES)
            ranges = {} if packed is None else tags.read_partition_ranges(packed)
            if topic.topic_id in names:
                found[names[topic.topic_id]] = {
                    index: tuple(ranges.get(index, ())) for index in topic.partitions
                }
        return found

    def _begin_anew(self) -> None:
        self.identity = self.identity._replace(generation=0)
        self._target = {}
        self.must_join = True
