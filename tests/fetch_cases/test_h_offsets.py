"""Part H of the cases: offsets, leader epochs, and who may read.

What needs a second leader epoch or another leader is in `test_h_leaders.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.schema import ZERO_UUID
from tests.fetch_cases.asking import Topic

if TYPE_CHECKING:
    from tests.fetch_cases.target import Target

LONG_MS = 8_000
SOON_MS = LONG_MS / 2
LEADER = 1
NOWHERE = (-1, -1, -1)
ODD = Topic("odd", bytes(range(16)))
OTHER = Topic("other", bytes(range(1, 17)))


def three(target: Target) -> Topic:
    """Three batches of 118 bytes."""
    return target.shared("three", lambda target: target.topic(2, (50, 50, 50)))


def test_122_offsets_from_the_start_to_the_end_are_in_range(target: Target) -> None:
    topic = target.topic(1, (50, 50, 50))
    target.delete_records(topic, 0, 2)
    reader = target.reader()
    for version in (4, 12, 18):
        at_end = reader.fetch(topic.at(0, 3), version=version).only
        assert (at_end.error, at_end.high_watermark, at_end.size) == (0, 3, 0)
        for offset in (4, -1, 1, 0):
            got = reader.fetch(topic.at(0, offset), version=version).only
            assert (got.error, got.positions) == (1, NOWHERE)
            assert got.aborted is None


@pytest.mark.parametrize(("epoch", "error"), [(0, 0), (-1, 0), (-5, 0), (1, 75), (99, 75)])
def test_123_the_reader_s_leader_epoch_is_compared(target: Target, epoch: int, error: int) -> None:
    topic = three(target)
    assert target.leader_epoch(topic) == 0
    reader = target.reader()
    for version in (9, 12, 18):
        got = reader.fetch(topic.at(0, 0, current_leader_epoch=epoch), version=version).only
        assert (got.error, got.size) == (error, 0 if error else 354)
        assert got.positions == (NOWHERE if error else (3, 3, 0))
    # Before v9 the request has no such field.
    assert reader.fetch(topic.at(0, 0, current_leader_epoch=epoch), version=8).only.error == 0


def test_124_a_reader_ahead_of_us_is_told_nothing(target: Target) -> None:
    answer = target.reader().fetch(three(target).at(0, 0, current_leader_epoch=9), version=18)
    assert answer.only.error == 75
    assert answer.only.data.current_leader is None
    assert answer.response.node_endpoints == []


def test_127_a_last_fetched_epoch_that_is_unknown_is_out_of_range(target: Target) -> None:
    topic = three(target)
    reader = target.reader()
    known = reader.fetch(topic.at(0, 1, last_fetched_epoch=0)).only
    assert (known.error, known.size) == (0, 236)
    unknown = reader.fetch(topic.at(0, 1, last_fetched_epoch=9)).only
    assert (unknown.error, unknown.positions, unknown.size) == (1, NOWHERE, 0)


def test_127_beyond_the_end_of_its_epoch_a_reader_diverges(target: Target) -> None:
    answer = target.reader().fetch(
        three(target).at(0, 10, last_fetched_epoch=0), wait=LONG_MS, min_bytes=1
    )
    got = answer.only
    diverging = got.data.diverging_epoch
    assert diverging is not None
    assert (diverging.epoch, diverging.end_offset) == (0, 3)
    assert (got.error, got.positions, got.size, got.aborted) == (0, (3, 3, 0), 0, None)
    assert answer.elapsed_ms < SOON_MS


def test_131_the_current_epoch_is_known_to_an_empty_log(target: Target) -> None:
    got = target.reader().fetch(three(target).at(1, 0, last_fetched_epoch=0)).only
    assert (got.error, got.data.diverging_epoch, got.size) == (0, None, 0)


def test_132_epoch_errors_leave_a_session_alone(target: Target) -> None:
    topic = three(target)
    reader = target.reader()
    session, _ = reader.open_session(topic.at(0, 3), topic.at(1))
    wrong = reader.fetch(topic.at(0, 3, current_leader_epoch=4), session=(session, 1))
    assert (wrong.status, wrong.errors) == ((0, session), [75])
    assert reader.fetch(session=(session, 2)).errors == [75]
    right = reader.fetch(topic.at(0, 3, current_leader_epoch=0), session=(session, 3))
    assert (right.status, right.errors) == ((0, session), [0])
    assert reader.fetch(session=(session, 4)).parts == []


def test_135_what_the_metadata_do_not_know_is_told_by_name_or_id(target: Target) -> None:
    topic = three(target)
    reader = target.reader()
    by_name = reader.fetch(
        Topic("nowhere").at(0), Topic("").at(0), topic.at(9), topic.at(-1), topic.at(0)
    )
    assert by_name.errors == [0, 3, 3, 3, 3]
    by_id = reader.fetch(ODD.at(0), topic.at(9), topic.at(-1), topic.at(0), version=13)
    assert by_id.errors == [0, 100, 3, 3]
    for got in (*by_name.parts[1:], *by_id.parts[1:]):
        # Not read at all: the aborted list is empty, not null.
        assert (got.positions, got.aborted, got.size) == (NOWHERE, [], 0)


def test_135_a_consumer_hears_of_unknown_ids_before_other_refusals(target: Target) -> None:
    """KafkaApis splits a consumer's partitions twice: by id, then by what the metadata know."""
    topic = three(target)
    parts = topic.at(9), ODD.at(0), topic.at(8), topic.at(0)
    ordered = [(topic.name, 0), (ODD.name, 0), (topic.name, 9), (topic.name, 8)]
    reader = target.reader()
    assert reader.fetch(*parts, version=13).places == ordered
    session, full = reader.open_session(*parts, version=13)
    assert full.places == ordered
    assert reader.fetch(session=(session, 1), version=13).places == ordered
    grown = reader.fetch(OTHER.at(0), session=(session, 2), version=13)
    assert grown.places == [*ordered[:2], (OTHER.name, 0), *ordered[2:]]


