"""Where records of a batch lie, by their slots."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop.batch_index import BatchIndex, pieces
from mockbroker.coop.key_filter import KeyRange

DATA = b"..aabccccdee"
EDGES = [2, 4, 5, 9, 10, 12]
INDEX = BatchIndex(EDGES, [0, 1, 3, 4, 7], [50, 10, 50, -1, 30])


def test_records_in_ranges_come_in_the_order_of_the_batch() -> None:
    assert INDEX.matching([KeyRange(50, 60), KeyRange(0, 10)]) == [0, 1, 2]
    assert INDEX.matching([KeyRange(11, 49)]) == [4]
    assert INDEX.matching([]) == []


def test_who_has_no_slot_is_in_no_range() -> None:
    index = BatchIndex(EDGES, [0, 1, 3, 4, 7], [50, 10, 50, -1, 30])
    for _ in ("each looked at", "sorted"):
        assert index.matching([KeyRange(0, (1 << 31) - 1)]) == [0, 1, 2, 4]
        assert sorted(index.slotted()) == [0, 1, 2, 4]
    assert list(BatchIndex(EDGES, range(5), range(5)).slotted()) == [0, 1, 2, 3, 4]


def test_neighbours_are_one_piece() -> None:
    assert pieces(DATA, EDGES, [0, 1, 2]) == [b"aabcccc"]
    assert pieces(DATA, EDGES, [0, 2, 4]) == [b"aa", b"cccc", b"ee"]
    assert pieces(DATA, EDGES, []) == []


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.integers(0, 9))), st.data())
def test_what_is_thinned_is_found_as_before(
    records: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    plain = b"".join(one for one, _ in records)
    edges = list(accumulate((len(one) for one, _ in records), initial=0))
    whole = BatchIndex(edges, range(len(records)), [slot for _, slot in records])
    some = sorted(data.draw(st.sets(st.sampled_from(range(len(records))))) if records else ())
    thin = whole.thinned(some)
    left = b"".join(pieces(plain, edges, some))
    assert list(thin.deltas) == some
    for slot in range(10):
        mine = thin.matching([KeyRange(slot, slot)])
        expected = [number for number in some if records[number][1] == slot]
        assert [thin.deltas[number] for number in mine] == expected
        given_out = b"".join(pieces(left, thin.edges, mine))
        assert given_out == b"".join(records[number][0] for number in expected)
