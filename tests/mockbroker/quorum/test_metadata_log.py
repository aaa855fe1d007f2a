"""The metadata log: batches in epochs, read whole, compared with a replica's log."""

from __future__ import annotations

import pytest

from mockbroker.quorum import metadata_log
from mockbroker.quorum.metadata_log import MetadataLog
from mockbroker_protocol.messages.metadata_records import FeatureLevelRecord, NoOpRecord
from mockbroker_protocol.messages.raft_records import KRaftVersionRecord
from mockbroker_protocol.records.batch import iterate_batches, iterate_records, verify_crc
from tests.support.metadata_logs import decode_metadata_record


def filled() -> MetadataLog:
    """Offsets 0 to 2 of epoch 1, 3 and 4 of epoch 3."""
    log = MetadataLog()
    log.append_control([KRaftVersionRecord(0, 1)], 1, 1_000)
    log.append([FeatureLevelRecord("a", 1), FeatureLevelRecord("b", 2)], 1, 2_000)
    log.append([NoOpRecord()], 3, 3_000)
    log.append([NoOpRecord()], 3, 4_000)
    return log


def test_an_append_is_one_batch_of_its_epoch() -> None:
    data = b"".join(filled().read_uncommitted(0, 1 << 20))
    headers = list(iterate_batches(data))
    assert [header.base_offset for _, header in headers] == [0, 1, 3, 4]
    assert [header.partition_leader_epoch for _, header in headers] == [1, 1, 3, 3]
    assert [header.is_control for _, header in headers] == [True, False, False, False]
    assert all(verify_crc(data, pos, header) for pos, header in headers)
    pos, header = headers[1]
    records = list(iterate_records(data, pos, header))
    assert [record.offset for record in records] == [1, 2]
    assert records[1].value is not None
    assert decode_metadata_record(records[1].value)[0] == FeatureLevelRecord("b", 2)


def test_an_append_says_where_it_begins() -> None:
    log = filled()
    assert log.append([NoOpRecord()], 3, 0) == 5
    assert log.append_control([KRaftVersionRecord(0, 1)], 4, 0) == 6
    assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (0, 7, 4)


def test_many_records_are_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_log, "MAX_RECORDS_PER_BATCH", 2)
    log = MetadataLog()
    assert log.append([NoOpRecord()] * 5, 1, 0) == 0
    assert [header.record_count for header, _ in log.iterate_batches(0)] == [2, 2, 1]


def test_one_byte_reads_one_batch() -> None:
    log = filled()
    data = b"".join(log.read_uncommitted(1, 1))
    assert [header.base_offset for _, header in iterate_batches(data)] == [1]
    assert log.read_uncommitted(5, 1) == []


@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"),
    [
        (0, 0, None),
        (2, 1, None),
        (3, 1, None),
        (4, 1, (1, 3)),
        (3, 2, (1, 3)),
        (5, 3, None),
        (6, 3, (3, 5)),
        (5, 4, (3, 5)),
        (1, 0, (0, 0)),  # before the first epoch: nothing of it is kept
    ],
)
def test_a_replica_that_diverges_is_told_where(
    offset: int, epoch: int, diverging: tuple[int, int] | None
) -> None:
    assert filled().diverging_epoch(offset, epoch) == diverging
