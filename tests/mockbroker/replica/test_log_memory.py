"""A limit on what logs hold: the oldest segments go at the append, and promises are kept."""

from __future__ import annotations

import pytest

from mockbroker.journal import MemoryLimitMet
from mockbroker.log.results import AppendOrigin, AppendResult
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.replica.log_memory import GENERATIONS, LogMemory
from mockbroker.replica.manager import ReplicaManager
from mockbroker.replica.partition import Partition
from mockbroker.state.snapshot import restore, take
from mockbroker.state.writing import NewRecord, TopicError, put
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.cluster_core import ClusterCore
from tests.support.core import EPOCH_MS, Core

LIMIT = 16_000
BATCH_BYTES = 1_000


def batch(producer_id: int = -1, sequence: int = 0, size_bytes: int = BATCH_BYTES) -> bytearray:
    def of(value_bytes: int) -> bytes:
        if producer_id < 0:
            return build_batch([Record(0, EPOCH_MS, None, bytes(value_bytes))])
        return build_batch(
            [Record(0, EPOCH_MS, None, bytes(value_bytes))],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=True,
        )

    made = bytearray(of(size_bytes - len(of(size_bytes)) + size_bytes))
    assert len(made) == size_bytes
    return made


class World:
    """One broker with topics, and a limit that sixteen batches reach."""

    def __init__(self, core: Core | None = None, **topics: int) -> None:
        config = {"mockbroker.memory.limit.bytes": str(LIMIT)}
        self.core = core or Core(config=config, topics=topics)

    @property
    def replicas(self) -> ReplicaManager:
        return self.core.cluster.brokers[0].services.replicas

    @property
    def memory(self) -> LogMemory:
        memory = self.replicas.log_memory
        assert memory is not None
        return memory

    def partition(self, topic: str, index: int = 0) -> Partition:
        found = self.replicas.partition(topic, index)
        assert found is not None
        return found

    def append(self, topic: str, index: int = 0, records: bytearray | None = None) -> AppendResult:
        records = batch() if records is None else records
        return self.partition(topic, index).append_batch(records, AppendOrigin.CLIENT)

    def fill(self, topic: str, batches: int, index: int = 0) -> None:
        for _ in range(batches):
            assert self.append(topic, index).error is ErrorCode.NONE

    def range(self, topic: str, index: int = 0) -> tuple[int, int]:
        log = self.partition(topic, index).open_log()
        return log.log_start_offset, log.log_end_offset

    def told(self) -> list[MemoryLimitMet]:
        return [e for e in self.core.cluster.journal.events() if isinstance(e, MemoryLimitMet)]

    def counted(self) -> int:
        """What all logs hold, by looking at each."""
        partitions = self.replicas.all_partitions()
        return sum(0 if p.log is None else p.log.size_bytes for p in partitions)


def create(world: World, topic: NewTopic) -> None:
    (created,) = world.core.cluster.controller.create_topics([topic])
    assert not created.error, created


def test_without_a_limit_nothing_is_counted() -> None:
    assert Core().broker.services.replicas.log_memory is None


def test_the_oldest_go_at_the_append_that_needs_room() -> None:
    world = World(a=1)
    world.fill("a", 16)
    assert (world.range("a"), world.told()) == ((0, 16), [])
    world.fill("a", 1)
    assert world.range("a") == (1, 17)
    assert world.memory.held_bytes == world.counted() == LIMIT
    (told,) = world.told()
    assert (told.event, told.topic, told.partition) == ("deleted", "a", 0)
    assert (told.before, told.after, told.size_bytes) == (0, 1, BATCH_BYTES)


def test_the_oldest_of_all_partitions_go_and_not_those_of_one() -> None:
    world = World(a=1, b=4)
    world.fill("a", 4)
    for _ in range(4):
        for index in range(4):
            world.fill("b", 1, index)
    # A part of the limit is one batch here: what went are the four of `a`, which were the oldest.
    assert world.range("a") == (4, 4)
    assert [world.range("b", index) for index in range(4)] == [(0, 4)] * 4
    world.fill("b", 1)
    assert world.range("b") == (1, 5)


