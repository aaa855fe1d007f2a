"""Which shard owns what, and how its state follows its log."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.records import CoordinatorRecord, encode_record
from mockbroker.coordinator.runtime import (
    CoordinatorRuntime,
    InternalTopic,
    java_hash,
    partition_for,
    response_error,
)
from mockbroker.metadata.changes import (
    PartitionsAdded,
    PartitionState,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import MetadataStore
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue

RECORD = CoordinatorRecord(OffsetCommitKey("g", "t", 0), OffsetCommitValue(1, 2, "m", 3), 4)


class Recorder:
    """A shard that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def replay(self, offset: int, producer_id: int, record: CoordinatorRecord) -> None:
        self.told.append((offset, producer_id, record))

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.told.append((producer_id, commit))

    def on_loaded(self) -> None:
        self.told.append("loaded")

    def on_unloaded(self, error: ErrorCode) -> None:
        self.told.append(error)


class Bench:
    def __init__(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.error = error
        self.appended: list[tuple[int, list[tuple[bytes, bytes | None]]]] = []
        self.producers: list[tuple[int, int]] = []
        self.errors: list[ErrorCode] = []
        self.runtime: CoordinatorRuntime[Recorder] = CoordinatorRuntime(
            InternalTopic("t", MetadataStore("c", BrokerConfig({})), 50),
            self.append,
            lambda _index: Recorder(),
        )

    def append(
        self,
        partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> tuple[ErrorCode, int]:
        self.producers.append((producer_id, producer_epoch))
        self.appended.append((partition_index, records))
        return self.error, 7

    def shard(self, key: str = "g") -> Recorder:
        shard = self.runtime.shard_for(key)
        assert shard is not None
        return shard


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("my-group", -1_906_497_762),
        ("polygenelubricants", -(1 << 31)),
        ("\N{GRINNING FACE}", 1_772_899),
    ],
)
def test_hashes_are_those_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_the_smallest_hash_is_in_partition_0() -> None:
    assert partition_for("polygenelubricants", 50) == 0


@pytest.mark.parametrize(("key", "index"), [("g", 3), ("my-group", 12), ("", 0)])
def test_a_key_has_one_partition(key: str, index: int) -> None:
    assert partition_for(key, 50) == index


def test_a_write_is_appended_then_replayed_then_answered() -> None:
    bench = Bench()
    shard = bench.shard()
    bench.runtime.write(3, [RECORD, RECORD], bench.errors.append)
    assert bench.appended == [(3, [encode_record(RECORD)] * 2)]
    assert shard.told == [(7, -1, RECORD), (8, -1, RECORD)]
    assert bench.errors == [ErrorCode.NONE]


def test_nothing_to_write_is_no_write() -> None:
    bench = Bench()
    bench.shard()
    bench.runtime.write(3, [], bench.errors.append)
    assert (bench.appended, bench.errors) == ([], [ErrorCode.NONE])


def test_what_was_not_appended_is_not_replayed() -> None:
    bench = Bench(ErrorCode.NOT_ENOUGH_REPLICAS)
    shard = bench.shard()
    bench.runtime.write(3, [RECORD], bench.errors.append)
    assert (shard.told, bench.errors) == ([], [ErrorCode.COORDINATOR_NOT_AVAILABLE])
    assert response_error(ErrorCode.INVALID_TIMESTAMP) is ErrorCode.INVALID_TIMESTAMP


def test_an_in_sync_set_that_shrank_meanwhile_is_a_coordinator_that_is_not_available() -> None:
    error = response_error(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_partition_that_was_given_away_is_not_ours() -> None:
    bench = Bench()
    shard = bench.shard()
    bench.runtime.unload(3)
    assert shard.told == [ErrorCode.NOT_COORDINATOR]
    assert bench.runtime.shard_for("g") is None
    bench.runtime.write(3, [RECORD], bench.errors.append)
    assert bench.errors == [ErrorCode.NOT_COORDINATOR]
    assert bench.runtime.shards() == []


def test_loading_replays_the_log() -> None:
    bench = Bench()
    bench.runtime.unload(3)
    key, value = encode_record(RECORD)
    unknown = b"\x00\x63"
    shard = bench.runtime.load(3, [(0, -1, key, value), (1, -1, unknown, b""), (2, 9, key, value)])
    assert shard.told == [(0, -1, RECORD), (2, 9, RECORD), "loaded"]
    assert bench.runtime.shard_for("g") is shard


def test_a_write_in_a_transaction_is_replayed_as_its_producers() -> None:
    bench = Bench()
    shard = bench.shard()
    bench.runtime.write(3, [RECORD], bench.errors.append, 42, 5)
    assert bench.appended == [(3, [encode_record(RECORD)])]
    assert bench.producers == [(42, 5)]
    assert shard.told == [(7, 42, RECORD)]
    bench.error = ErrorCode.INVALID_PRODUCER_EPOCH
    bench.runtime.write(3, [RECORD], bench.errors.append, 42, 4)
    assert bench.errors == [ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH]
    assert len(shard.told) == 1


def test_loading_tells_the_ends_of_transactions_in_their_place() -> None:
    bench = Bench()
    key, value = encode_record(RECORD)
    end = EndOfTransaction(1, 42, commit=True)
    shard = bench.runtime.load(3, [(0, 42, key, value), end, (2, -1, key, value)])
    assert shard.told == [(0, 42, RECORD), (42, True), (2, -1, RECORD), "loaded"]
    assert bench.runtime.shard_at(3) is shard
    assert bench.runtime.is_owned(3)
    bench.runtime.unload(3)
    assert bench.runtime.shard_at(3) is None
    assert not bench.runtime.is_owned(3)


def test_after_a_reset_every_partition_is_ours_again() -> None:
    bench = Bench()
    bench.shard()
    bench.runtime.unload(4)
    bench.runtime.reset()
    assert bench.runtime.shards() == []
    assert bench.shard().told == []
    assert bench.runtime.shard_for("h") is not None


def test_keys_stay_where_they_are_when_the_topic_grows_and_spread_anew_over_the_next() -> None:
    metadata = MetadataStore("c", BrokerConfig({}))
    topic = InternalTopic("t", metadata, 50)
    assert topic.partition_count == 50
    state = PartitionState(0, [0], [0])
    metadata.apply(TopicCreated("t", b"1" * 16, [state] * 3, {}))
    assert topic.partition_count == 3
    metadata.apply(PartitionsAdded("t", b"1" * 16, 3, [state]))
    assert topic.partition_count == 3
    bench = Bench()
    bench.runtime = CoordinatorRuntime(topic, bench.append, lambda _index: Recorder())
    metadata.apply(TopicDeleted("t", b"1" * 16))
    bench.runtime.reset()
    metadata.apply(TopicCreated("t", b"2" * 16, [state] * 5, {}))
    assert topic.partition_count == 5
