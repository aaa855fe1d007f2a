"""A group's offsets in partitions that are shared: asked for, agreed on, committed.

A commit says the known stable offset in the plain field, so that a broker without the extension
would do no harm. What the broker calls too old was committed before: an answer was lost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields, read_offset_ranges, write_offset_ranges
from mockbroker.coop.interval_set import OffsetRange
from mockbroker.coop.numbers import DraftError, Tag
from mockbroker.coop_client.brokers import BACKOFF_SECONDS
from mockbroker.coop_client.errors import BY_DRAFT_CODE, RefusedError
from mockbroker.coop_client.reading import TopicPartition
from mockbroker.coop_client.share import Committed
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mockbroker.coop.tags import Identity
    from mockbroker.coop_client.brokers import Brokers
    from mockbroker.coop_client.share import Share
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitResponsePartition,
        OffsetFetchResponsePartitions,
    )

STALE: Final = frozenset(
    (
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
    )
)
_WITH_PENDING: Final = b"\x02"
NOTHING: Final = -1


class StaleError(Exception):
    """The coordinator knows another generation; `code` says how."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Offsets:
    """Of one group."""

    def __init__(self, brokers: Brokers, group_id: str, *, only_committed: bool) -> None:
        self._brokers = brokers
        self._group_id = group_id
        self._only_committed = only_committed

    async def fetch(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, Committed]:
        """How the group stands; a stable offset of -1: nowhere yet.

        Waits while a transaction has ranges pending: whether they count is not known.
        """
        wanted = sorted(places)
        while True:
            group = OffsetFetchRequestGroup(
                self._group_id,
                topics=[
                    OffsetFetchRequestTopics(topic, partition_indexes=indexes)
                    for topic, indexes in _by_topic(wanted)
                ],
            )
            tags.tag(group, {Tag.WANT_RANGES: _WITH_PENDING})
            request = OffsetFetchRequest(groups=[group], require_stable=True)
            response = await self._brokers.ask_coordinator(
                request, OffsetFetchResponse, _fetch_codes
            )
            (told,) = response.groups
            if told.error_code:
                raise RefusedError(f"offsets of {self._group_id}", told.error_code)
            found = {
                TopicPartition(topic.name, one.partition_index): one
                for topic in told.topics
                for one in topic.partitions
            }
            codes = {one.error_code for one in found.values()} - {ErrorCode.NONE}
            if not codes:
                return {place: _standing(one) for place, one in found.items()}
            if codes != {ErrorCode.UNSTABLE_OFFSET_COMMIT}:
                raise RefusedError(f"offsets of {self._group_id}", min(codes))
            await asyncio.sleep(BACKOFF_SECONDS)

    async def begin(self, place: TopicPartition, offset: int, who: Identity) -> Committed:
        """Agree on where the group begins; whoever says it first has it."""
        part = OffsetCommitRequestPartition(place.partition, NOTHING, -1, None)
        tags.tag(part, commit_fields((), offset, read_committed=self._only_committed))
        (answer,) = await self._send({place: part}, who)
        self._check(answer.error_code, tags.tagged_fields(answer))
        return (await self.fetch((place,)))[place]

    async def commit(
        self, shares: Mapping[TopicPartition, Share], most: int, who: Identity
    ) -> None:
        """Commit what is acknowledged, at most so many ranges a request, the lowest first.

        Raises StaleError, and what the broker refuses.
        """
        for place, share in sorted(shares.items()):
            while ranges := share.to_commit(most):
                if not await self._commit_ranges(place, share, ranges, who):
                    for each in ranges:  # which of them are somebody else's
                        if not await self._commit_ranges(place, share, [each], who):
                            share.lost(*each)

    async def _commit_ranges(
        self,
        place: TopicPartition,
        share: Share,
        ranges: Sequence[tuple[int, int]],
        who: Identity,
    ) -> bool:
        """Whether this member may commit all of these."""
        part = OffsetCommitRequestPartition(place.partition, share.stable, -1, None)
        tags.tag(part, commit_fields(ranges, read_committed=self._only_committed))
        (answer,) = await self._send({place: part}, who)
        fields = tags.tagged_fields(answer)
        if answer.error_code == ErrorCode.INVALID_RECORD_STATE:
            return False
        stable = tags.read_offset(fields[Tag.STABLE_OFFSET]) if Tag.STABLE_OFFSET in fields else -1
        if tags.read_error(fields.get(Tag.EXT_ERROR)) == DraftError.INDIVIDUAL_COMMIT_TOO_OLD:
            if stable <= share.stable:
                raise RefusedError(f"commit of {self._group_id}", answer.error_code)
            share.committed((), stable)  # and what is not behind it is sent again
            return True
        self._check(answer.error_code, fields)
        share.committed(ranges, stable)
        return True

    async def lease(
        self, tag: Tag, ranges: Mapping[TopicPartition, Sequence[tuple[int, int]]], who: Identity
    ) -> None:
        """Give offsets back, or keep them for longer. Raises RefusedError if they are not held."""
        parts = {}
        for place, offsets in ranges.items():
            parts[place] = OffsetCommitRequestPartition(place.partition, NOTHING, -1, None)
            tags.tag(parts[place], {tag: write_offset_ranges(offsets)})
        for answer in await self._send(parts, who):
            self._check(answer.error_code, tags.tagged_fields(answer))

    async def _send(
        self, parts: Mapping[TopicPartition, OffsetCommitRequestPartition], who: Identity
    ) -> list[OffsetCommitResponsePartition]:
        request = OffsetCommitRequest(
            self._group_id,
            who.generation,
            who.member,
            topics=[
                OffsetCommitRequestTopic(
                    topic, partitions=[parts[TopicPartition(topic, index)] for index in indexes]
                )
                for topic, indexes in _by_topic(sorted(parts))
            ],
        )
        while True:
            response = await self._brokers.ask_coordinator(
                request, OffsetCommitResponse, _commit_codes
            )
            answers = [one for topic in response.topics for one in topic.partitions]
            if all(one.error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT for one in answers):
                return answers
            await asyncio.sleep(BACKOFF_SECONDS)  # a transaction has some of them

    def _check(self, code: int, fields: Mapping[int, bytes]) -> None:
        if not code:
            return
        draft = tags.read_error(fields.get(Tag.EXT_ERROR))
        if draft in BY_DRAFT_CODE:
            raise BY_DRAFT_CODE[draft](f"commit of {self._group_id}")
        if code in STALE:
            raise StaleError(code)
        raise RefusedError(f"commit of {self._group_id}", code)


def _by_topic(places: Iterable[TopicPartition]) -> Iterator[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for topic, index in places:
        found.setdefault(topic, []).append(index)
    yield from found.items()


def _standing(one: OffsetFetchResponsePartitions) -> Committed:
    fields = tags.tagged_fields(one)
    ranges, pending = (
        tuple(OffsetRange(*each) for each in read_offset_ranges(fields.get(tag, b"\x01")))
        for tag in (Tag.COMMITTED_RANGES, Tag.PENDING_RANGES)
    )
    return Committed(one.committed_offset, ranges, pending)


def _fetch_codes(response: OffsetFetchResponse) -> Iterator[int]:
    for group in response.groups:
        yield group.error_code
        for topic in group.topics:
            yield from (one.error_code for one in topic.partitions)


def _commit_codes(response: OffsetCommitResponse) -> Iterator[int]:
    """Those that tell of the coordinator: beside the draft's number, one means something else."""
    for topic in response.topics:
        for one in topic.partitions:
            if Tag.EXT_ERROR not in tags.tagged_fields(one):
                yield one.error_code
