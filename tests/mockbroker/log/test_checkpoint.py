"""A log goes back to what it was: what was appended goes, what was taken out comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.config.log_config import LogConfig
from mockbroker.log.checkpoint import LogCheckpoint
from mockbroker.log.cleaner import clean
from mockbroker.log.retention import delete_old_segments
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.log.batches import NOW, abort, log_with, plain, produced, put

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = LogConfig(segment_bytes=300, retention_ms=1000)
COMPACTED = LogConfig(segment_bytes=300, compact=True, retention_ms=1000)


def state(log: UnifiedLog) -> object:
    producers = log.producers
    return (
        repr(log),
        [(bytes(batch), header.base_offset) for header, batch in log.iterate_batches(0)],
        [(segment.base_offset, segment.mark()) for segment in log.segments()],
        log.first_dirty_offset,
        log.latest_epoch,
        None if producers is None else producers.last_records(),
        log.aborted_transactions(0, 1000),
        log.last_stable_offset,
    )


def append(log: UnifiedLog) -> None:
    for _ in range(4):
        put(log, plain(60, key=b"k"))


def retain(log: UnifiedLog) -> None:
    append(log)
    assert delete_old_segments(log, NOW + 5000)


def compact(log: UnifiedLog) -> None:
    append(log)
    clean(log, 0, log.segments()[-1].base_offset, NOW)


def delete(log: UnifiedLog) -> None:
    log.advance_log_start(log.high_watermark - 1)


def truncate(log: UnifiedLog) -> None:
    log.truncate_to(2)
    append(log)


def start_elsewhere(log: UnifiedLog) -> None:
    log.truncate_fully_and_start_at(40)
    append(log)


def forget_producers(log: UnifiedLog) -> None:
    log.expire_producers(NOW + 10_000, 1)


CHANGES = [append, retain, compact, delete, truncate, start_elsewhere, forget_producers]


@pytest.mark.parametrize("config", [SMALL, COMPACTED])
@pytest.mark.parametrize("change", CHANGES)
def test_goes_back_whatever_happened(
    config: LogConfig, change: Callable[[UnifiedLog], None]
) -> None:
    log = log_with(*[plain(60, key=b"k") for _ in range(4)], produced(1, 0, 0), config=SMALL)
    put(log, produced(7, 0, 0, transactional=True))
    abort(log, 7)
    log.config = config
    before = state(log)
    checkpoint = LogCheckpoint(log)
    assert checkpoint.is_state_of(log)
    change(log)
    assert not checkpoint.is_state_of(log)
    back = checkpoint.restored(log)
    assert state(back) == before
    put(back, plain(60, key=b"k"))
    assert back.log_end_offset == 8


def test_an_open_transaction_is_open_again() -> None:
    log = log_with(plain(), produced(7, 0, 0, transactional=True))
    checkpoint = LogCheckpoint(log)
    abort(log, 7)
    assert log.last_stable_offset == 3
    back = checkpoint.restored(log)
    assert (back.last_stable_offset, back.high_watermark) == (1, 2)
    assert back.has_ongoing_transaction(7, 0)


def test_a_producer_that_has_written_on_is_new_to_the_log() -> None:
    """Its client cannot count back, and who is new may begin anywhere; the others are known."""
    log = log_with(*(produced(producer, 0, 0) for producer in (1, 2, 3)))
    checkpoint = LogCheckpoint(log)
    put(log, produced(1, 0, 1))
    put(log, produced(2, 1, 0))
    put(log, produced(4, 0, 0))
    back = checkpoint.restored(log)
    assert back.last_records_of_producers() == {3: (2, 0)}
    for batch in (produced(1, 0, 2), produced(2, 1, 1), produced(3, 0, 1), produced(4, 0, 1)):
        assert put(back, batch).error is ErrorCode.NONE


def test_a_checkpoint_costs_no_look_at_records() -> None:
    log = log_with(*[plain(5)] * 200)
    segments = log.segments()
    checkpoint = LogCheckpoint(log)
    append(log)
    assert checkpoint.restored(log).segments() is segments


def test_a_new_epoch_alone_is_no_change() -> None:
    log = log_with(plain())
    checkpoint = LogCheckpoint(log)
    log.assign_epoch(5)
    assert checkpoint.is_state_of(log)


def test_an_empty_log_is_empty_again() -> None:
    log = UnifiedLog()
    checkpoint = LogCheckpoint(log)
    put(log, plain())
    assert checkpoint.restored(log).log_end_offset == 0
