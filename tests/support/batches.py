"""Batches as only a broker makes them: stamped with the time of their append."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.records.batch import build_batch, read_batch_header, rebuild_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker_protocol.records.record_codec import Record


def stamped_batch(
    records: Sequence[Record],
    log_append_time_ms: int | None,
    *,
    compression: int = 0,
    **options: Any,
) -> bytes:
    """One of LogAppendTime, or None: of CreateTime; `options` as of `build_batch`."""
    header = read_batch_header(build_batch(records, **options))
    return rebuild_batch(
        records, header, compression=compression, log_append_time_ms=log_append_time_ms
    )
