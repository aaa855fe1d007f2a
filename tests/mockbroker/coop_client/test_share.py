"""What a member knows of a partition: what it sends, and what it never claims."""

from __future__ import annotations

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop_client.share import Committed, Share


def begun(stable: int, *ranges: tuple[int, int]) -> Share:
    share = Share((KeyRange(0, 9),))
    share.begin(Committed(stable, ranges))
    return share


def test_known_gaps_are_glued_cl_01() -> None:
    share = begun(40, (45, 47))
    share.ack(44, 44)
    share.ack(48, 48)
    assert share.to_commit(1000) == [(44, 48)]


def test_an_unknown_gap_is_somebody_elses() -> None:
    share = begun(40, (45, 46))
    share.ack(44, 44)
    share.ack(48, 48)
    assert share.to_commit(1000) == [(44, 44), (48, 48)]


def test_what_was_too_old_counts_as_committed_cl_02() -> None:
    share = begun(43)
    share.ack(43, 47)
    share.committed((), 48)
    assert share.to_commit(1000) == []
    assert share.stable == 48


def test_the_lowest_ranges_go_first() -> None:
    share = begun(0)
    for offset in (8, 2, 5):
        share.ack(offset, offset)
    assert share.to_commit(2) == [(2, 2), (5, 5)]
    share.committed([(2, 2), (5, 5)], 0)
    assert share.to_commit(2) == [(8, 8)]


def test_a_glued_range_beyond_the_limit_is_whole() -> None:
    share = begun(0, (3, 4))
    for offset in (2, 5, 7):
        share.ack(offset, offset)
    assert share.to_commit(1) == [(2, 5)]


def test_it_begins_at_the_stable_offset_and_skips_what_is_done() -> None:
    share = begun(5, (7, 8))
    assert share.position == 5
    assert [offset for offset in range(10) if share.is_done(offset)] == [0, 1, 2, 3, 4, 7, 8]


def test_what_was_acknowledged_below_the_stable_offset_is_dropped() -> None:
    share = begun(5)
    share.ack(3, 6)
    assert share.to_commit(10) == [(5, 6)]
    share.ack(2, 4)
    assert share.to_commit(10) == [(5, 6)]


def test_what_somebody_else_has_is_not_sent() -> None:
    share = begun(0)
    share.ack(1, 3)
    share.lost(2, 2)
    assert share.to_commit(10) == [(1, 1), (3, 3)]


def test_it_tells_what_is_committed_and_not_what_is_still_to_be() -> None:
    share = begun(40, (45, 46))
    share.ack(44, 44)
    share.ack(50, 50)
    share.committed([(44, 44)], 40)
    assert share.standing() == Committed(40, ((44, 46),))
    share.lost(50, 50)
    assert share.standing() == Committed(40, ((44, 46),))