def test_many_small_logs_lose_their_oldest_records_alone() -> None:
    world = World(t=40)
    for _ in range(3):
        for index in range(40):
            assert world.append("t", index, batch(size_bytes=200)).error is ErrorCode.NONE
    # 24,000 bytes were appended. No log has lost its newest records for the others' oldest.
    assert all(world.range("t", index)[0] in (1, 2) for index in range(40))
    assert world.memory.held_bytes <= LIMIT


def test_a_segment_is_not_cut() -> None:
    world = World(t=1)
    part = LIMIT // GENERATIONS
    for _ in range(100):
        assert world.append("t", 0, batch(size_bytes=part // 4)).error is ErrorCode.NONE
    start = world.partition("t").open_log().segments()[0].base_offset
    assert world.range("t")[0] == start > 0
    assert LIMIT - 2 * part < world.memory.held_bytes <= LIMIT


def test_an_open_transaction_is_kept_and_then_the_producer_is_told() -> None:
    world = World(a=1, b=1)
    for sequence in range(8):
        assert not world.append("a", 0, batch(7, sequence)).error
    world.fill("b", 20)
    assert world.range("a") == (0, 8)
    assert world.range("b") == (12, 20)
    for sequence in range(8, 16):
        assert not world.append("a", 0, batch(7, sequence)).error
    for _ in range(2):
        refused = world.append("b")
        assert refused.error is ErrorCode.KAFKA_STORAGE_ERROR
        assert "mockbroker.memory.limit.bytes" in (refused.error_message or "")
    assert world.range("b") == (20, 20)
    assert [event.event for event in world.told()[-2:]] == ["deleted", "full"]
    assert world.memory.refused == 2
    # The marker is stored in any case; then its transaction may go.
    ended = world.partition("a").append_end_of_transaction(7, 0, 0, commit=True)
    assert not ended.error
    world.fill("b", 1)
    assert world.range("a")[0] > 0
    assert not world.memory.is_full


def test_a_producer_is_told_over_the_wire() -> None:
    world = World(t=1)
    data = ProduceRequestTopic(
        "t", partition_data=[ProduceRequestPartition(0, bytes(batch(size_bytes=LIMIT + 1)))]
    )
    client = world.core.client()
    answer = client.call(ProduceRequest(None, 1, 1000, [data]), 9, ProduceResponse)
    told = answer.responses[0].partition_responses[0]
    assert told.error_code == 56
    assert told.error_message
    with pytest.raises(TopicError, match=r"mockbroker\.memory\.limit\.bytes"):
        put(world.core.cluster, "t", [NewRecord(bytes(LIMIT))])


def test_what_is_larger_than_the_limit_drives_nothing_out() -> None:
    world = World(t=1)
    world.fill("t", 3)
    assert world.append("t", 0, batch(size_bytes=LIMIT + 1)).error
    assert world.range("t") == (0, 3)


@pytest.mark.parametrize("name", ["__consumer_offsets", "compacted"])
def test_internal_and_compacted_topics_are_kept(name: str) -> None:
    world = World(t=1)
    policy = NewTopic(name, 1, 1, configs=(("cleanup.policy", "compact"),))
    create(world, policy)
    record = build_batch([Record(0, EPOCH_MS, b"k", bytes(BATCH_BYTES))])
    for _ in range(15):
        kept = world.partition(name).append_batch(bytearray(record), AppendOrigin.COORDINATOR)
        assert not kept.error
    world.append("t", 0, batch(size_bytes=500))
    assert world.append("t").error is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.range(name)[0] == 0
    # A coordinator's own records are promises: they are stored beyond the limit too.
    for _ in range(3):
        stored = world.partition(name).append_batch(bytearray(record), AppendOrigin.COORDINATOR)
        assert not stored.error
    assert world.memory.held_bytes == world.counted() > LIMIT


def test_what_is_deleted_otherwise_makes_room() -> None:
    world = World(a=1, b=1)
    world.fill("a", 16)
    assert not world.partition("a").delete_records_before(10)
    assert world.memory.held_bytes == world.counted() == 6 * BATCH_BYTES
    world.fill("b", 10)
    assert (world.range("a"), world.told()) == ((10, 16), [])
    world.core.cluster.controller.delete_topics([TopicReference("a")])
    assert world.memory.held_bytes == world.counted() == 10 * BATCH_BYTES
    world.partition("b").truncate_to(4)
    assert world.memory.held_bytes == world.counted() == 4 * BATCH_BYTES
    world.partition("b").restart_at(50)
    assert world.memory.held_bytes == world.counted() == 0


def test_retention_and_compaction_are_counted() -> None:
    world = World()
    configs = (
        ("cleanup.policy", "compact,delete"),
        ("internal.segment.bytes", str(2 * BATCH_BYTES)),
        ("min.cleanable.dirty.ratio", "0.01"),
    )
    create(world, NewTopic("t", 1, 1, configs=configs))
    for _ in range(8):
        put(world.core.cluster, "t", [NewRecord(bytes(BATCH_BYTES - 100), key=b"k")])
    world.core.advance(60_000)
    assert world.memory.held_bytes == world.counted() < 8 * BATCH_BYTES
    world.fill("t", 0)
    for _ in range(30):
        put(world.core.cluster, "t", [NewRecord(bytes(BATCH_BYTES - 100), key=b"k")])
    assert world.memory.held_bytes == world.counted() <= LIMIT
    assert world.range("t")[0] > 0


def test_each_follower_deletes_what_is_replicated() -> None:
    config = {"mockbroker.memory.limit.bytes": str(LIMIT)}
    core = ClusterCore(topics={"t": 1}, config={**config, "default.replication.factor": "3"})
    world = World(core)
    leader = core.partition(core.state("t").leader, "t")
    for _ in range(40):
        core.act(lambda: leader.append_batch(batch(), AppendOrigin.CLIENT))
    core.advance(1_000)
    for node in core.cluster.brokers:
        log_memory = node.services.replicas.log_memory
        partition = node.services.replicas.partition("t", 0)
        assert log_memory is not None
        assert partition is not None
        log = partition.open_log()
        assert log.log_end_offset == log.high_watermark == 40
        assert log.log_start_offset >= 24
        assert log_memory.held_bytes == log.size_bytes <= LIMIT
    assert {event.broker_id for event in world.told()} == {1, 2, 3}


def test_a_broker_that_starts_again_counts_what_it_has_by_age() -> None:
    config = {"mockbroker.memory.limit.bytes": str(LIMIT)}
    core = ClusterCore(brokers=2, config={**config, "default.replication.factor": "1"})
    world = World(core)
    core.act(lambda: create(world, NewTopic("t", 4, 1)))
    led = [index for index in range(4) if core.state("t", index).leader == 1]
    new, old = led[0], led[1]
    world.fill("t", 8, old)
    core.advance(1_000)
    world.fill("t", 8, new)
    core.controls.kill(1, fence=False)
    core.controls.revive(1)
    core.advance(1_000)
    assert world.memory.held_bytes == world.counted() == LIMIT
    world.fill("t", 1, new)
    assert (world.range("t", new), world.range("t", old)) == ((0, 9), (1, 8))


def test_a_restored_snapshot_is_counted_and_the_next_append_makes_room() -> None:
    full = Core(topics={"t": 2})
    for _ in range(20):
        put(full.cluster, "t", [NewRecord(bytes(BATCH_BYTES), partition=0)])
    world = World(a=1)
    world.fill("a", 3)
    restore(world.core.cluster, take(full.cluster))
    assert world.memory.held_bytes == world.counted() > LIMIT
    world.fill("t", 1, 1)
    assert world.memory.held_bytes == world.counted() <= LIMIT
    assert world.range("t") == (20, 20)  # it came as one segment


def test_metrics_tell_what_is_held_and_what_went() -> None:
    world = World(t=1)
    world.fill("t", 18)
    assert world.append("t", 0, batch(size_bytes=LIMIT + 1)).error
    metrics = world.core.broker.metrics()
    logs = "mockbroker:type=LogMetrics,name="
    assert metrics[f"{logs}MemoryLimit"] == LIMIT
    assert metrics[f"{logs}MemoryHeld"] == LIMIT
    assert metrics[f"{logs}BytesDeletedForMemory"] == 2 * BATCH_BYTES
    assert metrics[f"{logs}SegmentsDeletedForMemory"] == 2
    assert metrics[f"{logs}AppendsRefusedForMemory"] == 1
