"""Compaction is tried, and what it leaves or takes wrongly is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.log.cleanable import cleanable
from mockbroker.log.cleaned_transactions import CleanedTransactions
from mockbroker.log.unified_log import UnifiedLog
from simulation.cluster.audits import cleaning_trials
from simulation.cluster.audits.cleaning_trials import write_on, wrong_cleaning
from simulation.producers import batch_of
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from mockbroker.log.cleanable import Cleanable


def tried(runs: int = 60) -> str:
    found: list[str] = []
    for seed in range(runs):
        log = UnifiedLog("c0", 0)
        for key in (b"k0", b"k9"):
            log.append_as_leader(batch_of([b"v"], 0, -1, 0, keys=[key]), 1, EPOCH_MS)
        found += wrong_cleaning(log, Random(seed))
    return " | ".join(found)


def test_nothing_is_wrong_with_compaction() -> None:
    assert tried() == ""


def test_there_is_something_to_clean() -> None:
    log = UnifiedLog("c0", 0)
    write_on(log, Random(1))
    assert log.log_end_offset >= cleaning_trials.WRITES
    assert log.producers is not None
    assert {*log.producers.producers} <= {*cleaning_trials.PRODUCER_IDS}


def test_one_that_cleans_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(log: UnifiedLog, now_ms: int) -> Cleanable:
        return cleanable(log, now_ms)._replace(end_offset=log.log_end_offset)

    monkeypatch.setattr(cleaning_trials, "cleanable", whole)
    assert "to be compacted is" in tried()


def test_one_that_leaves_all_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning_trials, "clean", lambda *_: None)
    assert "it has records at" in tried()


def test_what_was_aborted_and_stays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CleanedTransactions, "data_may_go", lambda *_: False)
    assert "it has records at" in tried()


@pytest.mark.parametrize("told", ["is left of", "the last batches of producers"])
def test_what_is_not_left_of_batches_is_noticed(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    data, calls = cleaning_trials._data, [0]

    def other(log: UnifiedLog, end: int) -> list[cleaning_trials._Batch]:
        """After each cleaning it has no transactions, or no last batch."""
        calls[0] += 1
        found = data(log, end)
        if calls[0] % 2:
            return found
        if told == "is left of":
            for batch in found:
                batch.header.attributes ^= 0x10
            return found
        return found[:-1]

    monkeypatch.setattr(cleaning_trials, "_data", other)
    assert told in tried()