def test_135_a_follower_hears_of_refusals_in_its_own_order(target: Target) -> None:
    topic = three(target)
    parts = topic.at(9), ODD.at(0), topic.at(8), topic.at(0)
    answer = target.reader().fetch(*parts, version=13, replica_id=2)
    assert answer.errors == [6, 3, 100, 3]
    assert answer.indexes == [0, 9, 0, 8]


def test_135_the_zero_id_is_unknown(target: Target) -> None:
    """Apache Kafka stumbles over its missing name when it groups a partition that follows it."""
    zero = Topic("zero", ZERO_UUID)
    for version in (13, 18):
        alone = target.reader().fetch(zero.at(0), version=version)
        assert (alone.error, alone.errors) == (0, [100])
        followed = target.reader().fetch(zero.at(0), zero.at(1), version=version)
        expected = (-1, []) if target.is_kafka else (0, [100, 100])
        assert (followed.error, followed.errors) == expected


@pytest.mark.parametrize("replica_id", [-2, -4, -(2**31)])
def test_137_negative_replica_ids_are_consumers(target: Target, replica_id: int) -> None:
    topic = three(target)
    reader = target.reader()
    for version in (4, 12, 14):
        answer = reader.fetch(topic.at(0, 1), replica_id=replica_id, version=version)
        assert (answer.only.error, answer.only.size) == (0, 236)
    at_end = reader.fetch(topic.at(0, 3), replica_id=replica_id, wait=50, min_bytes=1)
    assert at_end.elapsed_ms >= 49


def test_137_the_future_replica_reads_what_consumers_may_not(target: Target) -> None:
    topic = target.topic(1, (50,))
    target.open_transaction(topic, 0, 4100)
    reader = target.reader()
    committed = reader.fetch(topic.at(0), isolation=1).only
    future = reader.fetch(topic.at(0), isolation=1, replica_id=-3).only
    assert (committed.size, future.size) == (118, 236)


@pytest.mark.parametrize("version", [4, 9, 12, 18])
@pytest.mark.parametrize("replica_id", [2, LEADER])
def test_144_a_follower_that_is_no_replica_is_refused(
    target: Target, version: int, replica_id: int
) -> None:
    """The leader follows itself as little as a stranger does."""
    topic = three(target)
    reader = target.reader()
    answer = reader.fetch(
        topic.at(0), replica_id=replica_id, version=version, wait=LONG_MS, min_bytes=1
    )
    assert (answer.only.error, answer.only.positions) == (6, NOWHERE)
    assert answer.elapsed_ms < SOON_MS
    # The leader is named; how to reach it is for consumers only.
    assert (answer.only.data.current_leader is not None) == (version >= 16)
    assert answer.response.node_endpoints == []
    if version >= 9:
        part = topic.at(0, 0, current_leader_epoch=0)
        known = reader.fetch(part, replica_id=replica_id, version=version)
        assert known.errors == [75]
