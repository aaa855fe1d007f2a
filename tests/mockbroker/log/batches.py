"""Batches and logs as the log's tests use them: the fixture of the fetch cases.

`plain(n)` is one uncompressed batch with one record, null key, n-byte value, no headers.
"""

from __future__ import annotations

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG, LogConfig
from mockbroker.log.offsets import FetchIsolation
from mockbroker.log.results import AppendResult, ReadResult
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import build_batch, iterate_batches
from mockbroker_protocol.records.record_codec import Record
from tests.support.batches import stamped_batch

NOW = 1_700_000_000_000
LOG_END = FetchIsolation.LOG_END
HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
TXN_COMMITTED = FetchIsolation.TXN_COMMITTED


def plain(
    value_bytes: int = 50,
    *,
    count: int = 1,
    timestamp: int = NOW,
    step_ms: int = 0,
    key: bytes | None = None,
    compression: int = 0,
    timestamp_type: int = 0,
    base_offset: int = 0,
) -> bytes:
    return stamped_batch(
        [
            Record(base_offset + index, timestamp + index * step_ms, key, bytes(value_bytes))
            for index in range(count)
        ],
        timestamp if timestamp_type else None,
        compression=compression,
    )


def produced(
    producer_id: int,
    epoch: int,
    sequence: int,
    *,
    count: int = 1,
    transactional: bool = False,
    timestamp: int = NOW,
) -> bytes:
    return build_batch(
        [Record(index, timestamp, None, bytes(50)) for index in range(count)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def put(log: UnifiedLog, batch: bytes | bytearray, leader_epoch: int = 0) -> AppendResult:
    """Append as the only replica does: what is stored is at once below the high watermark."""
    result = log.append_as_leader(batch, leader_epoch, NOW)
    log.advance_high_watermark(log.log_end_offset)
    return result


def log_with(*batches: bytes, config: LogConfig = DEFAULT_LOG_CONFIG) -> UnifiedLog:
    log = UnifiedLog("t", 0, config)
    for batch in batches:
        assert put(log, batch).error is ErrorCode.NONE
    return log


def bytes_of(result: ReadResult) -> bytes:
    assert sum(len(chunk) for chunk in result.chunks) == result.size_bytes
    return b"".join(result.chunks)


def base_offsets(data: bytes) -> list[int]:
    return [header.base_offset for _, header in iterate_batches(data)]


def abort(log: UnifiedLog, producer_id: int, *, commit: bool = False, advance: bool = True) -> int:
    result = log.append_end_of_transaction(producer_id, 0, 0, 0, NOW, commit=commit)
    assert result.error is ErrorCode.NONE
    if advance:
        log.advance_high_watermark(log.log_end_offset)
    return result.base_offset
