"""TxnOffsetCommit over the wire: verified or added, pending, then there or gone."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.support.core import Core
from tests.support.transactions import GROUP, Transactional, committed_offset


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 2})


def begin(core: Core, *, v1: bool = False) -> Transactional:
    producer = Transactional.begin(core, v1=v1)
    producer.find("g", GROUP)
    return producer


def asked(
    producer: Transactional, topics: list[TxnOffsetCommitRequestTopic], group_id: str = "g"
) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest(
        producer.transactional_id, group_id, producer.producer_id, producer.epoch, topics=topics
    )


@pytest.mark.parametrize("v1", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_an_offset_is_pending_until_the_marker(core: Core, commit: bool, v1: bool) -> None:
    producer = begin(core, v1=v1)
    if v1:
        assert producer.add_offsets("g") == 0
    assert producer.commit_offset("g", "t", 0, 5) == 0
    assert committed_offset(core, "g", "t") == (88, -1)
    assert committed_offset(core, "g", "t", stable=False) == (0, -1)
    assert committed_offset(core, "g", "t", 1) == (0, -1)
    producer.finish(commit=commit)
    assert producer.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert committed_offset(core, "g", "t") == (0, 5 if commit else -1)


@pytest.mark.parametrize(
    ("version", "error"), [(0, 48), (1, 48), (2, 48), (3, 48), (4, 120), (5, 0)]
)
def test_before_version_5_the_group_must_have_been_added(
    core: Core, version: int, error: int
) -> None:
    producer = begin(core)
    assert producer.commit_offset("g", "t", 0, 5, version=version) == error
    assert producer.state == ("Empty" if error else "Ongoing")
    if error:
        assert producer.add_offsets("g") == 0
        assert producer.commit_offset("g", "t", 0, 5, version=version) == 0


@pytest.mark.parametrize("version", [3, 5])
def test_stale_epochs_and_other_ids(core: Core, version: int) -> None:
    producer = begin(core)
    producer.epoch = 9
    assert producer.commit_offset("g", "t", 0, 5, version=version) == 47
    producer.transactional_id = "nope"
    assert producer.commit_offset("g", "t", 0, 5, version=version) == 49
    assert producer.commit_offset("", "t", 0, 5, version=version) == 24


def test_partitions_that_do_not_exist_reach_nobody(core: Core) -> None:
    producer = begin(core)
    assert producer.commit_offset("g", "t", 9, 5) == 3
    assert producer.commit_offset("g", "nope", 0, 5) == 3
    assert producer.state == "Empty"
    partitions = [TxnOffsetCommitRequestPartition(index, 5) for index in (9, 0)]
    topics = [TxnOffsetCommitRequestTopic("t", bytes(16), partitions)]
    answer = producer.client.call(asked(producer, topics), 5, TxnOffsetCommitResponse)
    (topic,) = answer.topics
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [(9, 3), (0, 0)]


def test_from_version_6_on_topics_have_ids(core: Core) -> None:
    producer = begin(core)
    topic_id = core.cluster.metadata.topics["t"].id
    topics = [
        TxnOffsetCommitRequestTopic("", one, [TxnOffsetCommitRequestPartition(0, 5)])
        for one in (b"?" * 16, topic_id)
    ]
    answer = producer.client.call(asked(producer, topics), 6, TxnOffsetCommitResponse)
    assert [(one.topic_id, one.partitions[0].error_code) for one in answer.topics] == [
        (b"?" * 16, 100),
        (topic_id, 0),
    ]
    producer.finish(commit=True)
    assert committed_offset(core, "g", "t") == (0, 5)


def test_nobody_coordinates_before_the_topics_are_there(core: Core) -> None:
    producer = Transactional(core)
    producer.producer_id, producer.epoch = 7, 0
    assert producer.commit_offset("g", "t", 0, 5) == 16
    producer.find("g", GROUP)
    assert producer.commit_offset("g", "t", 0, 5) == 16


def test_metadata_that_is_too_long(core: Core) -> None:
    producer = begin(core)
    partitions = [
        TxnOffsetCommitRequestPartition(0, 5, -1, "x" * 4097),
        TxnOffsetCommitRequestPartition(1, 6, -1, None),
    ]
    topics = [TxnOffsetCommitRequestTopic("t", bytes(16), partitions)]
    answer = producer.client.call(asked(producer, topics), 5, TxnOffsetCommitResponse)
    assert [one.error_code for one in answer.topics[0].partitions] == [12, 0]
    producer.finish(commit=True)
    assert committed_offset(core, "g", "t", 0) == (0, -1)
    assert committed_offset(core, "g", "t", 1) == (0, 6)


def test_a_zombies_offsets_never_count(core: Core) -> None:
    zombie = begin(core)
    assert zombie.commit_offset("g", "t", 0, 5) == 0
    successor = Transactional(core)
    assert successor.init().error == 51
    successor.become(successor.init())
    assert zombie.commit_offset("g", "t", 0, 6) == 47
    assert committed_offset(core, "g", "t") == (0, -1)
    assert successor.commit_offset("g", "t", 0, 7) == 0
    successor.finish(commit=True)
    assert committed_offset(core, "g", "t") == (0, 7)


@pytest.mark.parametrize(
    ("member_id", "epoch", "old_error", "error"),
    [("m", 2, 0, 0), ("m", 9, 22, 113), ("m", 1, 22, 113), ("x", 2, 25, 25)],
)
def test_a_stale_epoch_is_an_old_generation_before_version_6(
    core: Core, member_id: str, epoch: int, old_error: int, error: int
) -> None:
    producer = begin(core)
    join = ConsumerGroupHeartbeatRequest(
        "g", "m", 0, rebalance_timeout_ms=5_000, subscribed_topic_names=["t"], topic_partitions=[]
    )
    assert core.client().call(join, 1, ConsumerGroupHeartbeatResponse).member_epoch == 2
    topic_id = core.cluster.metadata.topics["t"].id
    for version in (3, 4, 5, 6):
        partition = TxnOffsetCommitRequestPartition(0, 5, -1, "")
        named = ("t", bytes(16)) if version < 6 else ("", topic_id)
        request = asked(producer, [TxnOffsetCommitRequestTopic(*named, [partition])])
        request.generation_id_or_member_epoch, request.member_id = epoch, member_id
        if version < 5:
            assert producer.add_offsets("g") == 0
        answer = core.client().call(request, version, TxnOffsetCommitResponse)
        [told] = [one.error_code for topic in answer.topics for one in topic.partitions]
        assert told == (error if version >= 6 else old_error)
