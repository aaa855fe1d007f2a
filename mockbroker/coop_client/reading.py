"""Records out of what a fetch answered for one partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop import tags
from mockbroker.coop.key_filter import slot_of
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.records.batch import (
    CONTROL_ABORT,
    iterate_batches,
    iterate_records,
    parse_control_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.coop_client.share import Share
    from mockbroker_protocol.messages.fetch import FetchResponsePartition
    from mockbroker_protocol.records.batch import BatchHeader


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """A record as a user gets it; `deliveries` counts how often a lease handed it out."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    deliveries: int
    turn: int
    """Which of the consumer's generations it came in."""


def read_records(
    place: TopicPartition,
    data: FetchResponsePartition,
    share: Share,
    turn: int,
    *,
    only_committed: bool,
) -> Iterator[Record]:
    """What of an answer is this member's to process; its position moves behind all that was read.

    Left out is what is not in its ranges or leases, what is committed already and what lies before
    its position. Control batches and aborted records are noted as holes.
    """
    fields = tags.tagged_fields(data)
    packed = fields.get(Tag.ACQUIRED_RANGES)
    leased = None if packed is None else tags.read_acquired(packed)
    checks_keys = bool(share.ranges) and Tag.FILTER_STATS not in fields
    for header, pos, raw in _batches(data, share, only_committed=only_committed):
        for one in iterate_records(raw, pos, header):
            deliveries = _deliveries(leased, one.offset)
            if leased is None and one.offset < share.position:
                continue
            if not deliveries or share.is_done(one.offset):
                continue
            if checks_keys and not is_mine(share, one.key):
                continue
            yield Record(
                *place,
                one.offset,
                one.timestamp,
                one.key,
                one.value,
                one.headers,
                deliveries,
                turn,
            )
        share.position = max(share.position, header.next_offset)
    told = fields.get(Tag.NEXT_FETCH_OFFSET)
    if told is not None:
        share.position = tags.read_offset(told)


def _batches(
    data: FetchResponsePartition, share: Share, *, only_committed: bool
) -> Iterator[tuple[BatchHeader, int, bytes]]:
    """The batches that hold records for whoever reads at this isolation."""
    given = data.records or b""
    raw = b"".join(given) if isinstance(given, list) else bytes(given)
    aborted = sorted(data.aborted_transactions or (), key=lambda one: one.first_offset)
    ending: set[int] = set()
    for pos, header in iterate_batches(raw):
        while aborted and aborted[0].first_offset <= header.last_offset:
            ending.add(aborted.pop(0).producer_id)
        if header.is_control:
            share.note_done(header.base_offset, header.last_offset)
            share.position = max(share.position, header.next_offset)
            for marker in iterate_records(raw, pos, header):
                if parse_control_record(marker)[0] == CONTROL_ABORT:
                    ending.discard(header.producer_id)
        elif only_committed and header.is_transactional and header.producer_id in ending:
            share.note_done(header.base_offset, header.last_offset)
            share.position = max(share.position, header.next_offset)
        else:
            yield header, pos, raw


def _deliveries(leased: list[tuple[int, int, int]] | None, offset: int) -> int:
    """How often an offset was handed out; 0: it is somebody else's."""
    if leased is None:
        return 1
    return next((times for first, last, times in leased if first <= offset <= last), 0)


def is_mine(share: Share, key: bytes | None) -> bool:
    """Whether a key is in the member's ranges; where those without one go is the topic's rule.

    It is asked where the broker does not say that it looked: one that ignores tagged fields.
    """
    if key is None:
        return True
    slot = slot_of(key)
    return any(lo <= slot <= hi for lo, hi in share.ranges)
