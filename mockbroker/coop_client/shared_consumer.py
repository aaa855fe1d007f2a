"""A consumer that shares partitions with the others of its group.

    async with SharedConsumer("localhost:9092", group_id="g", topics=["orders"]) as consumer:
        async for record in consumer:
            await handle(record)
            consumer.ack(record)

With mode `key_range` each member reads ranges of keys, and records of one key stay in order within
a generation; with `round_robin` the broker deals batches to whoever asks, under leases. A record is
done when it was acknowledged and committed. A rebalance happens inside `poll`: what was
acknowledged is committed first, the rest is given to others. So a program polls within its
rebalance timeout.

One consumer is used by one task; heartbeats go out beside it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, Self, TypedDict, TypeVar, Unpack

from mockbroker.coop import tags
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.numbers import (
    COOPERATIVE_STAGE,
    INDIVIDUAL_COMMIT_STAGE,
    KEY_RANGE_STAGE,
    Tag,
)
from mockbroker.coop.tags import Identity
from mockbroker.coop_client.brokers import REQUEST_TIMEOUT_MS, Brokers
from mockbroker.coop_client.classic_member import ClassicMember, GroupSettings
from mockbroker.coop_client.consumer_member import ConsumerMember
from mockbroker.coop_client.errors import (
    BY_DRAFT_CODE,
    MaxIndividualCommitReached,
    NotInGroupError,
    RefusedError,
    SharingError,
    UnreachableError,
)
from mockbroker.coop_client.fetches import REFRESH, Fetches
from mockbroker.coop_client.offsets import NOTHING, Offsets, StaleError
from mockbroker.coop_client.reading import Record, TopicPartition, read_records
from mockbroker.coop_client.share import Committed, Share
from mockbroker.coop_client.transactions import add_group, stage_ranges
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from aiokafka import AIOKafkaProducer

    from mockbroker.coop.key_filter import KeyRange
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

    Assigned = dict["TopicPartition", tuple["KeyRange", ...]]

T = TypeVar("T")

_NO_GROUP: Final = "commits are a group's, in an `async with` block"
_MOST_RECORDS: Final = 500
_CLOSING_SECONDS: Final = 5.0
_MORE_THAN_A_REBALANCE_MS: Final = 5000


class Settings(TypedDict, total=False):
    """What else a consumer may be told.

    `group_protocol`: `classic`, or `consumer` for KIP-848. `max_ranges_per_commit` (1000) of one
    request, and of what may gather before a commit is made by itself; `auto_commit_ms`: commit what
    is acknowledged that often, at a poll. `on_ranges` is called with each new assignment.
    `security` has aiokafka's settings: security_protocol, ssl_context, sasl_…
    """

    client_id: str
    group_protocol: Literal["classic", "consumer"]
    isolation: Literal["read_uncommitted", "read_committed"]
    auto_offset_reset: Literal["earliest", "latest"]
    max_ranges_per_commit: int
    auto_commit_ms: float | None
    on_ranges: Callable[[Assigned], None] | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    heartbeat_ms: int
    lease_ms: int
    security: Mapping[str, object]


class SharedConsumer:
    """See the module."""

    def __init__(
        self,
        bootstrap: str,
        *,
        group_id: str | None = None,
        topics: Iterable[str] = (),
        mode: Literal["key_range", "round_robin"] = "key_range",
        **settings: Unpack[Settings],
    ) -> None:
        """Without topics it is told by `assign` what to read, and is nobody's member."""
        self._bootstrap = bootstrap
        self._group_id = group_id
        self._topics = tuple(topics)
        self._cooperative = mode == "round_robin"
        self._settings = settings
        if (self._topics or self._cooperative) and group_id is None:
            raise ValueError("members have a group_id")
        if self._cooperative and not self._topics:
            raise ValueError("records are dealt round to members: name topics")
        if not 0 < settings.get("max_ranges_per_commit", 1000) <= 60_000:
            raise ValueError("max_ranges_per_commit is 1 to 60000")
        self._only_committed = settings.get("isolation") == "read_committed"
        self._brokers: Brokers | None = None
        self._member: ClassicMember | ConsumerMember | None = None
        self._beating: asyncio.Task[None] | None = None
        self._shares: dict[TopicPartition, Share] = {}
        self._buffer: deque[Record] = deque()
        self._unread: deque[Iterator[Record]] = deque()
        """What was fetched behind it; it is decoded as it is wanted, and so nobody waits long."""
        self._fetches: Fetches | None = None
        self._turn = 0
        self._commit_due = 0.0

    # -- its life --------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Connect; membership begins with the first poll. Raises ImportError without aiokafka."""
        settings = self._settings
        client_id = settings.get("client_id") or f"mockbroker-{uuid.uuid4().hex[:8]}"
        rebalance_ms = settings.get("rebalance_timeout_ms", 60_000)
        self._brokers = Brokers(
            self._bootstrap,
            client_id,
            self._group_id,
            settings.get("security", {}),
            max(REQUEST_TIMEOUT_MS, rebalance_ms + _MORE_THAN_A_REBALANCE_MS),
        )
        self._fetches = Fetches(
            self._brokers,
            only_committed=self._only_committed,
            lease_ms=settings.get("lease_ms", 0) if self._cooperative else None,
        )
        stages = COOPERATIVE_STAGE if self._cooperative else KEY_RANGE_STAGE
        await self._brokers.start(stages | (INDIVIDUAL_COMMIT_STAGE if self._group_id else 0))
        if self._topics:
            assert self._group_id is not None
            group = GroupSettings(
                self._group_id,
                self._topics,
                self._cooperative,
                settings.get("session_timeout_ms", 45_000),
                rebalance_ms,
                settings.get("heartbeat_ms", 3000),
            )
            modern = settings.get("group_protocol") == "consumer"
            self._member = (ConsumerMember if modern else ClassicMember)(self._brokers, group)
            self._beating = asyncio.create_task(self._beat(group.heartbeat_ms / 1000))
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close(commit=raised[0] is None)

    async def close(self, *, commit: bool = True) -> None:
        """Commit what is acknowledged, leave the group, and end the connections."""
        brokers, self._brokers = self._brokers, None
        if brokers is None:
            return
        if self._beating is not None:
            self._beating.cancel()
        if self._fetches is not None:
            await self._fetches.close()
        with suppress(SharingError, StaleError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                if commit and self._group_id is not None:
                    await self._offsets(brokers).commit(self._shares, self._most, self._seat)
                if self._member is not None:
                    await self._member.leave()
        await brokers.close()

    async def _beat(self, every_seconds: float) -> None:
        assert self._member is not None
        while True:
            await asyncio.sleep(every_seconds)
            with suppress(UnreachableError):
                await self._member.beat()

    # -- what it reads ---------------------------------------------------------------------

    def assign(self, parts: Mapping[TopicPartition, Sequence[KeyRange]]) -> None:
        """Read these ranges, without being a member; no ranges are the whole partition."""
        if self._topics:
            raise ValueError("what a member reads is assigned by its group")
        self._start_turn({TopicPartition(*place): tuple(ranges) for place, ranges in parts.items()})

    def assignment(self) -> Assigned:
        """What it reads now."""
        return {place: share.ranges for place, share in self._shares.items()}

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Record:
        await self._settle()
        self._read(1)
        while not self._buffer:
            await self._fill(1.0, _MOST_RECORDS)
            await self._settle()
        return self._buffer.popleft()

    async def poll(self, seconds: float = 1.0, max_records: int = _MOST_RECORDS) -> list[Record]:
        """Records to process now; none after so many seconds. Rebalances happen here."""
        await self._settle()
        self._read(max_records)
        if not self._buffer:
            await self._fill(seconds, max_records)
        return [self._buffer.popleft() for _ in range(min(max_records, len(self._buffer)))]

    async def _settle(self) -> None:
        """Be a member, know where to read from, and commit if it is time."""
        if self._beating is not None and self._beating.done():
            await self._beating  # raises what ended it
        if self._member is not None and self._member.must_join:
            await self._join(self._member)
        loop, every = asyncio.get_running_loop(), self._settings.get("auto_commit_ms")
        gathered = sum(len(share.acked) for share in self._shares.values())
        if self._group_id is not None and (
            gathered >= self._most or (every is not None and loop.time() >= self._commit_due)
        ):
            self._commit_due = loop.time() + (every or 0) / 1000
            with suppress(NotInGroupError):
                await self.commit()
        await self._place()

    async def _join(self, member: ClassicMember | ConsumerMember) -> None:
        """Commit what is acknowledged, forget the rest, and take part in the next generation."""
        if self._who.generation > 0:
            with suppress(StaleError, MaxIndividualCommitReached):
                await self._offsets().commit(self._shares, self._most, self._who)
        self._start_turn({})
        await member.join()
        self._start_turn(
            {
                TopicPartition(topic, index): ranges
                for topic, partitions in member.assignment.items()
                for index, ranges in partitions.items()
            }
        )
        told = self._settings.get("on_ranges")
        if told is not None:
            told(self.assignment())

    def _start_turn(self, assigned: Assigned) -> None:
        self._turn += 1
        self._buffer.clear()
        self._unread.clear()
        self._shares = {place: Share(ranges) for place, ranges in assigned.items()}

    async def _place(self) -> None:
        """Where to read from what has no position: at what is committed, or as is set."""
        places = [place for place, share in self._shares.items() if share.position < 0]
        if not places:
            return
        await self._fetching.refresh(place.topic for place in self._shares)
        known: Mapping[TopicPartition, Committed] = {}
        if self._group_id is not None:
            known = await self._offsets().fetch(places)
        earliest = self._settings.get("auto_offset_reset") == "earliest"
        for place in places:
            standing = known.get(place, Committed(NOTHING, ()))
            if standing.stable < 0:
                offset = await self._fetching.edge(place, earliest=earliest)
                if offset is None:
                    continue
                standing = Committed(offset, ())
                if self._group_id is not None:
                    try:
                        begun = self._offsets().begin(place, offset, self._seat)
                        standing = await self._said(begun)
                    except NotInGroupError:
                        return  # the next poll joins again
            self._shares[place].begin(standing)

    async def _fill(self, seconds: float, max_records: int) -> None:
        """Fetch until something came, the group moves, or time is over."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        fetches = self._fetching
        while not self._buffer:
            left = until - loop.time()
            who = None if self._member is None else self._who
            fetches.send(self._shares, who, self._turn, seconds=left, max_records=max_records)
            for place, answer in await fetches.take(self._turn, left):
                if answer.error_code:
                    await self._refused(place, answer)
                else:
                    self._unread.append(
                        read_records(
                            place,
                            answer,
                            self._shares[place],
                            self._turn,
                            only_committed=self._only_committed,
                        )
                    )
            self._read(max_records)
            is_moving = self._member is not None and self._member.must_join
            if left <= 0 or is_moving:
                return
            await self._place()

    def _read(self, records: int) -> None:
        """Decode what was fetched until so many records are there."""
        buffer, unread = self._buffer, self._unread
        while unread and len(buffer) < records:
            buffer.extend(islice(unread[0], records - len(buffer)))
            if len(buffer) < records:
                unread.popleft()

    async def _refused(self, place: TopicPartition, answer: FetchResponsePartition) -> None:
        code = answer.error_code
        draft = tags.read_error(tags.tagged_fields(answer).get(Tag.EXT_ERROR))
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._shares[place].position = NOTHING
            await self._fetching.back_off()
        elif code in REFRESH:
            if draft and self._member is not None:
                await self._member.beat()
            await self._fetching.back_off()
        elif draft in BY_DRAFT_CODE:
            raise BY_DRAFT_CODE[draft](f"{place.topic}-{place.partition}")
        else:
            raise RefusedError(f"fetch of {place.topic}-{place.partition}", code)

    # -- what is done ----------------------------------------------------------------------

    def ack(self, record: Record) -> None:
        """This record is done; `commit` makes it last.

        One that came before the last rebalance is somebody else's now, and will be given again.
        """
        share = self._shares.get(TopicPartition(record.topic, record.partition))
        if share is not None and record.turn == self._turn:
            share.ack(record.offset, record.offset)

    async def commit(self) -> dict[TopicPartition, Committed]:
        """Commit what is acknowledged; how the group stands, as far as it is known here.

        What somebody else was given meanwhile is not committed, and not among what is told.
        Raises NotInGroupError when the group went on without this member, and what the draft calls
        MaxIndividualCommitReached when the group has too many ranges; the member joins again then.
        """
        try:
            await self._said(self._offsets().commit(self._shares, self._most, self._seat))
        except MaxIndividualCommitReached:
            if isinstance(self._member, ClassicMember):
                self._member.must_join = True
            raise
        return {place: share.standing() for place, share in self._shares.items()}

    async def send_to_transaction(
        self, producer: AIOKafkaProducer, records: Iterable[Record]
    ) -> None:
        """Commit these with the transaction that a producer is in; `ack` them not.

        If it is aborted they are not committed, and given again after the next rebalance. Raises
        NotInGroupError for records of before the last one, and RefusedError if one of them is
        committed or in another transaction: abort then.
        """
        done: dict[TopicPartition, IntervalSet] = {}
        for record in records:
            if record.turn != self._turn:
                raise NotInGroupError(f"offset {record.offset} came before the last rebalance")
            place = TopicPartition(record.topic, record.partition)
            done.setdefault(place, IntervalSet()).add(record.offset, record.offset)
        if not done:
            return
        link, group_id = self._brokers, self._group_id
        if group_id is None or link is None:
            raise ValueError(_NO_GROUP)
        transaction = await add_group(link, group_id, producer)
        ranges = {place: (self._shares[place].stable, [*each]) for place, each in done.items()}
        staging = stage_ranges(
            link, group_id, ranges, transaction, self._seat, only_committed=self._only_committed
        )
        await self._said(staging)

    async def committed(self, place: TopicPartition) -> Committed:
        """How the group stands in a partition, as its coordinator says."""
        return (await self._offsets().fetch((place,)))[place]

    async def release(self, *records: Record) -> None:
        """Give records back, of mode `round_robin`: somebody else gets them now."""
        await self._change_leases(Tag.RELEASE_RANGES, records)

    async def renew(self, *records: Record) -> None:
        """Keep records for another lease, from now on."""
        await self._change_leases(Tag.RENEW_RANGES, records)

    async def _change_leases(self, tag: Tag, records: Iterable[Record]) -> None:
        ranges: dict[TopicPartition, list[tuple[int, int]]] = {}
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            ranges.setdefault(place, []).append((record.offset, record.offset))
        if ranges:
            await self._said(self._offsets().lease(tag, ranges, self._seat))

    async def _said(self, asking: Awaitable[T]) -> T:
        """The coordinator's answer; a stale member joins again."""
        try:
            return await asking
        except StaleError as error:
            if self._member is not None:
                self._member.note_refusal(error.code)
                await self._member.beat()
            raise NotInGroupError(f"{self._group_id} went on: error {error.code}") from None

    # -- who it is -------------------------------------------------------------------------

    @property
    def _fetching(self) -> Fetches:
        if self._fetches is None:
            raise RuntimeError("use it in an `async with` block")
        return self._fetches

    @property
    def _who(self) -> Identity:
        if self._member is not None:
            return self._member.identity
        return Identity(self._group_id or "", "", -1, None)

    @property
    def _seat(self) -> Identity:
        """Who it commits as. Raises NotInGroupError once a heartbeat heard that it was forgotten.

        Without an identity the commit would pass for one from outside the group, which is taken.
        """
        who = self._who
        if self._member is not None and self._shares and who.generation < 1:
            raise NotInGroupError(f"{self._group_id} has forgotten this member")
        return who

    @property
    def _most(self) -> int:
        return self._settings.get("max_ranges_per_commit", 1000)

    def _offsets(self, brokers: Brokers | None = None) -> Offsets:
        link = brokers or self._brokers
        if self._group_id is None or link is None:
            raise ValueError(_NO_GROUP)
        return Offsets(link, self._group_id, only_committed=self._only_committed)
