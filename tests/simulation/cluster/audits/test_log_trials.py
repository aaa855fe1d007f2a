"""What logs do when they are cut or grow old is tried, and what is wrong noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.log.aborted import AbortedIndex
from mockbroker.log.epoch_cache import LeaderEpochCache
from mockbroker.log.producer_state import ProducerStateManager
from mockbroker.log.results import AppendResult
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits import log_trials
from simulation.cluster.audits.log_trials import TRIALS, LogTrials, likeness
from simulation.producers import batch_of
from simulation.stage import EPOCH_MS
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.cluster.audits.log_trials import Trial

RUNS = 60


def a_log() -> UnifiedLog:
    """Two epochs, batches of one record and more, an aborted and an open transaction."""
    log = UnifiedLog("t0", 0)

    def append(epoch: int, batch: bytes) -> None:
        assert not log.append_as_leader(batch, epoch, EPOCH_MS).error

    for sequence in range(4):
        append(1, batch_of([b"a"], sequence, 1, sequence, keys=[b"a"]))
    append(1, batch_of([b"b", b"c"], 5, 2, 0, transactional=True, keys=[b"a", b"b"]))
    log.append_end_of_transaction(2, 0, 3, 1, EPOCH_MS, commit=False)
    append(4, batch_of([b"c"], 6, 3, 0, transactional=True, keys=[b"c"]))
    append(4, batch_of([b"d"], 7, -1, 0, keys=[b"d"]))
    log.advance_high_watermark(log.log_end_offset)
    return log


def tried(trial: Trial, of: UnifiedLog | None = None) -> str:
    """What is found where a log is tried often."""
    found: list[str] = []
    log = of or a_log()
    for seed in range(RUNS):
        rng = Random(seed)
        like = likeness(log, rng.choice(log_trials.SEGMENT_BYTES))
        assert like is not None
        found += trial(like, rng)
    return " | ".join(found)


def test_a_likeness_has_what_the_log_has() -> None:
    log = a_log()
    like = likeness(log, 1)
    assert like is not None
    assert (like.log_end_offset, like.high_watermark) == (log.log_end_offset, log.high_watermark)
    assert like.leader_epochs() == log.leader_epochs()
    assert like.segment_count == 8
    assert likeness(UnifiedLog("t0", 0), 1) is None


@pytest.mark.parametrize("trial", TRIALS)
def test_nothing_is_wrong_with_a_log(trial: Trial) -> None:
    assert tried(trial) == ""


def test_logs_of_a_broker_are_tried() -> None:
    simulated = SimulatedCluster()
    simulated.produce(2)
    trials, broker = LogTrials(Random(1)), simulated.world.cluster.brokers[0]
    before = repr(simulated.leader_log())
    assert [wrong for _ in range(100) for wrong in trials.look(broker)] == []
    assert trials.tried
    assert repr(simulated.leader_log()) == before


def _keeps_all(_log: UnifiedLog, _now_ms: int) -> bool:
    return False


def _takes_markers(self: AbortedIndex, _offset: int) -> None:
    self._entries.clear()
    self._last_offsets.clear()


def _appends_alone(self: LeaderEpochCache, epoch: int, start_offset: int) -> None:
    if epoch > self.latest_epoch():
        self.epochs.append(epoch)
        self.start_offsets.append(start_offset)


def _forgets_nobody(*_: object) -> None:
    """Nothing is too old."""


def _lets_through(*_: object, **__: object) -> ErrorCode:
    return ErrorCode.NONE


def _refuses(*_: object, **__: object) -> AppendResult:
    return AppendResult(ErrorCode.MESSAGE_TOO_LARGE)


def _takes_nothing(*_: object) -> AppendResult:
    return AppendResult(ErrorCode.NONE)


@pytest.mark.parametrize(
    ("trial", "where", "name", "broken", "told"),
    [
        (log_trials.wrong_retention, log_trials, "delete_old_segments", _keeps_all, "leaves it"),
        (log_trials.wrong_deletion, AbortedIndex, "delete_before", _takes_markers, "as aborted"),
        (log_trials.wrong_cut, LeaderEpochCache, "assign", _appends_alone, "two epochs"),
        (log_trials.wrong_cut, LeaderEpochCache, "truncate_from_end", _forgets_nobody, "cut at"),
        (
            log_trials.wrong_expiry,
            ProducerStateManager,
            "remove_expired",
            _forgets_nobody,
            "it knows",
        ),
        (
            log_trials.wrong_marker,
            ProducerStateManager,
            "check_marker",
            _lets_through,
            "of version 2",
        ),
        (log_trials.wrong_limit, UnifiedLog, "append_as_leader", _refuses, "are allowed"),
    ],
)
def test_what_is_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    trial: Trial,
    where: object,
    name: str,
    broken: Callable[..., object],
    told: str,
) -> None:
    log = a_log()
    monkeypatch.setattr(where, name, broken)
    assert told in tried(trial, log)


def test_an_offset_that_is_stored_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    like = likeness(a_log(), 1)
    assert like is not None
    monkeypatch.setattr(UnifiedLog, "append_as_follower", _takes_nothing)
    assert "a batch from 8 on" in next(iter(log_trials.wrong_growth(like, Random(1))))


def test_a_read_that_is_remembered_from_before_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    forget = UnifiedLog._forget_from

    def remembers(self: UnifiedLog, offset: int) -> None:
        idle = self._idle_read
        forget(self, offset)
        self._idle_read = idle

    monkeypatch.setattr(UnifiedLog, "_forget_from", remembers)
    assert "a read of its end is of" in tried(log_trials.wrong_new_start)
