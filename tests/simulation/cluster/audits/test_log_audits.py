"""What a log derives from its batches is derived anew, and a difference is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.log.unified_log import UnifiedLog
from simulation.cluster.audits.log_audits import wrong_with
from simulation.producers import batch_of
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from collections.abc import Callable


def a_log() -> UnifiedLog:
    """Two epochs, an idempotent producer, an aborted and an open transaction."""
    log = UnifiedLog("t0", 0)

    def append(epoch: int, batch: bytes) -> None:
        assert not log.append_as_leader(batch, epoch, EPOCH_MS).error

    log.assign_epoch(1)
    for sequence in range(7):
        append(1, batch_of([b"a"], 0, 1, sequence))
    append(1, batch_of([b"b"], 0, 2, 0, transactional=True))
    log.append_end_of_transaction(2, 0, 3, 1, EPOCH_MS, commit=False)
    log.assign_epoch(4)
    append(4, batch_of([b"c"], 0, 3, 0, transactional=True))
    append(4, batch_of([b"d"], 0, -1, 0))
    log.advance_high_watermark(log.log_end_offset)
    return log


def wrong(log: UnifiedLog, passed: int = 0) -> str:
    return " | ".join(
        one for seed in range(30) for one in wrong_with(log, Random(seed), passed=passed)
    )


def test_nothing_is_wrong_with_a_log() -> None:
    assert not wrong(a_log())


def test_nothing_is_wrong_with_one_that_was_cut_at_either_end() -> None:
    log = a_log()
    log.truncate_to(9)
    assert not wrong(log)
    log.advance_log_start(8)
    assert not wrong(log)


def test_what_a_high_watermark_has_passed_is_not_open_again_where_that_goes_back() -> None:
    log = a_log()
    log.set_high_watermark(8)  # a follower's, of a new leader
    assert log.last_stable_offset == 8
    assert "its last stable offset is not 7" in wrong(log)
    assert not wrong(log, passed=log.log_end_offset)


def forget_a_batch(log: UnifiedLog) -> None:
    assert log.producers is not None
    del log.producers.producers[1].batches[0]


def open_nothing(log: UnifiedLog) -> None:
    assert log.producers is not None
    log.producers.producers[3].current_txn_first_offset = -1


def forget_the_coordinator(log: UnifiedLog) -> None:
    assert log.producers is not None
    log.producers.producers[2].coordinator_epoch = -1


def keep_a_producer(log: UnifiedLog) -> None:
    kept = log.producers
    assert kept is not None
    kept = kept.copy()
    log.truncate_to(5)
    assert log.producers is not None
    log.producers.producers.update(kept.producers)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (forget_a_batch, "producer 1 has epoch 0 and batches"),
        (open_nothing, "producer 3 is open since -1"),
        (forget_the_coordinator, "producer 2 knows coordinator epoch -1"),
        (keep_a_producer, "is known by batches that it has not"),
        (lambda log: setattr(log, "_first_unstable_offset", -1), "last stable offset is not 9"),
        (lambda log: setattr(log, "_aborted", None), "lacks aborted transactions {(2, 7)}"),
        (lambda log: setattr(log, "_epochs", None), "epoch 4 of its batches is unknown"),
        (lambda log: log.assign_epoch(5, 9), "epoch 4 of its batches is unknown"),
        (lambda log: setattr(log, "log_end_offset", 12), "the last batch ends at 11"),
    ],
)
def test_what_does_not_follow_is_noticed(spoil: Callable[[UnifiedLog], None], told: str) -> None:
    log = a_log()
    spoil(log)
    assert told in wrong(log)


def test_a_read_that_begins_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = UnifiedLog.read
    monkeypatch.setattr(
        UnifiedLog,
        "read",
        lambda log, offset, *rest, **more: read(log, min(offset + 1, 11), *rest, **more),
    )
    assert "has batches at" in wrong(a_log())


def test_epochs_that_contradict_each_other_are_noticed() -> None:
    log = a_log()
    assert log._epochs is not None
    log._epochs.epochs.append(2)
    log._epochs.start_offsets.append(5)
    assert "epochs [1, 4, 2] begin at" in wrong(log)


def test_an_epoch_between_two_that_is_told_as_known_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        UnifiedLog, "end_offset_for_epoch", lambda self, e: (e, self.log_end_offset)
    )
    assert "the end of 2 is told as" in wrong(a_log())
