"""What a consumer makes of the record bytes of an answer, as Java's CompletedFetch does.

Whole batches are taken, a cut one at the end is left for the next fetch, records before the
position are passed over; with read_committed, so are those of aborted transactions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records.batch import (
    iterate_batches,
    iterate_records,
    parse_control_record,
    verify_crc,
)

if TYPE_CHECKING:
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

ABORT = 0


@dataclass(slots=True)
class Reading:
    """Records (offset, value) of one answer, and where the reader stands after them."""

    end: int
    last_epoch: int = -1
    """The leader epoch of the last batch taken."""
    records: list[tuple[int, bytes]] = field(default_factory=list)
    wrong: str | None = None


def read_records(data: FetchResponsePartition, position: int, *, committed: bool) -> Reading:
    """Take the records of one partition from `position` on."""
    reading = Reading(position)
    chunks = data.records
    if chunks:
        buffer = b"".join(chunks) if isinstance(chunks, list) else bytes(chunks)
        try:
            _read(buffer, data, reading, committed=committed)
        except ProtocolError as error:
            reading.wrong = str(error)
    return reading


def _read(
    buffer: bytes, data: FetchResponsePartition, reading: Reading, *, committed: bool
) -> None:
    waiting = sorted(
        (aborted.first_offset, aborted.producer_id) for aborted in data.aborted_transactions or ()
    )
    aborting: dict[int, None] = {}
    for pos, header in iterate_batches(buffer):
        if not verify_crc(buffer, pos, header):
            reading.wrong = f"the checksum of the batch at {header.base_offset} is wrong"
            return
        while committed and waiting and waiting[0][0] <= header.last_offset:
            aborting[waiting.pop(0)[1]] = None
        if header.is_control:
            (marker,) = iterate_records(buffer, pos, header)
            if parse_control_record(marker)[0] == ABORT:
                aborting.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in aborting):
            for record in iterate_records(buffer, pos, header):
                if record.offset >= reading.end and record.value is not None:
                    reading.records.append((record.offset, record.value))
        reading.last_epoch = header.partition_leader_epoch
        reading.end = max(reading.end, header.last_offset + 1)
