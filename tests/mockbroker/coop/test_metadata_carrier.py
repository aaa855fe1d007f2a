"""Ranges of offsets as text."""

from __future__ import annotations

import pytest

from mockbroker.coop.commit_tags import commit_fields, read_commit, read_lease_changes
from mockbroker.coop.metadata_carrier import (
    NO_COMMIT,
    read_answer,
    read_text,
    write_commits,
    write_text,
)


def test_a_text_stands_for_its_fields_cm_01() -> None:
    assert read_text("ic1;45-47,50;b=43") == commit_fields([(45, 47), (50, 50)], 43)


def test_a_text_of_confluent_kafka_ends_with_a_zero() -> None:
    assert read_text("ic1;45-47\0") == commit_fields([(45, 47)])


def test_all_that_a_text_may_say() -> None:
    fields = read_text("ic1;;i=1;rel=60-69;ren=70-79,81;x=any;thing=1")
    assert fields is not None
    asked, said = read_commit(fields), read_lease_changes(fields)
    assert asked is not None
    assert (list(asked.ranges), asked.initial, asked.read_committed) == ([], None, True)
    assert (said.release, said.renew) == ([(60, 69)], [(70, 79), (81, 81)])


@pytest.mark.parametrize("text", [None, "", "note", "ic2;1-2", "ic1"])
def test_other_metadata_is_left_alone(text: str | None) -> None:
    assert read_text(text) is None


@pytest.mark.parametrize(
    "text", ["ic1;a", "ic1;1-2-3", "ic1;5-", "ic1;1;b=x", "ic1;1;q=1", f"ic1;{1 << 64}"]
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    assert read_text(text) == NO_COMMIT


def test_an_answer_tells_the_lowest_ranges_that_fit() -> None:
    ranges = [(45, 47), (50, 50), (1000, 2000)]
    assert write_text(ranges, 4096) == "ic1;45-47,50,1000-2000;n=3"
    assert write_text([], 4096) == "ic1;;n=0"
    cut = write_text(ranges, 24)
    assert cut == "ic1;45-47,50;n=3;t=1"
    assert len(write_text([(n, n) for n in range(0, 9999, 2)], 4096)) <= 4096


def test_what_a_client_commits_fits_into_texts() -> None:
    ranges = [(45, 47), (50, 50), (1000, 2000)]
    assert list(write_commits(ranges, 99)) == [("ic1;45-47,50,1000-2000", ranges)]
    assert list(write_commits(ranges, 17, read_committed=True)) == [
        ("ic1;45-47,50;i=1", ranges[:2]),
        ("ic1;1000-2000;i=1", ranges[2:]),
    ]
    assert list(write_commits([], 99, beginning=7)) == [("ic1;;b=7", [])]


def test_what_a_client_reads_of_an_answer() -> None:
    assert read_answer("ic1;45-47,50;n=2;t=1") == [(45, 47), (50, 50)]
    assert read_answer("ic1;;n=0\0behind") == []
    assert read_answer("") == read_answer(None) == read_answer("note") == []
    assert read_answer("ic1;;b=7") is None
