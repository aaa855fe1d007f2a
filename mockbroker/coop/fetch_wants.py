"""What a fetch asks of the extension: a filter for each partition, and as whom.

A session keeps both until it is told otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from mockbroker.coop import tags
from mockbroker.coop.errors import Refusal
from mockbroker.coop.key_filter import BadRangeError, KeyFilter, KeyRange
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from mockbroker.coop.tags import Identity
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestPartition

Wanted: TypeAlias = "KeyFilter | Refusal | None"
PartitionKey: TypeAlias = "tuple[str | bytes, int]"
"""Topic, its id where the fetch goes by ids, and partition."""


class FetchWants:
    """Of one fetch, or of its session; no identity: it reads for itself."""

    __slots__ = ("filters", "identity")

    def __init__(self) -> None:
        self.filters: dict[PartitionKey, KeyFilter | Refusal] = {}
        self.identity: Identity | Refusal | None = None


class Session(Protocol):
    """What this module wants of a fetch session: its place for an extension."""

    extension: object | None


def wants_of(request: FetchRequest, context: object) -> FetchWants:
    """What counts for this fetch: what it says itself, and what its session keeps.

    `context` is the fetch's, which may have a session.
    """
    wants = FetchWants()
    session: Session | None = getattr(context, "session", None)
    if session is not None:
        if session.extension is None:
            session.extension = wants
        else:
            assert isinstance(session.extension, FetchWants)
            wants = session.extension
    filters, own_tags = wants.filters, request.unknown_tags or {}
    if Tag.GROUP_IDENTITY in own_tags:
        try:
            wants.identity = tags.read_identity(own_tags[Tag.GROUP_IDENTITY])
        except ProtocolError:
            wants.identity = Refusal(ErrorCode.INVALID_REQUEST)
    for forgotten in request.forgotten_topics_data:
        for index in forgotten.partitions:
            filters.pop((named(forgotten.topic, forgotten.topic_id), index), None)
    default = own_tags.get(Tag.KEY_RANGES)
    for topic in request.topics:
        name = named(topic.topic, topic.topic_id)
        for asked in topic.partitions:
            own = asked.unknown_tags or {}
            if default is None and Tag.KEY_RANGES not in own and Tag.KEYS not in own:
                continue
            wanted = _wanted(asked, default)
            if wanted is None:
                filters.pop((name, asked.partition), None)
            else:
                filters[name, asked.partition] = wanted
    return wants


def _wanted(asked: FetchRequestPartition, default: bytes | None) -> Wanted:
    """The filter that a partition of a request asks for; None: all records."""
    own = asked.unknown_tags or {}
    packed, keys = own.get(Tag.KEY_RANGES, default), own.get(Tag.KEYS)
    try:
        ranges: list[KeyRange] = [] if packed is None else tags.read_ranges(packed)
        names = [] if keys is None else tags.read_keys(keys)
        # Ranges that are there and empty stand for the whole partition, whatever the keys.
        return KeyFilter(ranges, names) if ranges or (names and packed is None) else None
    except (ProtocolError, BadRangeError):
        return Refusal(ErrorCode.INVALID_REQUEST)


def named(name: str, topic_id: bytes) -> str | bytes:
    """What a partition's topic goes by."""
    return name if topic_id == ZERO_UUID else topic_id
