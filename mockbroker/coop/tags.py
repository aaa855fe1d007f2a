"""The bytes inside the extension's tagged fields.

Primitive types are Kafka's; arrays are packed: an unsigned varint of one more than the count, then
the items without tag sections. Bytes behind what is known are ignored, so that a field may grow.
What is cut raises ProtocolError.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop.numbers import FIRST_TAG, LAST_TAG, STAGES, TABLE_VERSION
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.primitives import (
    read_compact_nullable_string,
    read_compact_string,
    read_uvarint,
    write_compact_string,
    write_uvarint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mockbroker.coop.numbers import DraftError

_HELLO = Struct(">hi")
_RANGE = Struct(">qq")
_OFFSET = Struct(">q")
_STATS = Struct(">iiii")
_ERROR = Struct(">h")
_INT = Struct(">i")
_COOPERATIVE = Struct(">ii")
_ACQUIRED = Struct(">qqh")
_MOST_SHORT: Final = 32767
NO_MESSAGE: Final = b"\x00"


class HasPartitions(Protocol):
    """A topic of a request."""

    @property
    def partitions(self) -> Iterable[object]:
        """What is said of each."""


def tagged_fields(message: object) -> dict[int, bytes]:
    """The tagged fields of a message that its API does not have; not to be changed."""
    return getattr(message, "unknown_tags", None) or {}


def is_spoken_of(topics: Iterable[HasPartitions]) -> bool:
    """Whether some partition of these topics has a tagged field of the extension."""
    for topic in topics:
        for one in topic.partitions:
            fields = one.unknown_tags  # type: ignore[attr-defined]  # a slot of every message
            if fields is not None and is_spoken(fields):
                return True
    return False


def tag(message: object, fields: Mapping[int, bytes]) -> None:
    """Send these tagged fields with a message."""
    message.unknown_tags = dict(fields)  # type: ignore[attr-defined]  # a slot of every message


def is_spoken(tags: Mapping[int, bytes] | None) -> bool:
    """Whether these unknown tagged fields have one of the extension's."""
    return tags is not None and any(FIRST_TAG <= tag <= LAST_TAG for tag in tags)


def hello() -> bytes:
    """What this broker says of itself: the version of the tables, and its stages."""
    return _HELLO.pack(TABLE_VERSION, STAGES)


def read_stages(data: bytes) -> int:
    """The stages that a hello tells of."""
    if len(data) < _HELLO.size:
        raise ProtocolError("the hello is cut")
    stages: int = _HELLO.unpack_from(data)[1]
    return stages


def read_ranges(data: bytes) -> list[KeyRange]:
    """The packed ranges of slots, ends included."""
    count, pos = _read_count(data)
    if len(data) - pos < count * _RANGE.size:
        raise ProtocolError(f"{count} ranges need more than {len(data) - pos} bytes")
    return [
        KeyRange(*_RANGE.unpack_from(data, at))
        for at in range(pos, pos + count * _RANGE.size, _RANGE.size)
    ]


def unpack_ranges(packed: Iterable[bytes]) -> list[KeyRange]:
    """Ranges of slots from 16 bytes each."""
    return [KeyRange(*_RANGE.unpack(one)) for one in packed]


def pack_ranges(ranges: Iterable[tuple[int, int]]) -> list[bytes]:
    """Ranges, ends included, as 16 bytes each."""
    return [_RANGE.pack(*one) for one in ranges]


def read_keys(data: bytes) -> list[bytes | None]:
    """The packed keys; None is the null key."""
    count, pos = _read_count(data)
    keys: list[bytes | None] = []
    for _ in range(count):
        size, pos = read_uvarint(data, pos)
        stop = pos + max(size - 1, 0)
        if stop > len(data):
            raise ProtocolError("a key is cut")
        keys.append(data[pos:stop] if size else None)
        pos = stop
    return keys


class Identity(NamedTuple):
    """Who fetches: a member of a group, in its generation or at its epoch."""

    group: str
    member: str
    generation: int
    instance: str | None


def read_identity(data: bytes) -> Identity:
    """The member that a fetch names."""
    group, pos = read_compact_string(data, 0)
    member, pos = read_compact_string(data, pos)
    if len(data) - pos < _INT.size:
        raise ProtocolError("the generation is cut")
    (generation,) = _INT.unpack_from(data, pos)
    instance, _ = read_compact_nullable_string(data, pos + _INT.size)
    return Identity(group, member, generation, instance)


