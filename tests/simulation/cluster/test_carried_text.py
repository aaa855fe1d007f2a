"""Ranges as text say to the broker what was meant, and what it tells is read as it stands."""

from __future__ import annotations

import pytest

from mockbroker.coop.commit_tags import commit_fields, write_offset_ranges
from mockbroker.coop.metadata_carrier import read_text, write_text
from mockbroker.coop.numbers import Tag
from simulation.cluster.carried_text import text_of_commit, wrong_in

RANGES = [(3, 5), (9, 9)]


def test_a_commit_is_read_as_it_was_meant() -> None:
    text = text_of_commit(RANGES, begins=1, read_committed=True)
    assert read_text(text) == commit_fields(RANGES, 1, read_committed=True)
    leases = {
        Tag.COMMIT_RANGES: write_offset_ranges([]),
        Tag.RELEASE_RANGES: write_offset_ranges(RANGES),
        Tag.RENEW_RANGES: write_offset_ranges([(1, 1)]),
    }
    assert read_text(text_of_commit(releases=RANGES, renews=[(1, 1)])) == leases


@pytest.mark.parametrize("room", [4096, 18, 12])
def test_what_a_broker_tells_is_right(room: int) -> None:
    assert wrong_in(write_text(RANGES, room), RANGES) is None
    assert wrong_in("", []) is None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "tells nothing"),
        ("ic1;3-5", "cannot be read"),
        ("ic1;3-5;n=1", "does not count"),
        ("ic1;3-5;n=2", "does not count"),
        ("ic1;3-5,9;n=2;t=1", "does not count"),
        ("ic1;3-6,9;n=2", "does not tell"),
    ],
)
def test_what_is_told_wrongly_is_noticed(text: str, wrong: str) -> None:
    assert wrong in (wrong_in(text, RANGES) or "")
