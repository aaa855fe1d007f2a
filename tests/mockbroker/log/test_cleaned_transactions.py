"""Whose data go and whose markers may, batch by batch in the order of a log."""

from __future__ import annotations

from mockbroker.log.aborted import CompletedTransaction
from mockbroker.log.cleaned_transactions import CleanedTransactions
from mockbroker_protocol.records.batch import (
    BatchHeader,
    build_batch,
    control_batch,
    read_batch_header,
    rebuild_batch,
)
from mockbroker_protocol.records.record_codec import Record

ABORTED = CompletedTransaction(7, 2, 5, 6)


def data(offset: int, producer_id: int, *, transactional: bool = True) -> BatchHeader:
    batch = build_batch(
        [Record(offset, 0, b"k", b"v")], producer_id=producer_id, transactional=transactional
    )
    return read_batch_header(batch)


def marker(offset: int, producer_id: int, *, commit: bool) -> tuple[BatchHeader, bytes]:
    batch = control_batch(producer_id, 0, commit, 0, 0, base_offset=offset)
    return read_batch_header(batch), batch


def test_data_of_an_aborted_transaction_may_go_from_where_it_began() -> None:
    seen = CleanedTransactions([ABORTED])
    assert not seen.data_may_go(data(1, 7))
    assert seen.data_may_go(data(2, 7))
    assert not seen.data_may_go(data(3, 8))
    assert not seen.data_may_go(data(4, 7, transactional=False))


def test_the_marker_of_an_abort_stays_while_data_was_met() -> None:
    seen = CleanedTransactions([ABORTED])
    seen.data_may_go(data(2, 7))
    assert not seen.marker_may_go(*marker(5, 7, commit=False))
    assert seen.kept_aborted == [ABORTED]
    assert not seen.data_may_go(data(6, 7))  # the next transaction


def test_the_marker_of_an_empty_abort_may_go() -> None:
    seen = CleanedTransactions([ABORTED])
    assert seen.marker_may_go(*marker(5, 7, commit=False))
    assert seen.kept_aborted == []


def test_the_marker_of_a_commit_may_go_when_nothing_was_met() -> None:
    seen = CleanedTransactions([])
    seen.data_may_go(data(0, 9))
    assert not seen.marker_may_go(*marker(1, 9, commit=True))
    assert seen.marker_may_go(*marker(2, 9, commit=True))


def test_a_marker_without_its_record_was_cleaned_before() -> None:
    whole = build_batch([Record(3, 0, b"", b"")], producer_id=7, control=True)
    batch = rebuild_batch([], read_batch_header(whole), keep_offsets=True)
    assert CleanedTransactions([]).marker_may_go(read_batch_header(batch), batch)
