"""Records whose keys' slots are known, as the cases of cooperative consumption have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop.key_filter import KeyRange
from mockbroker_protocol.records.batch import (
    build_batch,
    control_batch,
    iterate_batches,
    iterate_records,
)
from mockbroker_protocol.records.record_codec import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

LOW, HIGH = KeyRange(0, 1073741823), KeyRange(1073741824, 2147483647)
"""The halves of the slots: a, b, c and abc are low; foobar, 21 and user-1 to user-4 are high."""
LOG_END = 13


def keyed(offset: int, *keys: str | None, compression: int = 0) -> bytes:
    """One batch with these keys from that offset on."""
    return build_batch(
        [
            Record(offset + at, 0, None if key is None else key.encode(), b"v", ())
            for at, key in enumerate(keys)
        ],
        compression=compression,
        partition_leader_epoch=0,
    )


def log_k() -> list[bytes]:
    """Four batches of data and a commit marker, 452 bytes, offsets 0 to 12."""
    return [
        keyed(0, "a", "foobar", "b", "21"),
        keyed(4, "foobar", "21", "user-1"),
        keyed(7, "a", "b", "c"),
        control_batch(7, 0, True, 0, 0, base_offset=10, partition_leader_epoch=0),
        keyed(11, "c", "user-2"),
    ]


def spans(chunks: Sequence[bytes | bytearray | memoryview]) -> list[tuple[int, int, list[int]]]:
    """(first offset, last offset, offsets of the records) of each batch; they must be whole."""
    data = b"".join(chunks)
    return [
        (
            header.base_offset,
            header.last_offset,
            [record.offset for record in iterate_records(data, at, header)],
        )
        for at, header in iterate_batches(data)
    ]
