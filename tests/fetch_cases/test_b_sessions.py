"""Part B of the cases: the life of a fetch session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fetch_cases.asking import Topic

if TYPE_CHECKING:
    from tests.fetch_cases.target import Target

NOT_FOUND = 70
WRONG_EPOCH = 71
TOPIC_ID_ERROR = 106
UNKNOWN_ID = bytes(range(16))
LONG_MS = 8_000
"""A wait that no test lets end."""


def filled(target: Target) -> Topic:
    """One batch of 118 bytes in each of two partitions."""
    return target.shared("filled", lambda target: target.topic(2, (50,), (50,)))


def test_20_an_incremental_answer_has_what_still_has_data(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, full = reader.open_session(topic.at(0, 1), topic.at(1))
    assert full.indexes == [0, 1]
    assert full.sizes == [0, 118]
    answer = reader.fetch(session=(session, 1))
    assert answer.status == (0, session)
    assert (answer.indexes, answer.sizes) == ([1], [118])


def test_21_an_incremental_answer_without_news_is_empty(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 1), topic.at(1, 1))
    for epoch in (1, 2):
        answer = reader.fetch(session=(session, epoch))
        assert answer.status == (0, session)
        assert answer.parts == []


def test_22_the_final_epoch_closes_the_session(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), topic.at(1))
    last = reader.fetch(topic.at(0), topic.at(1), session=(session, -1))
    assert last.status == (0, 0)
    assert last.sizes == [118, 118]
    assert reader.fetch(session=(session, 1)).status == (NOT_FOUND, 0)


def test_23_the_initial_epoch_replaces_the_session(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0))
    again = reader.fetch(topic.at(0), session=(session, 0))
    assert again.error == 0
    assert again.sizes == [118]
    assert again.session_id not in (0, session)
    assert reader.fetch(session=(session, 1)).status == (NOT_FOUND, 0)
    assert reader.fetch(session=(again.session_id, 1)).status == (0, again.session_id)


def test_24_an_unknown_session_matters_only_where_it_goes_on(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    opened = reader.fetch(topic.at(0), session=(777, 0))
    assert (opened.error, opened.sizes) == (0, [118])
    assert opened.session_id not in (0, 777)
    sessionless = reader.fetch(topic.at(0), session=(777, -1))
    assert (sessionless.status, sessionless.sizes) == ((0, 0), [118])
    refused = reader.fetch(topic.at(0), session=(777, 1))
    assert (refused.status, refused.parts) == ((NOT_FOUND, 0), [])


@pytest.mark.parametrize("epoch", [1, 5, -2])
def test_24_no_session_at_all_goes_on_nowhere(target: Target, epoch: int) -> None:
    answer = target.reader().fetch(filled(target).at(0), session=(0, epoch))
    assert (answer.status, answer.parts) == ((NOT_FOUND, 0), [])


def test_26_a_wrong_epoch_does_not_consume_the_right_one(target: Target) -> None:
    reader = target.reader()
    session, _ = reader.open_session(filled(target).at(0))
    for wrong in (99, 2, -2):
        answer = reader.fetch(session=(session, wrong), wait=LONG_MS, min_bytes=1)
        assert (answer.status, answer.parts) == ((WRONG_EPOCH, 0), [])
    assert reader.fetch(session=(session, 1)).status == (0, session)


def test_27_an_epoch_serves_once(target: Target) -> None:
    reader = target.reader()
    session, _ = reader.open_session(filled(target).at(0))
    assert reader.fetch(session=(session, 1)).status == (0, session)
    assert reader.fetch(session=(session, 1)).status == (WRONG_EPOCH, 0)
    assert reader.fetch(session=(session, 2)).status == (0, session)


def test_28_an_unknown_session_outweighs_a_wrong_epoch(target: Target) -> None:
    reader = target.reader()
    session, _ = reader.open_session(filled(target).at(0))
    reader.fetch(session=(session, -1))
    assert reader.fetch(session=(session, 99)).status == (NOT_FOUND, 0)


@pytest.mark.parametrize(("opened", "continued"), [(13, 12), (12, 13), (18, 7), (7, 18)])
def test_30_names_and_ids_do_not_mix_and_a_wrong_epoch_outweighs_that(
    target: Target, opened: int, continued: int
) -> None:
    reader = target.reader()
    session, _ = reader.open_session(filled(target).at(0), version=opened)
    wrong = reader.fetch(session=(session, 99), version=continued)
    assert wrong.status == (WRONG_EPOCH, 0)
    mixed = reader.fetch(session=(session, 1), version=continued)
    assert (mixed.status, mixed.parts) == ((TOPIC_ID_ERROR, 0), [])
    assert reader.fetch(session=(session, 1), version=opened).status == (0, session)


def test_30_versions_mix_freely_on_either_side_of_topic_ids(target: Target) -> None:
    for versions in ((7, 11, 12), (13, 15, 18)):
        reader = target.reader()
        session, _ = reader.open_session(filled(target).at(0), version=versions[0])
        for epoch, version in enumerate(versions[1:], start=1):
            answer = reader.fetch(session=(session, epoch), version=version)
            assert (answer.status, answer.sizes) == ((0, session), [118])


def test_33_a_disconnect_while_parked_leaves_the_epoch_consumed(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 1))
    reader.ask(session=(session, 1), wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    reader.close()
    another = target.reader()
    assert another.fetch(session=(session, 1)).status == (WRONG_EPOCH, 0)
    assert another.fetch(session=(session, 2)).status == (0, session)


def test_33_a_later_epoch_makes_the_parked_one_fail(target: Target) -> None:
    topic = target.topic(2)
    reader, another = target.reader(), target.reader()
    session, _ = reader.open_session(topic.at(0), topic.at(1))
    reader.ask(session=(session, 1), wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    assert another.fetch(session=(session, 2)).status == (0, session)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert (answer.status, answer.parts) == ((WRONG_EPOCH, session), [])
    assert another.fetch(session=(session, 3)).sizes == [118]


def test_33_a_session_closed_meanwhile_still_answers_the_parked_fetch(target: Target) -> None:
    topic = target.topic()
    reader, another = target.reader(), target.reader()
    session, _ = reader.open_session(topic.at(0))
    reader.ask(session=(session, 1), wait=LONG_MS, min_bytes=1)
    target.parked(reader)
    assert another.fetch(session=(session, -1)).status == (0, 0)
    target.produce(topic, 0, 50)
    answer = reader.answer()
    assert (answer.status, answer.sizes) == ((0, session), [118])
    assert reader.fetch(session=(session, 2)).status == (NOT_FOUND, 0)


def test_34_a_session_of_nothing_is_real_until_it_stays_empty(target: Target) -> None:
    reader = target.reader()
    session, full = reader.open_session()
    assert full.parts == []
    closing = reader.fetch(session=(session, 1))
    assert (closing.status, closing.parts) == ((0, 0), [])
    assert reader.fetch(session=(session, 2)).status == (NOT_FOUND, 0)


def test_35_a_session_of_nothing_grows(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session()
    grown = reader.fetch(topic.at(0), session=(session, 1))
    assert (grown.status, grown.places) == ((0, session), [(topic.name, 0)])
    assert reader.fetch(session=(session, 2)).sizes == [118]


@pytest.mark.parametrize("version", [12, 18])
def test_36_forgetting_everything_closes_the_session(target: Target, version: int) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), topic.at(1), version=version)
    gone = [(topic, 0), (topic, 1)]
    answer = reader.fetch(session=(session, 1), forget=gone, version=version)
    assert (answer.status, answer.parts) == ((0, 0), [])
    assert reader.fetch(session=(session, 2), version=version).status == (NOT_FOUND, 0)


def test_37_a_request_may_remove_one_partition_and_add_another(target: Target) -> None:
    foo, bar = target.topic(2), target.topic()
    reader = target.reader()
    session, full = reader.open_session(foo.at(0), foo.at(1))
    assert full.places == [(foo.name, 0), (foo.name, 1)]
    changed = reader.fetch(bar.at(0), session=(session, 1), forget=[(foo, 0)])
    assert (changed.status, changed.places) == ((0, session), [(bar.name, 0)])
    for topic, index in ((foo, 0), (bar, 0), (foo, 1)):
        target.produce(topic, index, 50)
    assert reader.fetch(session=(session, 2)).places == [(foo.name, 1), (bar.name, 0)]


def test_38_what_a_request_adds_and_forgets_is_not_in_the_session(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 1))
    both = reader.fetch(topic.at(1), session=(session, 1), forget=[(topic, 1)])
    assert (both.status, both.parts) == ((0, session), [])
    assert reader.fetch(session=(session, 2)).parts == []


def test_39_forgetting_what_is_not_there_is_no_error(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0))
    absent = [(topic, 1), (topic, 77), (Topic("nowhere"), 0)]
    answer = reader.fetch(session=(session, 1), forget=absent)
    assert (answer.status, answer.indexes) == ((0, session), [0])


def test_40_new_values_stay_for_requests_that_name_nothing(target: Target) -> None:
    topic = target.topic(1, (50, 50, 50))
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0))
    steps: list[tuple[list[int], list[int]]] = []
    for part in (
        topic.at(0, 1),
        topic.at(0, 0, 150),
        topic.at(0, 0, current_leader_epoch=9),
        topic.at(0, 10, last_fetched_epoch=0),
        topic.at(0, 2),
    ):
        epoch = 2 * len(steps) + 1
        told = reader.fetch(part, session=(session, epoch))
        repeated = reader.fetch(session=(session, epoch + 1))
        assert (told.errors, told.sizes) == (repeated.errors, repeated.sizes)
        steps.append((told.errors, told.sizes))
    assert steps == [([0], [236]), ([0], [150]), ([75], [0]), ([0], [0]), ([0], [118])]


def test_42_session_ids_are_positive_and_differ(target: Target) -> None:
    reader = target.reader()
    ids = set()
    for _ in range(64):
        session, _ = reader.open_session()
        ids.add(session)
    assert len(ids) == 64
    for session in ids:
        assert reader.fetch(session=(session, -1)).status == (0, 0)


def test_43_before_v7_every_answer_is_whole(target: Target) -> None:
    topic = filled(target)
    reader = target.reader()
    for version in (4, 5, 6):
        for _ in range(2):
            answer = reader.fetch(topic.at(0, 1), topic.at(1), version=version)
            assert (answer.indexes, answer.sizes) == ([0, 1], [0, 118])


def test_45_unknown_ids_come_last_and_every_time(target: Target) -> None:
    topic = target.topic(1, (50,))
    unknown = Topic("unknown", UNKNOWN_ID)
    reader = target.reader()
    session, full = reader.open_session(unknown.at(0), topic.at(0, 1), version=13)
    assert full.places == [(topic.name, 0), ("unknown", 0)]
    assert full.errors == [0, 100]
    for epoch in (1, 2):
        answer = reader.fetch(session=(session, epoch), version=13)
        assert (answer.places, answer.errors) == ([("unknown", 0)], [100])


def test_45_an_id_once_resolved_stays_resolved(target: Target) -> None:
    topic = target.topic(1, (50,))
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0), version=13)
    target.delete(topic)
    # Unknown by its name, not by its id; without the session the id is unknown.
    assert reader.fetch(session=(session, 1), version=13).errors == [3]
    assert reader.fetch(topic.at(0), version=13).errors == [100]
    again = target.topic(1, (50,), name=topic.name)
    assert again.id != topic.id
    assert reader.fetch(session=(session, 2), version=13).errors == [103]
    replaced = reader.fetch(again.at(0), session=(session, 3), forget=[(topic, 0)], version=13)
    assert (replaced.errors, replaced.sizes) == ([0], [118])


def test_46_unknown_ids_are_forgotten_by_id(target: Target) -> None:
    topic = filled(target)
    unknown = Topic("unknown", UNKNOWN_ID)
    reader = target.reader()
    session, _ = reader.open_session(unknown.at(0), unknown.at(1), topic.at(0, 1), version=13)
    left = reader.fetch(session=(session, 1), forget=[(unknown, 0)], version=13)
    assert left.places == [("unknown", 1)]
    none = reader.fetch(session=(session, 2), forget=[(unknown, 1)], version=13)
    assert (none.status, none.parts) == ((0, session), [])


def test_47_an_unknown_name_is_told_until_the_topic_is_there(target: Target) -> None:
    known, missing = filled(target), Topic(target.new_name())
    reader = target.reader()
    session, full = reader.open_session(missing.at(0), known.at(0, 1))
    assert (full.places, full.errors) == ([(known.name, 0), (missing.name, 0)], [0, 3])
    assert reader.fetch(session=(session, 1)).errors == [3]
    target.topic(name=missing.name)
    there = reader.fetch(session=(session, 2)).only
    assert (there.error, there.high_watermark, there.size) == (0, 0, 0)
    assert reader.fetch(session=(session, 3)).parts == []


def test_48_a_topic_made_again_with_less_in_it_is_out_of_range(target: Target) -> None:
    topic = target.topic(1, (50, 50, 50))
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 2))
    target.delete(topic)
    assert reader.fetch(session=(session, 1)).errors == [3]
    target.topic(1, (50,), name=topic.name)
    for epoch in (2, 3):
        got = reader.fetch(session=(session, epoch)).only
        assert (got.error, got.positions) == (1, (-1, -1, -1))
    valid = reader.fetch(topic.at(0, 0), session=(session, 4)).only
    assert (valid.error, valid.size) == (0, 118)


@pytest.mark.parametrize("session_id", [2**31 - 1, -(2**31)])
def test_50_ids_that_no_shard_owns(target: Target, session_id: int) -> None:
    """Apache Kafka looks for a shard that is not there and fails; to us such ids are unknown."""
    answer = target.reader().fetch(session=(session_id, 1))
    assert answer.status == ((-1, session_id) if target.is_kafka else (NOT_FOUND, 0))
    assert answer.parts == []
