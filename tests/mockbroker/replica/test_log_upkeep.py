"""The duties of a node's logs, on virtual time and through a client's requests."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from mockbroker.journal.ring import LARGE_BYTES
from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from mockbroker_protocol.records.batch import build_batch, iterate_records
from mockbroker_protocol.records.record_codec import Record
from tests.mockbroker.replica.watcher import Watcher
from tests.support.cluster_core import ClusterCore
from tests.support.core import EPOCH_MS, Core

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.log_upkeep import LogUpkeep

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class World:
    """A core with one topic of small segments: two batches of one record each."""

    def __init__(self, broker: dict[str, str] | None = None, **configs: str) -> None:
        self.core = Core(config=broker)
        self.client = self.core.client()
        settings = [
            CreatableTopicConfig(key.replace("_", "."), value)
            for key, value in {"internal_segment_bytes": "160", **configs}.items()
        ]
        request = CreateTopicsRequest([CreatableTopic("t", 1, 1, [], settings)])
        created = self.client.call(request, 7, CreateTopicsResponse)
        assert not created.topics[0].error_code, created

    def put(self, key: str = "k", value: str = "v", producer: int = -1, sequence: int = -1) -> None:
        now = EPOCH_MS + int(self.core.now_ms)
        batch = build_batch(
            [Record(0, now, key.encode(), value.encode())],
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=sequence,
        )
        data = ProduceRequestTopic("t", partition_data=[ProduceRequestPartition(0, batch)])
        answer = self.client.call(ProduceRequest(None, 1, 1000, [data]), 9, ProduceResponse)
        assert not answer.responses[0].partition_responses[0].error_code, answer

    def alter(self, name: str, value: str) -> None:
        config = IncrementalAlterableConfig(name, 0, value)
        resource = IncrementalAlterConfigsResource(2, "t", [config])
        answer = self.client.call(
            IncrementalAlterConfigsRequest([resource]), 1, IncrementalAlterConfigsResponse
        )
        assert not answer.responses[0].error_code, answer

    @property
    def log(self) -> UnifiedLog:
        partition = self.core.broker.services.replicas.partition("t", 0)
        assert partition is not None
        return partition.open_log()

    @property
    def upkeep(self) -> LogUpkeep:
        return self.core.broker.services.replicas.upkeep

    def start(self) -> int:
        return self.log.log_start_offset

    def values(self) -> list[str]:
        return [
            bytes(record.value or b"").decode()
            for header, batch in self.log.iterate_batches(0)
            for record in iterate_records(batch, 0, header)
        ]


def test_a_quiet_node_has_no_timer() -> None:
    world = World()
    assert world.core.broker.next_deadline() is None
    assert (world.upkeep.rounds, world.upkeep.looks) == (0, 0)


def test_old_segments_go_in_the_round_after_they_are_due() -> None:
    world = World(retention_ms=str(HOUR))
    world.put()
    world.core.advance(HOUR)
    world.put()
    assert world.start() == 0
    world.core.advance(4 * MINUTE)
    assert world.start() == 0  # the first round is after 30 s, then there is one every 5 minutes
    world.core.advance(MINUTE)
    assert world.start() == 0  # one segment: its newest record counts
    world.core.advance(HOUR)
    assert world.start() == 2


def test_what_a_wall_clock_that_goes_forward_makes_old_goes_in_the_next_round() -> None:
    world = World(retention_ms=str(HOUR))
    world.put()
    world.core.advance(20 * MINUTE)
    world.core.cluster.move_wall(2 * HOUR)
    assert world.start() == 0
    world.core.advance(5 * MINUTE)
    assert world.start() == 1


def test_a_log_start_that_moved_is_told() -> None:
    world = World(retention_ms=str(HOUR))
    world.put()
    world.core.advance(HOUR)
    world.put()
    partition = world.core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    watcher = Watcher()
    partition.watch(watcher)
    world.core.advance(HOUR + 5 * MINUTE)
    assert (world.start(), watcher.marks) == (2, 1)


def test_rounds_without_anything_due_are_not_run() -> None:
    world = World()
    world.put()
    world.core.advance(MINUTE)
    rounds, looks = world.upkeep.rounds, world.upkeep.looks
    assert rounds <= 3
    world.core.advance(6 * DAY)
    assert (world.upkeep.rounds, world.upkeep.looks) == (rounds, looks)
    world.core.advance(2 * DAY)
    assert world.start() == 1
    assert world.core.broker.next_deadline() is None


def test_what_a_segment_takes_in_is_no_reason_to_look_at_its_log_again() -> None:
    world = World()
    world.put()
    world.core.advance(MINUTE)
    rounds, looks = world.upkeep.rounds, world.upkeep.looks
    world.put()
    assert not world.log.wants_upkeep
    world.core.advance(DAY)
    assert (world.upkeep.rounds, world.upkeep.looks) == (rounds, looks)
    world.put()  # begins a segment
    world.core.advance(5 * MINUTE)
    assert (world.upkeep.rounds, world.upkeep.looks) == (rounds + 1, looks + 1)


def test_one_timer_serves_all_partitions() -> None:
    core = Core(topics={"many": 50})
    replicas = core.broker.services.replicas
    for partition in replicas.partitions_of("many"):
        replicas.upkeep.look_at(partition, partition.open_log())
    assert len(core.broker.services.timer) == 1


def test_the_limit_of_bytes_is_looked_at_in_each_round() -> None:
    world = World(retention_bytes="200")
    for _ in range(6):
        world.put()
    world.core.advance(MINUTE)
    assert world.start() == 2
    for _ in range(4):
        world.put()
    world.core.advance(5 * MINUTE)
    assert world.start() == 6


def test_a_changed_retention_counts_in_the_next_round() -> None:
    world = World()
    world.put()
    world.core.advance(HOUR)
    world.alter("retention.ms", "1000")
    world.core.advance(5 * MINUTE)
    assert world.start() == 1


def test_the_check_interval_is_the_brokers() -> None:
    world = World({"log.retention.check.interval.ms": "100"}, retention_ms="50")
    world.put()
    world.core.advance(30 * SECOND + 1)  # log.initial.task.delay.ms
    assert world.start() == 1
    world.put()
    world.core.advance(200)
    assert world.start() == 2


def test_compaction_runs_in_the_cleaners_next_round() -> None:
    world = World(cleanup_policy="compact")
    for value in "abcde":
        world.put(value=value)
    world.core.advance(14 * SECOND)
    assert world.values() == list("abcde")
    world.core.advance(SECOND)
    assert world.values() == ["d", "e"]  # e is in the active segment
    assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 5)


def test_no_cleaning_when_it_is_switched_off() -> None:
    world = World({"log.cleaner.enable": "false"}, cleanup_policy="compact")
    for value in "abcde":
        world.put(value=value)
    world.core.advance(HOUR)
    assert world.values() == list("abcde")


def test_compact_and_delete_does_both() -> None:
    world = World(cleanup_policy="compact,delete", retention_ms=str(HOUR))
    for value in "abcde":
        world.put(value=value)
    world.core.advance(MINUTE)
    assert world.values() == ["d", "e"]
    world.core.advance(HOUR)
    assert world.values() == []
    assert world.start() == 5


def test_the_minimum_lag_is_waited_for_without_polling() -> None:
    world = World(cleanup_policy="compact", min_compaction_lag_ms=str(HOUR))
    for value in "abcde":
        world.put(value=value)
    world.core.advance(MINUTE)
    rounds = world.upkeep.rounds
    world.core.advance(58 * MINUTE)
    assert world.upkeep.rounds == rounds
    assert world.values() == list("abcde")
    world.core.advance(2 * MINUTE)
    assert world.values() == ["d", "e"]


def test_a_silent_producer_is_forgotten() -> None:
    world = World()
    world.put(producer=9, sequence=0)
    world.core.advance(HOUR)
    world.put(producer=10, sequence=0)
    world.core.advance(23 * HOUR + 11 * MINUTE)
    producers = world.log.producers
    assert producers is not None
    assert list(producers.producers) == [10]
    world.core.advance(HOUR)
    assert world.log.producers is None
    world.put(producer=9, sequence=5)  # nobody knows it, so any sequence will do
    assert world.log.producers is not None


def test_a_producer_whose_transaction_was_open_in_a_round_is_forgotten_later() -> None:
    """A round in which nobody may go says all the same when to look again."""
    expiry = {
        "producer.id.expiration.ms": "9000",
        "producer.id.expiration.check.interval.ms": "500",
    }
    world = World(expiry)
    partition = world.core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    batch = build_batch(
        [Record(0, EPOCH_MS, b"k", b"v")],
        producer_id=9,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    world.core.act(lambda: partition.append_batch(batch, AppendOrigin.CLIENT))
    world.core.advance(20 * SECOND)
    assert world.log.producers is not None
    world.core.act(lambda: partition.append_end_of_transaction(9, 0, 0, commit=True))
    world.core.advance(8 * SECOND)
    assert world.log.producers is not None
    world.core.advance(2 * SECOND)
    assert world.log.producers is None


def test_a_deleted_topic_is_on_no_list() -> None:
    world = World(retention_ms=str(HOUR))
    world.put()
    request = DeleteTopicsRequest([DeleteTopicState("t")], [], 1000)
    world.client.call(request, 6, DeleteTopicsResponse)
    looks = world.upkeep.looks
    world.core.advance(3 * HOUR)
    assert world.upkeep.looks == looks
    assert world.core.broker.next_deadline() is None


WAYS: dict[str, dict[str, str]] = {
    "records": {},
    "topic": {},
    "time": {"retention_ms": str(MINUTE)},
    "size": {"retention_bytes": "0"},
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_deleted_is_given_back(way: str) -> None:
    """Of 5 MB no more is held than the journal's last 2 MiB, as Python counts bytes."""
    world = World(None, internal_segment_bytes="500000", **WAYS[way])
    told: list[int] = []
    world.core.broker.services.replicas.gave_back = told.append
    world.put()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(12):
            world.put(value="x" * 400_000)
        assert tracemalloc.get_traced_memory()[0] - before > 4_800_000
        if way == "records":
            partition = DeleteRecordsPartition(0, -1)
            delete = DeleteRecordsRequest([DeleteRecordsTopic("t", [partition])], 1000)
            world.client.call(delete, 2, DeleteRecordsResponse)
        elif way == "topic":
            gone = DeleteTopicsRequest([DeleteTopicState("t")], [], 1000)
            world.client.call(gone, 6, DeleteTopicsResponse)
        else:
            world.core.advance(10 * MINUTE)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held < LARGE_BYTES + 600_000  # with what is imported for it
    assert 4_800_000 < sum(told) < 4_900_000


