"""Part F of the cases: who waits, for how long, and what ends it.

A wait is measured from the request's last byte out to the answer's last byte in. It is never
shorter than asked; how much longer depends on the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fetch_cases.asking import Answer, Topic
from tests.fetch_cases.target import batch

if TYPE_CHECKING:
    from tests.fetch_cases.target import Target

LONG_MS = 8_000
"""A wait that no test lets end."""
SOON_MS = LONG_MS / 2
LATE_MS = 2_000
CLOCK_GRAIN_MS = 1.0
"""Apache Kafka counts whole milliseconds, so its wait may seem a part of one shorter."""


def assert_waited(target: Target, answer: Answer, wait_ms: int) -> None:
    earliest = wait_ms - (CLOCK_GRAIN_MS if target.is_kafka else 0.0)
    assert earliest <= answer.elapsed_ms < wait_ms + LATE_MS


def quiet(target: Target) -> Topic:
    """Three batches of 118 bytes in partition 0 and one in partition 1; nobody adds to them."""
    return target.shared("quiet", lambda target: target.topic(2, (50, 50, 50), (50,)))


@pytest.mark.parametrize("wait_ms", [1, 5, 10, 50, 100, 333])
def test_92_nothing_new_takes_the_whole_wait(target: Target, wait_ms: int) -> None:
    answer = target.reader().fetch(quiet(target).at(0, 3), wait=wait_ms, min_bytes=1)
    assert (answer.only.error, answer.only.size, answer.only.high_watermark) == (0, 0, 3)
    assert_waited(target, answer, wait_ms)


@pytest.mark.parametrize(
    ("wait", "min_bytes"), [(0, 1), (-1, 1), (-(2**31), 1), (LONG_MS, 0), (LONG_MS, -1)]
)
def test_93_no_wait_or_no_bytes_wanted_answers_at_once(
    target: Target, wait: int, min_bytes: int
) -> None:
    answer = target.reader().fetch(quiet(target).at(0, 3), wait=wait, min_bytes=min_bytes)
    assert answer.only.size == 0
    assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("version", [4, 11, 12, 13, 18])
def test_94_an_append_releases_the_fetch(target: Target, version: int) -> None:
    topic = target.topic()
    reader = target.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=1, version=version)
    target.parked(reader)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert (answer.only.size, answer.only.high_watermark) == (118, 1)
    assert answer.elapsed_ms < SOON_MS


def test_95_a_fetch_waits_for_as_many_bytes_as_it_wants(target: Target) -> None:
    topic = target.topic()
    reader = target.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=300)
    target.parked(reader)
    for _ in range(2):
        target.produce(topic, 0, 50)
        target.parked(reader)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert answer.only.size == 354
    assert answer.elapsed_ms < SOON_MS


def test_96_bytes_of_all_partitions_count_together(target: Target) -> None:
    topic = target.topic(2)
    reader = target.reader()
    reader.ask(topic.at(0), topic.at(1), wait=LONG_MS, min_bytes=300)
    target.parked(reader)
    for index in (0, 1):
        target.produce(topic, index, 50)
        target.parked(reader)
    target.produce(topic, 0, 50)
    assert reader.answer().sizes == [236, 118]


def test_96_bytes_of_all_partitions_of_a_session_count_together(target: Target) -> None:
    topic = target.topic(3)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), topic.at(1), topic.at(2))
    reader.ask(session=(session, 1), wait=LONG_MS, min_bytes=300)
    target.parked(reader)
    for index in (0, 1):
        target.produce(topic, index, 50)
        target.parked(reader)
    target.produce(topic, 1, 50)
    answer = reader.answer()
    assert answer.status == (0, session)
    assert (answer.indexes, answer.sizes) == ([0, 1], [118, 236])


def test_99_no_more_is_waited_for_than_may_be_given(target: Target) -> None:
    topic = target.topic()
    reader = target.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=1000, max_bytes=150)
    target.parked(reader)
    target.produce(topic, 0, 50)
    target.parked(reader)
    target.produce(topic, 0, 50)
    assert reader.answer().only.size == 150


def test_100_what_is_there_is_given_at_once_only_when_it_is_enough(target: Target) -> None:
    topic = quiet(target)
    reader = target.reader()
    enough = reader.fetch(topic.at(0), wait=LONG_MS, min_bytes=354)
    assert enough.only.size == 354
    assert enough.elapsed_ms < SOON_MS
    too_little = reader.fetch(topic.at(0), wait=100, min_bytes=355)
    assert too_little.only.size == 354
    assert_waited(target, too_little, 100)


def test_100_a_partition_limit_below_the_bytes_wanted_takes_the_whole_wait(target: Target) -> None:
    answer = target.reader().fetch(quiet(target).at(0, 0, 150), wait=100, min_bytes=200)
    assert answer.only.size == 150
    assert_waited(target, answer, 100)


def test_100_the_wait_counts_partition_limits_and_the_answer_batches(target: Target) -> None:
    topic = target.topic(2)
    reader = target.reader()
    reader.ask(topic.at(0, 0, 100), topic.at(1, 0, 100), wait=LONG_MS, min_bytes=150)
    target.parked(reader)
    target.produce(topic, 0, 50)
    target.parked(reader)
    target.produce(topic, 1, 50)
    assert reader.answer().sizes == [118, 0]


def test_102_nothing_to_read_answers_at_once(target: Target) -> None:
    reader = target.reader()
    for parts in ((), (Topic("nowhere").at(0),)):
        answer = reader.fetch(*parts, wait=LONG_MS, min_bytes=1)
        assert answer.errors == [3] * len(parts)
        assert answer.elapsed_ms < SOON_MS


def test_102_a_topic_that_is_not_there_does_not_shorten_the_wait(target: Target) -> None:
    answer = target.reader().fetch(
        Topic("nowhere").at(0), quiet(target).at(0, 3), wait=100, min_bytes=1
    )
    assert answer.errors == [0, 3]
    assert_waited(target, answer, 100)


def test_102_an_error_of_reading_answers_at_once(target: Target) -> None:
    topic = quiet(target)
    answer = target.reader().fetch(topic.at(0, 3), topic.at(1, 9), wait=LONG_MS, min_bytes=1)
    assert answer.errors == [0, 1]
    assert answer.elapsed_ms < SOON_MS


def test_102_a_session_error_answers_at_once(target: Target) -> None:
    answer = target.reader().fetch(session=(777, 5), wait=LONG_MS, min_bytes=1)
    assert answer.status == (70, 0)
    assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("version", [12, 13])
def test_102_a_topic_that_goes_releases_the_fetch(target: Target, version: int) -> None:
    topic = target.topic()
    reader = target.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=1, version=version)
    target.parked(reader)
    target.delete(topic)
    answer = reader.answer()
    assert answer.errors == [3]
    assert answer.elapsed_ms < SOON_MS


def test_104_a_log_start_that_moves_wakes_nobody(target: Target) -> None:
    topic = target.topic(1, (50, 50))
    reader = target.reader()
    reader.ask(topic.at(0, 2), wait=300, min_bytes=1)
    target.delete_records(topic, 0, 1)
    answer = reader.answer()
    assert answer.only.positions == (2, 2, 1)
    assert_waited(target, answer, 300)


def test_106_bytes_that_were_there_count_with_those_that_come(target: Target) -> None:
    topic = target.topic(1, (50,))
    reader = target.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=200)
    target.parked(reader)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert answer.only.size == 236
    assert answer.elapsed_ms < SOON_MS


def test_106_a_new_segment_releases_the_fetch(target: Target) -> None:
    topic = target.topic(1, (50,), segment_bytes="1048576", max_message_bytes="1048000")
    reader = target.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=50_000_000)
    target.parked(reader)
    target.append(topic, 0, batch(600_000))
    target.parked(reader)
    target.append(topic, 0, batch(600_000))
    answer = reader.answer()
    assert 118 < answer.only.size < 1_048_576
    assert answer.elapsed_ms < SOON_MS


def test_107_one_request_for_two_partitions_is_seen_whole(target: Target) -> None:
    topic = target.topic(2)
    reader = target.reader()
    reader.ask(topic.at(0), topic.at(1), wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    target.append_all(topic, {0: batch(), 1: batch()})
    assert reader.answer().sizes == [118, 118]


def test_108_a_produce_by_name_releases_a_fetch_by_id(target: Target) -> None:
    topic = target.topic()
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), version=13)
    reader.ask(session=(session, 1), wait=LONG_MS, min_bytes=1, version=18)
    target.parked(reader)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert (answer.status, answer.sizes) == ((0, session), [118])


def test_108_a_parked_fetch_holds_up_its_own_connection_only(target: Target) -> None:
    topic = quiet(target)
    reader, another = target.reader(), target.reader()
    reader.ask(topic.at(0, 3), wait=300, min_bytes=1)
    reader.ask(topic.at(0), version=18)
    reader.ask(topic.at(1), version=4)
    target.parked(reader)
    assert another.fetch(topic.at(0)).elapsed_ms < SOON_MS
    assert not reader.readable_within(0)
    assert [reader.answer().only.size for _ in range(3)] == [0, 354, 118]
