"""Whole batches from the position on, without those of aborted transactions."""

from __future__ import annotations

from mockbroker_protocol.messages.fetch import AbortedTransaction, FetchResponsePartition
from mockbroker_protocol.records.batch import build_batch, control_batch
from mockbroker_protocol.records.record_codec import Record
from simulation.record_reader import read_records


def batch(base: int, *values: bytes, producer_id: int = -1) -> bytes:
    records = [Record(base + at, 0, None, value, []) for at, value in enumerate(values)]
    return build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=-1 if producer_id < 0 else 0,
        transactional=producer_id >= 0,
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    return offset.to_bytes(8, "big") + control_batch(producer_id, 0, commit, 0, 0)[8:]


def data_of(
    *chunks: bytes, aborted: list[AbortedTransaction] | None = None
) -> FetchResponsePartition:
    return FetchResponsePartition(0, 0, 9, 9, 0, aborted, -1, list(chunks))


def test_records_before_the_position_are_passed_over() -> None:
    reading = read_records(data_of(batch(4, b"a", b"b")), 5, committed=False)
    assert (reading.records, reading.end) == ([(5, b"b")], 6)


def test_a_cut_batch_is_left_for_later() -> None:
    reading = read_records(data_of(batch(0, b"a"), batch(1, b"b")[:-1]), 0, committed=False)
    assert (reading.records, reading.end, reading.wrong) == ([(0, b"a")], 1, None)


def test_no_records_leave_the_reader_where_it_is() -> None:
    assert read_records(data_of(), 3, committed=True).end == 3


def test_a_spoilt_batch_is_told() -> None:
    spoilt = bytearray(batch(0, b"abc"))
    spoilt[-1] ^= 1
    assert "checksum" in str(read_records(data_of(bytes(spoilt)), 0, committed=False).wrong)
    assert read_records(data_of(bytes(70)), 0, committed=False).wrong is not None


def test_only_a_committed_reader_leaves_aborted_records_out() -> None:
    chunks = (
        batch(0, b"lost", producer_id=7),
        batch(1, b"kept"),
        marker(2, 7, commit=False),
        batch(3, b"again", producer_id=7),
        marker(4, 7, commit=True),
    )
    aborted = [AbortedTransaction(7, 0)]
    committed = read_records(data_of(*chunks, aborted=aborted), 0, committed=True)
    assert (committed.records, committed.end) == ([(1, b"kept"), (3, b"again")], 5)
    everything = read_records(data_of(*chunks), 0, committed=False)
    assert [value for _, value in everything.records] == [b"lost", b"kept", b"again"]
