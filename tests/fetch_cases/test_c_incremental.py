"""Part C of the cases: what an incremental answer includes, and who comes first in the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fetch_cases.asking import Topic

if TYPE_CHECKING:
    from tests.fetch_cases.target import Target


def test_51_an_added_partition_is_told_once(target: Target) -> None:
    topic = target.topic(2)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0))
    assert reader.fetch(topic.at(1), session=(session, 1)).indexes == [1]
    assert reader.fetch(session=(session, 2)).indexes == []


def test_52_records_are_told_until_the_reader_moves_on(target: Target) -> None:
    topic = target.topic(2)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), topic.at(1))
    target.produce(topic, 1, 50)
    for epoch in (1, 2):
        answer = reader.fetch(session=(session, epoch))
        assert (answer.indexes, answer.sizes) == ([1], [118])
    assert reader.fetch(topic.at(1, 1), session=(session, 3)).indexes == []


def test_53_a_log_start_that_moved_is_told(target: Target) -> None:
    topic = target.topic(2, (50, 50), (50, 50))
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 2), topic.at(1, 2))
    target.delete_records(topic, 1, 1)
    got = reader.fetch(session=(session, 1)).only
    assert (got.index, got.size, got.positions) == (1, 0, (2, 2, 1))
    assert reader.fetch(session=(session, 2)).parts == []


def test_56_an_error_is_told_every_time_and_its_end_once(target: Target) -> None:
    topic = target.topic()
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0))
    assert reader.fetch(topic.at(0, 5), session=(session, 1)).errors == [1]
    assert reader.fetch(session=(session, 2)).errors == [1]
    cleared = reader.fetch(topic.at(0), session=(session, 3)).only
    assert (cleared.error, cleared.positions, cleared.size) == (0, (0, 0, 0), 0)
    assert reader.fetch(session=(session, 4)).parts == []


def test_57_a_diverging_epoch_is_told_every_time(target: Target) -> None:
    topic = target.topic(1, (50, 50, 50))
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 10, last_fetched_epoch=0))
    for epoch in (1, 2):
        got = reader.fetch(session=(session, epoch)).only
        assert got.error == 0
        diverging = got.data.diverging_epoch
        assert diverging is not None
        assert (diverging.epoch, diverging.end_offset) == (0, 3)
        assert got.size == 0


def test_61_only_partitions_with_records_go_to_the_back(target: Target) -> None:
    topic = target.topic(4)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(1), topic.at(2), topic.at(3))
    target.produce(topic, 1, 50)
    target.produce(topic, 2, 50)
    # Partition 1 has another high watermark to tell and no records.
    answer = reader.fetch(topic.at(1, 1), session=(session, 1))
    assert (answer.indexes, answer.sizes) == ([1, 2], [0, 118])
    target.produce(topic, 1, 50)
    target.produce(topic, 3, 50)
    assert reader.fetch(session=(session, 2)).indexes == [1, 3, 2]


def test_61_partitions_take_turns_when_the_answer_is_small(target: Target) -> None:
    topic = target.topic(5, (50,), (50,), (), (50,), (50,))
    reader = target.reader()
    session, full = reader.open_session(*[topic.at(index) for index in range(5)], max_bytes=118)
    assert full.sizes == [118, 0, 0, 0, 0]
    # A full answer moves nobody.
    served = []
    for epoch in range(1, 7):
        answer = reader.fetch(session=(session, epoch), max_bytes=118)
        assert answer.sizes == [118]
        served += answer.indexes
    assert served == [0, 1, 3, 4, 0, 1]


def test_63_a_new_offset_changes_no_position(target: Target) -> None:
    topic = target.topic(3, (50, 50), (50, 50), (50, 50))
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), topic.at(1), topic.at(2))
    answer = reader.fetch(topic.at(1, 1), session=(session, 1))
    assert (answer.indexes, answer.sizes) == ([0, 1, 2], [236, 118, 236])


def test_64_a_batch_that_no_longer_fits_is_no_news(target: Target) -> None:
    topic = target.topic(2, (50,), (50,))
    reader = target.reader()
    session, full = reader.open_session(topic.at(0, 0, 1), topic.at(1, 0, 1))
    assert full.sizes == [118, 0]
    assert reader.fetch(session=(session, 1)).indexes == [0]
    # Partition 0 went to the back, so partition 1 has the one batch that is given anyway.
    assert reader.fetch(session=(session, 2)).indexes == [1]


def test_65_partitions_that_cannot_be_read_come_last(target: Target) -> None:
    topic, missing = target.topic(2, (50,), (50,)), Topic("nowhere")
    parts = missing.at(0), topic.at(0), topic.at(7), topic.at(1, 9)
    expected = [(topic.name, 0), (topic.name, 1), ("nowhere", 0), (topic.name, 7)]
    reader = target.reader()
    sessionless = reader.fetch(*parts)
    assert sessionless.places == expected
    assert sessionless.errors == [0, 1, 3, 3]
    session, full = reader.open_session(*parts)
    assert full.places == expected
    answer = reader.fetch(session=(session, 1))
    assert answer.places == expected
    # Partition 0 had records and goes behind the others of the session, whatever was wrong there.
    again = reader.fetch(session=(session, 2))
    assert again.places == [(topic.name, 1), (topic.name, 0), ("nowhere", 0), (topic.name, 7)]
