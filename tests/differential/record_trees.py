"""Record bytes as trees: batches of magic 2 with their header, and message sets of old."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import batch, legacy

if TYPE_CHECKING:
    from mockbroker_protocol.records.record_codec import Record
    from tests.differential.trees import Tree

HEADER_FIELDS = (
    "base_offset", "batch_length", "partition_leader_epoch", "magic", "attributes",
    "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id", "producer_epoch",
    "base_sequence", "record_count",
)  # fmt: skip


def records_tree(records: Any) -> Tree:
    if records is None:
        return None
    data = b"".join(records) if isinstance(records, list) else bytes(records)
    if not data:
        return []
    try:
        if batch.peek_magic(data) in (0, 1):
            return [message_tree(message) for message in legacy.iterate_messages(data)]
        return batch_trees(data)
    except ProtocolError:
        return data.hex()


def batch_trees(data: bytes) -> list[Tree]:
    trees: list[Tree] = []
    end = 0
    for pos, header in batch.iterate_batches(data):
        tree: dict[str, Tree] = {name: getattr(header, name) for name in HEADER_FIELDS}
        tree["crc_is_right"] = batch.verify_crc(data, pos, header)
        tree["records"] = [record_tree(record) for record in iterate(data, pos, header)]
        trees.append(tree)
        end = pos + header.size_in_bytes
    if end < len(data):
        trees.append(f"cut: {len(data) - end} bytes")
    return trees


def iterate(data: bytes, pos: int, header: batch.BatchHeader) -> list[Record]:
    return list(batch.iterate_records(data, pos, header))


def record_tree(record: Record) -> Tree:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": text(record.key),
        "value": text(record.value),
        "headers": [[name, text(value)] for name, value in record.headers],
    }


def message_tree(message: legacy.Message) -> Tree:
    return {
        name: text(value) if isinstance(value := getattr(message, name), bytes | memoryview)
        else value
        for name in type(message).__slots__
        if name not in ("crc", "start", "pos")
    }  # fmt: skip


def text(data: bytes | memoryview | None) -> str | None:
    return None if data is None else bytes(data).decode("latin-1")