def test_a_follower_cleans_up_what_it_fetched() -> None:
    """Each replica compacts its own log and forgets its own silent producers."""
    expiry = {
        "producer.id.expiration.ms": "9000",
        "producer.id.expiration.check.interval.ms": "500",
    }
    core = ClusterCore(config={"log.cleaner.backoff.ms": "1000", **expiry})
    configs = (("cleanup.policy", "compact"), ("internal.segment.bytes", "160"))
    core.cluster.controller.create_topics([NewTopic("t", 1, 3, configs=configs)])
    core.deliver()
    client = core.client(node=core.state("t").leader)
    for sequence in range(8):
        record = Record(0, EPOCH_MS + int(core.now_ms), b"k", b"%d" % sequence)
        batch = build_batch([record], producer_id=7, producer_epoch=0, base_sequence=sequence)
        data = ProduceRequestTopic("t", partition_data=[ProduceRequestPartition(0, batch)])
        client.send(ProduceRequest(None, -1, 1000, [data]), 9)
        core.advance(600)
        assert not client.receive(ProduceResponse).responses[0].partition_responses[0].error_code
    core.advance(2 * SECOND)
    kept = {node: core.values(node, "t") for node in (1, 2, 3)}
    assert kept == dict.fromkeys((1, 2, 3), kept[1])
    assert len(kept[1]) < 8
    core.advance(10 * SECOND)
    assert [core.partition(node, "t").open_log().producers for node in (1, 2, 3)] == [None] * 3
