"""Offsets with places compare as the purgatory needs them."""

from __future__ import annotations

from mockbroker.log.offsets import LogOffsetMetadata


def test_places_compare_by_segment_and_position() -> None:
    old = LogOffsetMetadata(5, 0, 100)
    assert LogOffsetMetadata(6, 0, 130).position_diff(old) == 30
    assert old == LogOffsetMetadata(5, 0, 100) != LogOffsetMetadata(5, 0, 101)
    assert repr(old) == "LogOffsetMetadata(5, 0, 100)"
