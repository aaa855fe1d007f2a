"""Part G of the cases: isolation and transactions.

Where nothing else is said, batches of a transaction and its marker are appended without its
coordinator, by Produce and WriteTxnMarkers; verification of partitions is off for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.records.batch import iterate_batches, parse_control_record
from mockbroker_protocol.records.batch import iterate_records as records_of
from tests.fetch_cases.asking import Topic

if TYPE_CHECKING:
    from tests.fetch_cases.asking import Got
    from tests.fetch_cases.target import Target

COMMITTED = 1
LONG_MS = 8_000
SOON_MS = LONG_MS / 2
P, A, B = 4001, 4002, 4003
MARKER_BYTES = 78


def open_one(target: Target) -> Topic:
    """Offset 0 plain, 1 of P's open transaction, 2 plain."""
    topic = target.topic(1, (50,))
    target.open_transaction(topic, 0, P)
    target.produce(topic, 0, 50)
    return topic


def still_open(target: Target) -> Topic:
    return target.shared("open transaction", open_one)


def aborted(target: Target) -> Topic:
    """The same, and the marker of its abort at 3."""

    def make(target: Target) -> Topic:
        topic = open_one(target)
        target.end_transaction(topic, 0, P)
        return topic

    return target.shared("aborted transaction", make)


def offsets(got: Got) -> list[int]:
    return [header.base_offset for _, header in iterate_batches(got.records)]


def test_109_read_uncommitted_has_everything(target: Target) -> None:
    got = target.reader().fetch(still_open(target).at(0)).only
    assert (offsets(got), got.positions, got.aborted) == ([0, 1, 2], (3, 1, 0), None)


def test_110_read_committed_ends_at_the_open_transaction(target: Target) -> None:
    got = target.reader().fetch(still_open(target).at(0), isolation=COMMITTED).only
    assert (offsets(got), got.positions, got.aborted) == ([0], (3, 1, 0), [])


def test_111_read_committed_parks_at_the_open_transaction(target: Target) -> None:
    answer = target.reader().fetch(
        still_open(target).at(0, 1), isolation=COMMITTED, wait=150, min_bytes=1
    )
    assert (answer.only.size, answer.only.aborted) == (0, [])
    assert 149 <= answer.elapsed_ms < LONG_MS


def test_111_read_committed_beyond_the_open_transaction_is_answered_at_once(
    target: Target,
) -> None:
    answer = target.reader().fetch(
        still_open(target).at(0, 2), isolation=COMMITTED, wait=LONG_MS, min_bytes=1
    )
    assert (answer.only.error, answer.only.size) == (0, 0)
    assert answer.elapsed_ms < SOON_MS


def test_113_read_committed_beyond_the_end_is_out_of_range(target: Target) -> None:
    got = target.reader().fetch(still_open(target).at(0, 4), isolation=COMMITTED).only
    assert (got.error, got.positions, got.aborted) == (1, (-1, -1, -1), None)


