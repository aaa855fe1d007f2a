"""What a member of a shared partition sends and is given, as offsets and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.records.batch import build_batch, iterate_batches, iterate_records
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import EPOCH_MS
from tests.support.shared_model import SLOTS
from tests.support.transactions import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coop.key_filter import KeyRange
    from mockbroker_protocol.messages.fetch import FetchResponsePartition


def runs_of(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """The fewest ranges that hold these."""
    found: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if found and found[-1][1] == offset - 1:
            found[-1] = found[-1][0], offset
        else:
            found.append((offset, offset))
    return found


def batch_of(keys: list[str], producer_id: int = -1, epoch: int = -1, sequence: int = -1) -> bytes:
    records = [Record(at, EPOCH_MS, key.encode(), b"v", ()) for at, key in enumerate(keys)]
    return build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=producer_id >= 0,
    )


def offsets_of(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {offset for first, last in ranges for offset in range(first, last + 1)}


def is_in(ranges: tuple[KeyRange, ...], key: str) -> bool:
    return not ranges or any(each.lo <= SLOTS[key] <= each.hi for each in ranges)


def records_of(part: FetchResponsePartition) -> tuple[list[tuple[int, str]], int]:
    """Offsets and keys, and the offset behind; -1 without any batch."""
    data, end = as_bytes(part.records), -1
    found: list[tuple[int, str]] = []
    for pos, header in iterate_batches(data):
        end = header.last_offset + 1
        if not header.is_control:
            found += [
                (one.offset, bytes(one.key or b"").decode())
                for one in iterate_records(data, pos, header)
            ]
    return found, end
