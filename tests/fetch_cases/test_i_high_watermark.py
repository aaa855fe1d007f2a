"""Part I of the cases, on one node: the high watermark that a reader brings along (KIP-1166).

Apache Kafka heeds the field on its metadata log and ignores it elsewhere; ours heeds it on every
partition. That is the one intended difference, so each test says which of the two it holds for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.fetch_cases.asking import Topic
    from tests.fetch_cases.target import Target

LONG_MS = 8_000
SOON_MS = LONG_MS / 2
SHORT_MS = 80
UNKNOWN = 2**63 - 1
LOW = (-1, 0, 2)
"""Values below the high watermark of 3."""
HIGH = (3, 4, UNKNOWN)


def three(target: Target) -> Topic:
    return target.shared("watermark", lambda target: target.topic(1, (50, 50, 50)))


def asked(topic: Topic, value: int | None) -> dict[str, int]:
    return {} if value is None else {"high_watermark": value}


@pytest.mark.parametrize("replica_id", [-1, -2])
@pytest.mark.parametrize("value", LOW)
def test_148_a_reader_that_knows_less_is_answered_at_once_by_ours(
    target: Target, value: int, replica_id: int
) -> None:
    wait = SHORT_MS if target.is_kafka else LONG_MS
    part = three(target).at(0, 3, high_watermark=value)
    answer = target.reader().fetch(part, version=18, wait=wait, min_bytes=1, replica_id=replica_id)
    assert (answer.only.error, answer.only.size, answer.only.high_watermark) == (0, 0, 3)
    if target.is_kafka:
        assert answer.elapsed_ms >= SHORT_MS - 1
    else:
        assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("value", [None, *HIGH])
def test_148_a_reader_that_knows_as_much_is_parked(target: Target, value: int | None) -> None:
    topic = three(target)
    part = topic.at(0, 3, **asked(topic, value))
    answer = target.reader().fetch(part, version=18, wait=SHORT_MS, min_bytes=1)
    assert (answer.only.error, answer.only.size, answer.only.high_watermark) == (0, 0, 3)
    assert answer.elapsed_ms >= SHORT_MS - 1


@pytest.mark.parametrize("version", [4, 12, 17])
def test_148_before_v18_nobody_has_the_field(target: Target, version: int) -> None:
    topic = three(target)
    answer = target.reader().fetch(topic.at(0, 3), version=version, wait=SHORT_MS, min_bytes=1)
    assert answer.only.size == 0
    assert answer.elapsed_ms >= SHORT_MS - 1


def test_148_records_end_the_wait_of_a_reader_with_a_watermark_at_ours(target: Target) -> None:
    """Its fetch waits only while the answer would be empty, however many bytes it wants."""
    part = three(target).at(0, 2, high_watermark=3)
    wait = SHORT_MS if target.is_kafka else LONG_MS
    answer = target.reader().fetch(part, version=18, wait=wait, min_bytes=10_000)
    assert answer.only.size == 118
    if target.is_kafka:
        assert answer.elapsed_ms >= SHORT_MS - 1
    else:
        assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("value", [None, 0, 1, UNKNOWN])
def test_151_an_append_releases_every_reader(target: Target, value: int | None) -> None:
    topic = target.topic()
    reader = target.reader()
    reader.ask(topic.at(0, **asked(topic, value)), version=18, wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert (answer.only.size, answer.only.high_watermark) == (118, 1)
    assert answer.elapsed_ms < SOON_MS


def test_151_an_advance_releases_a_reader_that_wants_more_bytes_at_ours(target: Target) -> None:
    topic = target.topic()
    wait = 300 if target.is_kafka else LONG_MS
    reader = target.reader()
    reader.ask(topic.at(0, high_watermark=0), version=18, wait=wait, min_bytes=10_000)
    target.parked(reader)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert answer.only.size == 118
    assert (answer.elapsed_ms < SOON_MS) if not target.is_kafka else (answer.elapsed_ms >= 299)


def test_151_a_session_tells_a_watermark_once_at_ours(target: Target) -> None:
    topic = three(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 3, high_watermark=0), version=18)
    for epoch in (1, 2):
        answer = reader.fetch(session=(session, epoch), version=18, wait=SHORT_MS, min_bytes=1)
        assert answer.status == (0, session)
        assert answer.parts == []
        assert answer.elapsed_ms >= SHORT_MS - 1
    again = reader.fetch(topic.at(0, 3, high_watermark=2), session=(session, 3), version=18)
    assert again.indexes == ([] if target.is_kafka else [0])
