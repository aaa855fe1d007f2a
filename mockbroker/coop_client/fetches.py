"""Fetches under way, one to each broker that leads something a consumer reads.

A fetch outlives the poll that sent it; its answer counts if the consumer's turn, its generation, is
still the same. Answers of another turn are thrown away: their records are somebody else's now.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Cooperative
from mockbroker.coop_client.brokers import BACKOFF_SECONDS
from mockbroker.coop_client.errors import RefusedError, UnreachableError
from mockbroker.coop_client.reading import TopicPartition
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.coop.tags import Identity
    from mockbroker.coop_client.brokers import Brokers, Topic
    from mockbroker.coop_client.share import Share
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

_WAIT_MS: Final = 500
_BYTES: Final = 1 << 20
_NO_SESSION: Final = -1
_LATEST, _EARLIEST = -1, -2
REFRESH: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )
)
"""After these a client looks where the leaders are, and asks again."""


class _Fetch(NamedTuple):
    task: asyncio.Task[FetchResponse]
    turn: int


class Fetches:
    """Of one consumer; `lease_ms` None: it does not fetch cooperatively."""

    def __init__(self, brokers: Brokers, *, only_committed: bool, lease_ms: int | None) -> None:
        self._brokers = brokers
        self._only_committed = only_committed
        self._lease_ms = lease_ms
        self._topics: Mapping[str, Topic] = {}
        self._under_way: dict[int, _Fetch] = {}

    async def refresh(self, topics: Iterable[str]) -> None:
        """Look where the leaders of these are."""
        names = sorted(set(topics))
        self._topics = await self._brokers.topics(names) if names else {}

    async def edge(self, place: TopicPartition, *, earliest: bool) -> int | None:
        """Where a partition begins or ends; None while its leader cannot say."""
        leader = self._leader(place)
        if leader is None:
            return None
        part = ListOffsetsPartition(place.partition, -1, _EARLIEST if earliest else _LATEST)
        request = ListOffsetsRequest(
            -1, int(self._only_committed), [ListOffsetsTopic(place.topic, [part])]
        )
        try:
            response = await self._brokers.ask(leader, request, ListOffsetsResponse)
        except UnreachableError:
            return None
        (found,) = response.topics[0].partitions
        if found.error_code in REFRESH:
            return None
        if found.error_code:
            raise RefusedError(f"offsets of {place.topic}", found.error_code)
        return found.offset

    def send(
        self,
        shares: Mapping[TopicPartition, Share],
        who: Identity | None,
        turn: int,
        *,
        seconds: float,
        max_records: int,
    ) -> None:
        """Ask each leader that has no fetch under way; an answer may take so long."""
        asked: dict[int, dict[str, FetchRequestTopic]] = {}
        for place, share in shares.items():
            leader = self._leader(place)
            if share.position < 0 or leader is None or leader in self._under_way:
                continue
            part = FetchRequestPartition(
                place.partition, fetch_offset=share.position, partition_max_bytes=_BYTES
            )
            if share.ranges:
                tags.tag(part, {Tag.KEY_RANGES: tags.write_ranges(share.ranges)})
            topics = asked.setdefault(leader, {})
            topics.setdefault(place.topic, FetchRequestTopic(place.topic)).partitions.append(part)
        for leader, topics in asked.items():
            request = FetchRequest(
                max_wait_ms=min(_WAIT_MS, max(int(seconds * 1000), 1)),
                min_bytes=1,
                max_bytes=_BYTES,
                isolation_level=int(self._only_committed),
                session_epoch=_NO_SESSION,
                topics=list(topics.values()),
            )
            fields: dict[int, bytes] = {}
            if who is not None:
                fields[Tag.GROUP_IDENTITY] = tags.write_identity(who)
            if self._lease_ms is not None:
                asking = Cooperative(max_records, self._lease_ms)
                fields[Tag.COOPERATIVE] = tags.write_cooperative(asking)
            tags.tag(request, fields)
            asking_it = self._brokers.ask(leader, request, FetchResponse, "fetches")
            self._under_way[leader] = _Fetch(asyncio.create_task(asking_it), turn)

    async def take(
        self, turn: int, seconds: float
    ) -> list[tuple[TopicPartition, FetchResponsePartition]]:
        """What comes first within so many seconds, of this turn."""
        if not self._under_way:
            await asyncio.sleep(min(BACKOFF_SECONDS, max(seconds, 0.0)))
            return []
        done, _ = await asyncio.wait(
            [fetch.task for fetch in self._under_way.values()],
            timeout=max(seconds, 0.0),
            return_when=asyncio.FIRST_COMPLETED,
        )
        found = []
        for node in [node for node, fetch in self._under_way.items() if fetch.task in done]:
            fetch = self._under_way.pop(node)
            try:
                response = fetch.task.result()
            except UnreachableError:
                await self.back_off()
                continue
            if response.error_code:
                raise RefusedError("fetch", response.error_code)
            if fetch.turn == turn:
                found += [
                    (TopicPartition(topic.topic, one.partition_index), one)
                    for topic in response.responses
                    for one in topic.partitions
                ]
        return found

    async def back_off(self) -> None:
        """Wait a little, and look where the leaders are."""
        await asyncio.sleep(BACKOFF_SECONDS)
        await self.refresh(self._topics)

    async def close(self) -> None:
        """Expect no answers."""
        tasks = [fetch.task for fetch in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _leader(self, place: TopicPartition) -> int | None:
        topic = self._topics.get(place.topic)
        leader = -1 if topic is None else topic.leaders.get(place.partition, -1)
        return leader if leader >= 0 else None