@pytest.mark.parametrize("commit", [False, True])
def test_114_the_end_of_the_transaction_releases_the_fetch(target: Target, commit: bool) -> None:
    topic = open_one(target)
    reader = target.reader()
    reader.ask(topic.at(0, 1), isolation=COMMITTED, wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    target.end_transaction(topic, 0, P, commit=commit)
    answer = reader.answer()
    got = answer.only
    assert (offsets(got), got.positions) == ([1, 2, 3], (4, 4, 0))
    assert got.aborted == ([] if commit else [(P, 1)])
    assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("commit", [False, True])
def test_114_the_coordinator_s_end_of_the_transaction_releases_the_fetch(
    target: Target, commit: bool, version: int
) -> None:
    """EndTxn v5 gives the producer another epoch (KIP-890); the reader sees no difference."""
    topic = target.topic(1, (50,))
    producer = target.coordinated()
    assert producer.begin(topic, 0) == 1
    target.produce(topic, 0, 50)
    reader = target.reader()
    reader.ask(topic.at(0, 1), isolation=COMMITTED, wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    producer.end(version, commit=commit)
    answer = reader.answer()
    got = answer.only
    assert (offsets(got), got.positions) == ([1, 2, 3], (4, 4, 0))
    assert got.aborted == ([] if commit else [(producer.producer_id, 1)])
    assert answer.elapsed_ms < SOON_MS


def test_114_the_end_of_the_transaction_releases_a_session(target: Target) -> None:
    topic = open_one(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 1), isolation=COMMITTED)
    reader.ask(session=(session, 1), isolation=COMMITTED, wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    target.end_transaction(topic, 0, P)
    got = reader.answer().only
    assert (offsets(got), got.positions, got.aborted) == ([1, 2, 3], (4, 4, 0), [(P, 1)])


@pytest.mark.parametrize(
    ("offset", "expected", "listed"),
    [(2, [2, 3], [(P, 1)]), (3, [3], [(P, 1)]), (4, [], [])],
)
def test_115_a_transaction_is_listed_up_to_its_marker(
    target: Target, offset: int, expected: list[int], listed: list[tuple[int, int]]
) -> None:
    got = target.reader().fetch(aborted(target).at(0, offset), isolation=COMMITTED).only
    assert (offsets(got), got.aborted) == (expected, listed)


def test_115_the_marker_is_a_control_batch_for_every_reader(target: Target) -> None:
    for isolation in (0, COMMITTED):
        got = target.reader().fetch(aborted(target).at(0, 3), isolation=isolation).only
        assert got.size == MARKER_BYTES
        ((position, header),) = iterate_batches(got.records)
        assert header.is_control
        assert header.is_transactional
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (P, 0, -1)
        (record,) = records_of(got.records, position, header)
        assert parse_control_record(record) == (0, 0)


def test_116_aborted_transactions_come_in_the_order_of_their_markers(target: Target) -> None:
    topic = target.topic()
    for producer_id in (A, B):
        target.open_transaction(topic, 0, producer_id)
    target.end_transaction(topic, 0, B)
    reader = target.reader()
    first = reader.fetch(topic.at(0), isolation=COMMITTED).only
    assert (first.positions, first.size, first.aborted) == ((3, 0, 0), 0, [])
    target.end_transaction(topic, 0, A)
    both = reader.fetch(topic.at(0), isolation=COMMITTED).only
    assert (offsets(both), both.positions) == ([0, 1, 2, 3], (4, 4, 0))
    assert both.aborted == [(B, 1), (A, 0)]


def test_118_a_batch_that_does_not_fit_leaves_no_list(target: Target) -> None:
    plain, other = target.topic(1, (50,)), aborted(target)
    reader = target.reader()

    def second(max_bytes: int) -> Got:
        answer = reader.fetch(plain.at(0), other.at(0), isolation=COMMITTED, max_bytes=max_bytes)
        assert answer.sizes == [118, 0]
        return answer.parts[1]

    assert second(150).aborted is None
    assert second(118).aborted == [(P, 1)]


def test_120_an_answer_after_the_whole_wait_lists_what_was_aborted_meanwhile(
    target: Target,
) -> None:
    topic = open_one(target)
    reader = target.reader()
    reader.ask(topic.at(0, 1), isolation=COMMITTED, wait=500, min_bytes=10_000)
    target.parked(reader)
    target.end_transaction(topic, 0, P)
    answer = reader.answer()
    assert (answer.only.positions, answer.only.aborted) == ((4, 4, 0), [(P, 1)])
    assert 499 <= answer.elapsed_ms < LONG_MS


def test_121_read_uncommitted_gets_no_list(target: Target) -> None:
    got = target.reader().fetch(aborted(target).at(0)).only
    assert (offsets(got), got.aborted) == ([0, 1, 2, 3], None)


def indexed(target: Target) -> Topic:
    """Offset 4 has the first index entry, 10 the second; P aborts 5 at 6, B aborts 11 at 12.

    An entry is made for a batch when more than 4096 bytes came since the last one.
    """

    def make(target: Target) -> Topic:
        topic = target.topic(1, (1000,) * 5)
        target.open_transaction(topic, 0, P)
        target.end_transaction(topic, 0, P)
        target.produce(topic, 0, *(1000,) * 4)
        target.open_transaction(topic, 0, B)
        target.end_transaction(topic, 0, B)
        return topic

    return target.shared("indexed", make)


@pytest.mark.parametrize(
    ("offset", "listed"), [(2, []), (3, [(P, 5)]), (4, [(P, 5)]), (9, []), (10, [(B, 11)])]
)
def test_115_the_list_goes_up_to_the_next_index_entry(
    target: Target, offset: int, listed: list[tuple[int, int]]
) -> None:
    """What ends where the second entry is ends there; of the first entry the index is blind."""
    got = target.reader().fetch(indexed(target).at(0, offset, 1), isolation=COMMITTED).only
    assert (offsets(got), got.aborted) == ([offset], listed)