def write_identity(identity: Identity) -> bytes:
    """The same as a client sends it."""
    return b"".join(
        (
            write_compact_string(identity.group),
            write_compact_string(identity.member),
            _INT.pack(identity.generation),
            write_compact_string(identity.instance),
        )
    )


class Cooperative(NamedTuple):
    """How much a cooperative fetch wants, and for how long; 0 is what the broker gives."""

    max_records: int = 0
    lease_ms: int = 0


def read_cooperative(data: bytes) -> Cooperative:
    """What a cooperative fetch says."""
    if len(data) < _COOPERATIVE.size:
        raise ProtocolError("what a cooperative fetch says is cut")
    asked = Cooperative(*_COOPERATIVE.unpack_from(data))
    if min(asked) < 0:
        raise ProtocolError(f"{asked} is nothing to ask for")
    return asked


def write_cooperative(asked: Cooperative) -> bytes:
    """The same as a client sends it."""
    return _COOPERATIVE.pack(*asked)


def write_acquired(pieces: Iterable[tuple[int, int, int]]) -> bytes:
    """Packed offsets that are handed out: first, last, and how often."""
    packed = [_ACQUIRED.pack(first, last, min(times, _MOST_SHORT)) for first, last, times in pieces]
    return write_uvarint(len(packed) + 1) + b"".join(packed)


def read_acquired(data: bytes) -> list[tuple[int, int, int]]:
    """The same as a client reads it."""
    count, pos = _read_count(data)
    if len(data) - pos < count * _ACQUIRED.size:
        raise ProtocolError(f"{count} pieces need more than {len(data) - pos} bytes")
    stop = pos + count * _ACQUIRED.size
    return [_ACQUIRED.unpack_from(data, at) for at in range(pos, stop, _ACQUIRED.size)]


def milliseconds(value: int) -> bytes:
    """An int32."""
    return _INT.pack(value)


def read_flags(data: bytes) -> int:
    """An int8 of flags."""
    if not data:
        raise ProtocolError("the flags are cut")
    return data[0]


def offset(value: int) -> bytes:
    """An offset."""
    return _OFFSET.pack(value)


def read_offset(data: bytes) -> int:
    """The same as a client reads it."""
    if len(data) < _OFFSET.size:
        raise ProtocolError("an offset is cut")
    value: int = _OFFSET.unpack_from(data)[0]
    return value


def stats(scanned_bytes: int, scanned: int, matched: int, cache_hits: int) -> bytes:
    """What a filter cost: bytes and records looked at, records that matched, from the cache."""
    return _STATS.pack(scanned_bytes, scanned, matched, cache_hits)


def read_stats(data: bytes) -> tuple[int, int, int, int]:
    """The same as a client reads it."""
    if len(data) < _STATS.size:
        raise ProtocolError("what a filter cost is cut")
    found: tuple[int, int, int, int] = _STATS.unpack_from(data)
    return found


def error(number: DraftError) -> bytes:
    """The draft's number of an error, without a message."""
    return _ERROR.pack(number) + NO_MESSAGE


def read_error(data: bytes | None) -> int:
    """The draft's number of an error; 0 where there is none."""
    if data is None:
        return 0
    if len(data) < _ERROR.size:
        raise ProtocolError("an error is cut")
    number: int = _ERROR.unpack_from(data)[0]
    return number


def write_ranges(ranges: Iterable[KeyRange]) -> bytes:
    """Packed ranges."""
    packed = [_RANGE.pack(*each) for each in ranges]
    return write_uvarint(len(packed) + 1) + b"".join(packed)


def write_partition_ranges(of: Mapping[int, Sequence[KeyRange]]) -> bytes:
    """Packed partitions, each with its packed ranges."""
    items = [_INT.pack(index) + write_ranges(ranges) for index, ranges in of.items()]
    return write_uvarint(len(items) + 1) + b"".join(items)


def read_partition_ranges(data: bytes) -> dict[int, list[KeyRange]]:
    """The same as a client reads it."""
    count, pos = _read_count(data)
    found = {}
    for _ in range(count):
        if len(data) - pos < _INT.size:
            raise ProtocolError("a partition is cut")
        (index,) = _INT.unpack_from(data, pos)
        pos += _INT.size
        found[index] = read_ranges(data[pos:])
        pos += len(write_ranges(found[index]))
    return found


def _read_count(data: bytes) -> tuple[int, int]:
    count, pos = read_uvarint(data, 0)
    return max(count - 1, 0), pos
