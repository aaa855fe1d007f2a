"""The records of `__individual_commit_offsets`, and their bytes.

A range of offsets is part of its key: the range that takes in two others is one record, and two
tombstones.

    key    int16 0 | string group | string topic | int32 partition | int64 first | int64 last
    value  int16 0 | int32 leader epoch | int64 commit timestamp | string member | int8 isolation
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812 -- a class
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.records import (
    CoordinatorRecord,
    ExtensionKey,
    ExtensionValue,
)

if TYPE_CHECKING:
    from mockbroker.coop.interval_set import OffsetRange

_VERSION: Final = b"\x00\x00"
_LENGTH: Final = Struct(">h")
_PARTITION: Final = Struct(">i")
_RANGE: Final = Struct(">qq")
_COMMITTED: Final = Struct(">hiqh")


@dataclass(slots=True)
class IndividualCommitKey(ExtensionKey):
    """Offsets from `first` to `last` of a group in a partition."""

    group: str
    topic: str
    partition: int
    first: int
    last: int


@dataclass(slots=True, frozen=True)
class IndividualCommitValue(ExtensionValue):
    """Who committed them and when, in ms; `isolation` 1: of one who reads committed records."""

    leader_epoch: int
    commit_timestamp: int
    member: str
    isolation: int


def encode(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as bytes."""
    key, value = record.key, record.value
    assert isinstance(key, IndividualCommitKey)
    head = _key_head(key.group, key.topic, key.partition)
    packed = head + _RANGE.pack(key.first, key.last)
    if value is None:
        return packed, None
    assert isinstance(value, IndividualCommitValue)
    member = value.member.encode()
    fixed = _COMMITTED.pack(0, value.leader_epoch, value.commit_timestamp, len(member))
    return packed, fixed + member + bytes((value.isolation,))


def decode(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """The record that the bytes mean; None for what this broker does not know."""
    if key is None or key[:2] != _VERSION:
        return None
    try:
        group, topic, partition = _parse_head(bytes(key[: -_RANGE.size]))
        first, last = _RANGE.unpack_from(key, len(key) - _RANGE.size)
        decoded = None if value is None else _parse_value(value)
    except (StructError, ValueError, IndexError):
        return None
    return CoordinatorRecord(IndividualCommitKey(group, topic, partition, first, last), decoded)


def tombstone(group: str, topic: str, partition: int, range_: OffsetRange) -> CoordinatorRecord:
    """The record that takes a range away."""
    return CoordinatorRecord(IndividualCommitKey(group, topic, partition, *range_), None)


@lru_cache(maxsize=256)
def _key_head(group: str, topic: str, partition: int) -> bytes:
    return _VERSION + _string(group) + _string(topic) + _PARTITION.pack(partition)


@lru_cache(maxsize=256)
def _parse_head(head: bytes) -> tuple[str, str, int]:
    group, pos = _read_string(head, len(_VERSION))
    topic, pos = _read_string(head, pos)
    (partition,) = _PARTITION.unpack(head[pos:])
    return group, topic, partition


@lru_cache(maxsize=256)
def _parse_value(value: bytes) -> IndividualCommitValue:
    """Those of one commit are the same, which makes a replay short."""
    version, leader_epoch, timestamp, size = _COMMITTED.unpack_from(value)
    if version:
        raise ValueError("a later version")
    end = _COMMITTED.size + size
    member = value[_COMMITTED.size : end].decode()
    return IndividualCommitValue(leader_epoch, timestamp, member, value[end])


def _string(text: str) -> bytes:
    encoded = text.encode()
    return _LENGTH.pack(len(encoded)) + encoded


def _read_string(data: bytes, pos: int) -> tuple[str, int]:
    (size,) = _LENGTH.unpack_from(data, pos)
    pos += _LENGTH.size
    return data[pos : pos + size].decode(), pos + size
