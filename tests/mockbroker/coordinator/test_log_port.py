"""A coordinator's records are real records of its internal topic."""

from __future__ import annotations

from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.log.offsets import FetchIsolation
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import iterate_batches, iterate_records
from tests.support.core import EPOCH_MS, Core


def test_records_are_appended_as_one_batch_that_a_consumer_can_read() -> None:
    core = Core(topics={"state": 2})
    replicas = core.broker.services.replicas
    log = InternalLog("state", replicas, core.cluster.clock)
    assert log.append(1, [(b"k1", b"v1"), (b"k2", None)]) == (ErrorCode.NONE, 0)
    assert log.append(1, [(b"k3", b"v3")]) == (ErrorCode.NONE, 2)
    partition = replicas.partition("state", 1)
    assert partition is not None
    assert partition.log is not None
    chunks = partition.log.read(0, 1 << 20, FetchIsolation.HIGH_WATERMARK, True).chunks
    data = b"".join(chunks)
    records = [
        (record.offset, record.timestamp, record.key, record.value)
        for pos, header in iterate_batches(data)
        for record in iterate_records(data, pos, header)
    ]
    assert records == [
        (0, EPOCH_MS, b"k1", b"v1"),
        (1, EPOCH_MS, b"k2", None),
        (2, EPOCH_MS, b"k3", b"v3"),
    ]


def test_a_partition_that_is_not_here_is_an_error_value() -> None:
    core = Core(topics={"state": 1})
    log = InternalLog("state", core.broker.services.replicas, core.cluster.clock)
    assert log.append(7, [(b"k", b"v")]) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_a_batch_of_a_transaction_and_its_end_are_read_back_in_order() -> None:
    core = Core(topics={"state": 1})
    log = InternalLog("state", core.broker.services.replicas, core.cluster.clock)
    assert log.append(0, [(b"plain", b"1")]) == (ErrorCode.NONE, 0)
    pairs: list[tuple[bytes, bytes | None]] = [(b"a", b"1"), (b"b", None)]
    assert log.append(0, pairs, 7, 3) == (ErrorCode.NONE, 1)
    assert log.append(0, pairs, 7, 2)[0] is ErrorCode.INVALID_PRODUCER_EPOCH
    marker = TransactionMarker(7, 3, 0, commit=True, transaction_version=0)
    assert log.append_marker(0, marker) == (ErrorCode.NONE, 3)
    *records, end = log.read(0)
    assert records == [(0, -1, b"plain", b"1"), (1, 7, b"a", b"1"), (2, 7, b"b", None)]
    assert isinstance(end, EndOfTransaction)
    assert end == (3, 7, True)


def test_a_log_that_was_never_written_has_nothing_to_read() -> None:
    core = Core(topics={"state": 1})
    log = InternalLog("state", core.broker.services.replicas, core.cluster.clock)
    assert list(log.read(0)) == []
    assert list(log.read(7)) == []
