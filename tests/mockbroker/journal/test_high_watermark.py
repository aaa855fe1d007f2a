"""A high watermark that moved is a value, as the other events are."""

from __future__ import annotations

from mockbroker.journal import HighWatermarkMoved
from mockbroker.journal.lines import fields_of

MOVED = HighWatermarkMoved(1, "t", 0, 5, 7, 9)


def test_it_tells_its_fields_in_the_order_of_its_line() -> None:
    told = dict(zip(fields_of(HighWatermarkMoved), MOVED.packed(), strict=True))
    assert (
        told
        == MOVED.values()
        == {
            "broker_id": 1,
            "topic": "t",
            "partition": 0,
            "before": 5,
            "after": 7,
            "log_end_offset": 9,
            "follower": None,
        }
    )


def test_it_compares_and_prints_by_its_fields() -> None:
    assert HighWatermarkMoved(1, "t", 0, 5, 7, 9) == MOVED
    assert HighWatermarkMoved(1, "t", 0, 5, 7, 9, follower=2) != MOVED
    assert MOVED.packed() != MOVED
    assert repr(MOVED).startswith("HighWatermarkMoved(broker_id=1, topic='t', partition=0, ")
