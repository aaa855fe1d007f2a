"""What members of a classic group put into the UserData of their subscriptions and assignments.

The bytes begin with CCX1, so any client with assignors of its own can take part without tagged
fields, and whatever else is in UserData is told from it. An empty list of ranges stands for the
whole partition.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.key_filter import KeyRange
from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from mockbroker.coop.assignor import Assignment, Ranges

MAGIC: Final = b"CCX1"

KEY_RANGES, INDIVIDUAL_COMMITS, COOPERATIVE = 1, 2, 4
"""Flags of what a member can do, and of what a coordinator allows."""

_COUNT = Struct(">i")
_PARTITION = Struct(">ii")
_RANGE = Struct(">qq")
_LENGTH = Struct(">H")
_FLAGS = Struct(">b")


class Subscribed(NamedTuple):
    """What a member says as it joins: what it can do, and which ranges it has."""

    flags: int
    owned: Assignment


def write_subscription(flags: int, owned: Assignment) -> bytes:
    """The UserData of a subscription."""
    return MAGIC + _FLAGS.pack(flags) + _write_topics(owned)


def write_assignment(assigned: Assignment) -> bytes:
    """The UserData of an assignment."""
    return MAGIC + _write_topics(assigned)


def read_subscription(data: bytes | None) -> Subscribed | None:
    """What a subscription's UserData says; None where it is another assignor's.

    Raises ProtocolError if it is cut.
    """
    if not _is_ours(data):
        return None
    if len(data) <= len(MAGIC):
        raise ProtocolError("the flags of a subscription are cut")
    (flags,) = _FLAGS.unpack_from(data, len(MAGIC))
    return Subscribed(flags, _read_topics(data, len(MAGIC) + _FLAGS.size))


def read_assignment(data: bytes | None) -> Assignment | None:
    """The same of an assignment's."""
    return _read_topics(data, len(MAGIC)) if _is_ours(data) else None


def _is_ours(data: bytes | None) -> TypeGuard[bytes]:
    return data is not None and data[: len(MAGIC)] == MAGIC


def _write_topics(topics: Mapping[str, Mapping[int, Ranges]]) -> bytes:
    parts = [_COUNT.pack(len(topics))]
    for topic, partitions in topics.items():
        name = topic.encode()
        parts += (_LENGTH.pack(len(name)), name, _COUNT.pack(len(partitions)))
        for index, ranges in partitions.items():
            parts.append(_PARTITION.pack(index, len(ranges)))
            parts += [_RANGE.pack(*each) for each in ranges]
    return b"".join(parts)


def _read_topics(data: bytes, pos: int) -> Assignment:
    found: Assignment = {}
    try:
        (topics,) = _COUNT.unpack_from(data, pos)
        pos += _COUNT.size
        for _ in range(topics):
            (length,) = _LENGTH.unpack_from(data, pos)
            pos += _LENGTH.size
            topic = data[pos : pos + length].decode()
            pos += length
            (count,) = _COUNT.unpack_from(data, pos)
            pos += _COUNT.size
            partitions = found.setdefault(topic, {})
            for _ in range(count):
                index, ranges = _PARTITION.unpack_from(data, pos)
                pos += _PARTITION.size
                stop = pos + max(ranges, 0) * _RANGE.size
                partitions[index] = tuple(
                    KeyRange(*_RANGE.unpack_from(data, at)) for at in range(pos, stop, _RANGE.size)
                )
                pos = stop
    except (struct_error, UnicodeDecodeError):
        raise ProtocolError("the ranges in UserData are cut") from None
    return found
