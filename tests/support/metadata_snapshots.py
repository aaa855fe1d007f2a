"""Snapshots of a metadata log in files, as Apache Kafka writes them (KIP-630).

`OFFSET-EPOCH.checkpoint`: a control batch that begins it, batches of records, a control batch that
ends it; offsets count from 0, whatever those of the log are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.quorum.record_codec import encode_metadata_record
from mockbroker_protocol.records.batch import build_batch, iterate_batches, iterate_records
from mockbroker_protocol.records.record_codec import Record
from tests.support.metadata_logs import decode_metadata_record

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADER, FOOTER = 3, 4
"""Types of control records (Kafka: ControlRecordType.SNAPSHOT_HEADER, SNAPSHOT_FOOTER)."""
NO_FIELDS = b"\x00"


class Snapshot(NamedTuple):
    """Where one lies, and what it is up to: the offset behind the last, of that epoch."""

    folder: Path
    offset: int
    epoch: int

    @property
    def file(self) -> Path:
        return self.folder / f"{self.offset:020}-{self.epoch:010}.checkpoint"


def write(snapshot: Snapshot, records: Sequence[object], now_wall_ms: int) -> None:
    """A file of these metadata records."""
    time = now_wall_ms.to_bytes(8, "big")
    values = [(None, encode_metadata_record(record)) for record in records]
    batches = (
        [(control_key(HEADER), b"\0\0" + time + NO_FIELDS)],
        values,
        [(control_key(FOOTER), b"\0\0" + NO_FIELDS)],
    )
    data = b""
    base = 0
    for pairs in batches:
        data += build_batch(
            [Record(base + at, now_wall_ms, *pair) for at, pair in enumerate(pairs)],
            control=pairs is not values,
            partition_leader_epoch=snapshot.epoch,
        )
        base += len(pairs)
    snapshot.file.write_bytes(data)


def control_key(kind: int) -> bytes:
    """Version 0, and the type."""
    return b"\0\0" + kind.to_bytes(2, "big")


def read(file: Path) -> list[tuple[object, int]]:
    """The metadata records of a file, each with its version; it must be whole."""
    data = file.read_bytes()
    kinds = []
    found = []
    for position, header in iterate_batches(data):
        for record in iterate_records(data, position, header):
            if header.is_control:
                assert record.key is not None
                kinds.append(int.from_bytes(record.key[2:], "big"))
            else:
                assert record.value is not None
                found.append(decode_metadata_record(record.value))
    assert (kinds[0], kinds[-1]) == (HEADER, FOOTER)
    return found


def newest(folder: Path) -> Snapshot | None:
    """The last one that is complete."""
    names = sorted(one.stem for one in folder.glob("*.checkpoint") if "-" in one.stem)
    if not names:
        return None
    offset, epoch = names[-1].split("-")
    return Snapshot(folder, int(offset), int(epoch))
