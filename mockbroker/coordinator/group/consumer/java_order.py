"""The order in which Java's hash collections hand out what is in them.

Apache Kafka's assignors walk HashMaps and HashSets, so which member gets which partition depends on
that order. The assignors here walk in the same order, and so arrive at the same assignment.

A table has a power of two of buckets and is at most three quarters full; iteration goes by bucket,
and within one by age.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mockbroker.coordinator.runtime import java_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

T = TypeVar("T")

_LEAST_BUCKETS = 16


def uuid_hash(topic_id: bytes) -> int:
    """`Uuid.hashCode` of 16 bytes."""
    bits = int.from_bytes(topic_id[:8], "big") ^ int.from_bytes(topic_id[8:], "big")
    return (bits >> 32 ^ bits) & 0xFFFFFFFF


def ordered_uuids(topic_ids: Collection[bytes]) -> list[bytes]:
    """Topic ids as a set of them is walked."""
    return _ordered(topic_ids, uuid_hash)


def ordered_strings(texts: Collection[str]) -> list[str]:
    """Strings as the keys of a map of them are walked."""
    return _ordered(texts, java_hash)


def ordered_ints(numbers: Collection[int]) -> list[int]:
    """Numbers as a set that was copied from them is walked: ascending, if they are few and low."""
    return _ordered(numbers, lambda number: number, copied=True)


def _ordered(items: Collection[T], hash_of: Callable[[T], int], *, copied: bool = False) -> list[T]:
    buckets = _LEAST_BUCKETS
    # A copy is made with room for n / 0.75 + 1 (HashSet's constructor); other tables double.
    wanted = len(items) * 4 // 3 + 1 if copied else 0
    while buckets < wanted or len(items) * 4 > buckets * 3:
        buckets *= 2

    def bucket(item: T) -> int:
        value = hash_of(item) & 0xFFFFFFFF
        return (value ^ value >> 16) & (buckets - 1)

    return sorted(items, key=bucket)
