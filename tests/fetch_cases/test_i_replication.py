"""Part I of the cases on an ordinary partition; 54 and 55 of B, 119 of G.

Broker 1 leads and answers, broker 2 follows by hand; both are in sync. What a follower
asks for tells what it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.fetch_cases.replica_target import FOLLOWER, LEADER
from tests.fetch_cases.target import batch

if TYPE_CHECKING:
    from tests.fetch_cases.asking import Topic
    from tests.fetch_cases.replica_target import Follower, ReplicaTarget
    from tests.fetch_cases.target import Target
    from tests.support.blocking import BlockingConnection

LONG_MS = 8_000
SOON_MS = LONG_MS / 2
COMMITTED = 1
P = 4201
MARKER_BYTES = 78


def high_watermark(replicas: ReplicaTarget, topic: Topic) -> int:
    """As a consumer is told it."""
    return replicas.reader().fetch(topic.at(0)).only.high_watermark


def test_139_the_high_watermark_rises_after_the_answer_that_raised_it(
    replicas: ReplicaTarget,
) -> None:
    topic = replicas.topic(1, (50, 50))
    follower = replicas.follower()
    told = [follower.fetch(topic.at(0, offset)).only for offset in (0, 2, 2)]
    assert [(got.size, got.high_watermark) for got in told] == [(236, 0), (0, 0), (0, 2)]


def test_139_consumers_read_what_is_replicated(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50, 50))
    reader, follower = replicas.reader(), replicas.follower()
    for offset, size in ((0, 0), (1, 118), (2, 236)):
        follower.fetch(topic.at(0, offset))
        got = reader.fetch(topic.at(0)).only
        assert (got.size, got.positions) == (size, (offset, offset, 0))
    # A follower that has lost something takes nothing back.
    follower.fetch(topic.at(0, 0))
    assert high_watermark(replicas, topic) == 2


@pytest.mark.parametrize("version", [12, 17])
def test_141_a_parked_follower_sleeps_through_the_rise_that_it_caused(
    replicas: ReplicaTarget, version: int
) -> None:
    topic = replicas.topic(1, (50, 50))
    answer = replicas.follower().fetch(topic.at(0, 2), version=version, wait=300, min_bytes=1)
    assert (answer.only.size, answer.only.high_watermark) == (0, 2)
    assert 299 <= answer.elapsed_ms < LONG_MS


def test_141_an_append_releases_a_parked_follower(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50, 50))
    follower = replicas.follower()
    follower.ask(topic.at(0, 2), wait=LONG_MS, min_bytes=1)
    replicas.parked(follower)
    replicas.produce(topic, 0, 50)
    answer = follower.answer()
    assert (answer.only.size, answer.only.high_watermark) == (118, 2)
    assert answer.elapsed_ms < SOON_MS


def test_141_the_rise_releases_a_consumer(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50, 50))
    reader = replicas.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=1)
    replicas.parked(reader)
    replicas.follower().fetch(topic.at(0, 2))
    answer = reader.answer()
    assert (answer.only.size, answer.only.high_watermark) == (236, 2)
    assert answer.elapsed_ms < SOON_MS


def test_143_a_follower_of_an_older_broker_epoch_is_refused(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50, 50))
    follower = replicas.follower()
    epoch = replicas.follower_epoch
    stale = follower.fetch(topic.at(0, 2), replica_epoch=epoch - 1, wait=LONG_MS, min_bytes=1)
    assert (stale.only.error, stale.only.size) == (6, 0)
    assert stale.elapsed_ms < SOON_MS
    # It was not taken for a sign that broker 2 has them.
    assert high_watermark(replicas, topic) == 0


@pytest.mark.parametrize("ahead", [None, 0, 1])
def test_143_without_an_epoch_or_with_a_newer_one_it_is_served(
    replicas: ReplicaTarget, ahead: int | None
) -> None:
    topic = replicas.topic(1, (50, 50))
    epoch = -1 if ahead is None else replicas.follower_epoch + ahead
    got = replicas.follower().fetch(topic.at(0, 2), replica_epoch=epoch).only
    assert got.error == 0
    assert high_watermark(replicas, topic) == 2


def test_145_a_diverging_follower_is_not_taken_to_have_what_it_asks_beyond(
    replicas: ReplicaTarget,
) -> None:
    topic = replicas.topic(1, (50, 50))
    epoch = replicas.next_epoch(topic)
    replicas.produce(topic, 0, 50, 50)
    follower = replicas.follower()
    beyond = topic.at(0, 4, current_leader_epoch=epoch, last_fetched_epoch=0)
    got = follower.fetch(beyond, wait=LONG_MS, min_bytes=1).only
    assert follower.elapsed_ms < SOON_MS
    assert got.data.diverging_epoch is not None
    assert (got.data.diverging_epoch.epoch, got.data.diverging_epoch.end_offset) == (0, 2)
    assert (got.error, got.size) == (0, 0)
    assert high_watermark(replicas, topic) == 0
    agreeing = topic.at(0, 4, current_leader_epoch=epoch, last_fetched_epoch=epoch)
    assert follower.fetch(agreeing).only.data.diverging_epoch is None
    assert high_watermark(replicas, topic) == 4


def produce_to_all(connection: BlockingConnection, topic: Topic, timeout_ms: int) -> None:
    """Send a batch with acks=all."""
    data = ProduceRequestTopic(topic.name, partition_data=[ProduceRequestPartition(0, batch())])
    connection.send(ProduceRequest(None, -1, timeout_ms, [data]), 9)


def produced(connection: BlockingConnection) -> tuple[int, int]:
    """Error and base offset of the batch."""
    (answer,) = connection.receive(ProduceResponse).responses[0].partition_responses
    return answer.error_code, answer.base_offset


def test_146_acks_of_all_wait_until_the_follower_asks_for_more(replicas: ReplicaTarget) -> None:
    topic = replicas.topic()
    producer, follower = replicas.reader(), replicas.follower()
    produce_to_all(producer, topic, 2 * LONG_MS)
    replicas.parked(producer)
    replicas.until(lambda: follower.fetch(topic.at(0)).only.size == 118)
    replicas.parked(producer)
    follower.fetch(topic.at(0, 1))
    assert produced(producer) == (0, 0)
    assert producer.elapsed_ms < LONG_MS


def test_146_without_it_the_time_is_over_and_the_record_stays(replicas: ReplicaTarget) -> None:
    topic = replicas.topic()
    producer = replicas.reader()
    produce_to_all(producer, topic, 300)
    error, _ = produced(producer)
    assert error == 7
    assert 299 <= producer.elapsed_ms < LONG_MS
    assert replicas.follower().fetch(topic.at(0)).only.size == 118


def test_147_too_few_in_sync_refuse_acks_of_all_and_hold_the_high_watermark(
    lonely: ReplicaTarget,
) -> None:
    topic = lonely.topic(1, (50,), min_insync_replicas="2")
    lonely.follower().fetch(topic.at(0, 1))
    assert high_watermark(lonely, topic) == 1
    lonely.lose_follower(topic)
    assert lonely.state(topic).isr_nodes == [LEADER]
    producer = lonely.reader()
    produce_to_all(producer, topic, LONG_MS)
    assert produced(producer)[0] == 19
    assert producer.elapsed_ms < SOON_MS
    assert lonely.produce(topic, 0, 50) == 1
    assert high_watermark(lonely, topic) == 1
    # Back in the in-sync set, it counts again.
    lonely.find_follower()
    epoch = lonely.state(topic).leader_epoch
    follower = lonely.follower()
    part = topic.at(0, 2, current_leader_epoch=epoch)
    lonely.until(lambda: follower.fetch(part).only.high_watermark == 2)
    lonely.until(lambda: sorted(lonely.state(topic).isr_nodes) == [LEADER, FOLLOWER])


def test_147_those_who_wait_hear_that_their_batch_is_with_too_few(lonely: ReplicaTarget) -> None:
    topic = lonely.topic(min_insync_replicas="2")
    producer = lonely.reader()
    produce_to_all(producer, topic, 1_000)
    lonely.parked(producer)
    lonely.lose_follower(topic)
    # The high watermark stands still below the minimum, so only the time-out ends it.
    assert produced(producer)[0] == 7


def test_54_a_high_watermark_that_rose_is_told_without_records(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50, 50))
    reader, follower = replicas.reader(), replicas.follower()
    follower.fetch(topic.at(0, 1))
    session, full = reader.open_session(topic.at(0, 2))
    assert full.only.high_watermark == 1
    assert reader.fetch(session=(session, 1)).parts == []
    follower.fetch(topic.at(0, 2))
    risen = reader.fetch(session=(session, 2)).only
    assert (risen.error, risen.high_watermark, risen.size) == (0, 2, 0)
    assert reader.fetch(session=(session, 3)).parts == []


def test_54_a_high_watermark_that_fell_is_told_too(target: Target) -> None:
    """A topic made again by its name has another one."""
    topic = target.topic(1, (50, 50))
    reader = target.reader()
    session, full = reader.open_session(topic.at(0, 2))
    assert (full.only.high_watermark, full.only.size) == (2, 0)
    target.delete(topic)
    target.topic(name=topic.name)
    fallen = reader.fetch(topic.at(0, 0), session=(session, 1)).only
    assert (fallen.error, fallen.high_watermark, fallen.size) == (0, 0, 0)
    assert reader.fetch(session=(session, 2)).parts == []


def test_55_a_last_stable_offset_alone_is_not_told(target: Target) -> None:
    """A topic made again has another one, and the same high watermark and log start."""
    topic = target.topic(1, (50, 50))
    reader = target.reader()
    session, full = reader.open_session(topic.at(0, 2))
    assert full.only.positions == (2, 2, 0)
    target.delete(topic)
    again = target.topic(1, (50,), name=topic.name)
    target.open_transaction(again, 0, P)
    assert reader.fetch(session=(session, 1)).parts == []
    assert target.reader().fetch(again.at(0, 2)).only.positions == (2, 1, 0)


def end_transaction(connection: BlockingConnection, topic: Topic) -> None:
    """Send the marker of a commit, which is answered once it is replicated."""
    marker = WritableTxnMarker(P, 0, True, [WritableTxnMarkerTopic(topic.name, [0])])
    connection.send(WriteTxnMarkersRequest([marker]), 1)


def with_marker(follower: Follower, topic: Topic, offset: int) -> None:
    """Fetch as the follower from where the marker comes to be, until it is there."""
    answer = follower.fetch(topic.at(0, offset), wait=LONG_MS, min_bytes=1)
    assert answer.only.size == MARKER_BYTES


def test_119_a_commit_counts_once_its_marker_is_replicated(replicas: ReplicaTarget) -> None:
    topic = replicas.topic()
    replicas.open_transaction(topic, 0, P)
    follower, reader, coordinator = replicas.follower(), replicas.reader(), replicas.reader()
    follower.fetch(topic.at(0, 1))
    end_transaction(coordinator, topic)
    with_marker(follower, topic, 1)
    for isolation, size in ((0, 118), (COMMITTED, 0)):
        got = reader.fetch(topic.at(0), isolation=isolation).only
        assert (got.size, got.positions) == (size, (1, 0, 0))
    reader.ask(topic.at(0), isolation=COMMITTED, wait=LONG_MS, min_bytes=1)
    replicas.parked(reader)
    follower.fetch(topic.at(0, 2))
    answer = reader.answer()
    assert (answer.only.size, answer.only.positions) == (118 + MARKER_BYTES, (2, 2, 0))
    assert answer.elapsed_ms < SOON_MS
    response = coordinator.receive(WriteTxnMarkersResponse)
    assert response.markers[0].topics[0].partitions[0].error_code == 0
