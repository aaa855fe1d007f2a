"""Which aborted transactions a read is told of."""

from __future__ import annotations

from mockbroker.log.aborted import AbortedIndex, CompletedTransaction


def _index(*entries: tuple[int, int, int, int]) -> AbortedIndex:
    index = AbortedIndex()
    for entry in entries:
        index.append(CompletedTransaction(*entry))
    return index


def _producers(found: list[CompletedTransaction]) -> list[int]:
    return [entry.producer_id for entry in found]


def test_lists_in_the_order_of_the_markers_what_overlaps_the_range() -> None:
    index = _index((6, 1, 2, 0), (5, 0, 3, 4), (7, 8, 9, 10))
    assert _producers(index.collect(0, 100)) == [6, 5, 7]
    assert _producers(index.collect(0, 8)) == [6, 5]
    assert _producers(index.collect(0, 1)) == [5]


def test_a_marker_before_the_fetch_offset_no_longer_matters() -> None:
    index = _index((6, 1, 2, 0), (5, 0, 3, 4))
    assert _producers(index.collect(2, 100)) == [6, 5]
    assert _producers(index.collect(3, 100)) == [5]
    assert _producers(index.collect(4, 100)) == []


def test_truncation_and_deletion_forget_their_side() -> None:
    index = _index((1, 0, 10, 11), (2, 12, 20, 21), (3, 22, 30, 31))
    index.truncate_to(30)
    assert _producers(index.collect(0, 100)) == [1, 2]
    index.delete_before(11)
    assert _producers(index.collect(0, 100)) == [2]
    assert len(index) == 1


def test_a_marker_at_the_log_start_stays() -> None:
    index = _index((1, 0, 10, 11), (2, 12, 20, 21))
    index.delete_before(10)
    assert _producers(index.collect(10, 100)) == [1, 2]
