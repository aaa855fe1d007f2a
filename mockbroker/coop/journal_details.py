"""What the extension's tagged fields say, for the lines of requests in the journal.

Called by `journal.details` where a request or its answer has such fields. Fields that cannot be
read say nothing. docs/journal.md names what is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import read_offset_ranges
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker_protocol.messages.fetch import FetchRequest

Line = dict[str, object]
T = TypeVar("T")
_STATS = ("scanned_bytes", "scanned_records", "matched_records", "cache_hits")
_MOST = 100
"""Ranges that are told of one partition."""


def of_fetch(request: FetchRequest) -> Line:
    """As whom a fetch reads."""
    named = tags.tagged_fields(request).get(Tag.GROUP_IDENTITY)
    who = None if named is None else _told(tags.read_identity, named)
    if who is None:
        return {}
    return {"group": who.group, "member": who.member, "generation": who.generation}


def of_partition(asked: Mapping[int, bytes], told: Mapping[int, bytes]) -> Line:
    """A fetch's filter of a partition, what it came to, and what was handed out."""
    line: Line = {}
    if Tag.KEY_RANGES in asked:
        line["slots"] = _listed(_told(tags.read_ranges, asked[Tag.KEY_RANGES]))
    if Tag.KEYS in asked:
        keys = _told(tags.read_keys, asked[Tag.KEYS])
        line["keys"] = None if keys is None else len(keys)
    if Tag.NEXT_FETCH_OFFSET in told:
        line["next_offset"] = _told(tags.read_offset, told[Tag.NEXT_FETCH_OFFSET])
    if Tag.FILTER_STATS in told:
        line |= zip(_STATS, tags.read_stats(told[Tag.FILTER_STATS]), strict=True)
    if Tag.ACQUIRED_RANGES in told:
        line["acquired"] = _listed(tags.read_acquired(told[Tag.ACQUIRED_RANGES]))
    return line


def of_commit(asked: Mapping[int, bytes], told: Mapping[int, bytes]) -> Line:
    """The ranges of a commit, and how the group stands then."""
    line: Line = {}
    if Tag.COMMIT_RANGES in asked:
        line["ranges"] = _listed(_told(read_offset_ranges, asked[Tag.COMMIT_RANGES]))
    if Tag.STABLE_OFFSET in told:
        line["stable"] = _told(tags.read_offset, told[Tag.STABLE_OFFSET])
    if Tag.RANGE_COUNT in told:
        line["held"] = int.from_bytes(told[Tag.RANGE_COUNT][:4], "big")
    return line


def _listed(ranges: Sequence[tuple[int, ...]] | None) -> list[list[int]] | None:
    """As JSON has them: a line is the same before it is written and after it is read."""
    return None if ranges is None else [list(each) for each in ranges[:_MOST]]


def _told(read: Callable[[bytes], T], data: bytes) -> T | None:
    try:
        return read(data)
    except ProtocolError:
        return None
