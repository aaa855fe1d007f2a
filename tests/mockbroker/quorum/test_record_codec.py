"""Bytes of the metadata log against a segment that Apache Kafka wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockbroker.quorum.record_codec import (
    encode_control_record,
    encode_metadata_record,
    written_version,
)
from mockbroker_protocol.messages.metadata_records import (
    METADATA_RECORDS,
    ConfigRecord,
    NoOpRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from mockbroker_protocol.messages.raft_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    Voter,
    VoterEndpoint,
    VotersRecord,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.primitives import write_uvarint
from mockbroker_protocol.records.batch import iterate_batches, iterate_records, verify_crc
from tests.support.metadata_logs import decode_control_record, decode_metadata_record

GOLDEN = Path(__file__).parents[2] / "golden" / "metadata_log.txt"
KEYS = {cls: key for key, cls in METADATA_RECORDS.items()}


def segment() -> bytes:
    lines = GOLDEN.read_text("utf-8").splitlines()
    return bytes.fromhex("".join(line for line in lines if not line.startswith("#")))


def kafkas_values() -> list[bytes]:
    data = segment()
    values = []
    for pos, header in iterate_batches(data):
        assert verify_crc(data, pos, header)
        if not header.is_control:
            values += [record.value or b"" for record in iterate_records(data, pos, header)]
    return values


@pytest.mark.parametrize("value", kafkas_values())
def test_what_kafka_wrote_comes_out_as_it_went_in(value: bytes) -> None:
    record, version = decode_metadata_record(value)
    head = [write_uvarint(1), write_uvarint(KEYS[type(record)]), write_uvarint(version)]
    assert b"".join([*head, *encode(record, version)]) == value


def test_ours_are_kafkas_bytes_where_the_version_is_the_same() -> None:
    same = 0
    for value in kafkas_values():
        record, version = decode_metadata_record(value)
        if written_version(type(record)) == version:
            assert encode_metadata_record(record) == value
            same += 1
    assert same >= 15


def test_kafkas_segment_tells_its_story() -> None:
    kinds = [type(decode_metadata_record(value)[0]) for value in kafkas_values()]
    assert kinds[-7:] == [
        TopicRecord,
        ConfigRecord,
        PartitionRecord,
        PartitionRecord,
        PartitionRecord,
        ConfigRecord,
        RemoveTopicRecord,
    ]


def test_kafkas_leader_change_is_read_and_written() -> None:
    data = segment()
    pos, header = next(iterate_batches(data))
    (record,) = iterate_records(data, pos, header)
    assert record.key == bytes.fromhex("00000002")
    assert record.value is not None
    change = decode_control_record(record.key, record.value)
    assert change == LeaderChangeMessage(0, 1, [LeaderChangeVoter(1)], [LeaderChangeVoter(1)])
    assert b"".join(encode(change, 0)) == record.value


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (LeaderChangeMessage(0, 1, [LeaderChangeVoter(1)]), 2),
        (KRaftVersionRecord(0, 1), 5),
        (VotersRecord(0, [Voter(1, b"d" * 16, [VoterEndpoint("CONTROLLER", "h", 9)])]), 6),
    ],
)
def test_control_records_round_trip(record: object, kind: int) -> None:
    key, value = encode_control_record(record)
    assert key == bytes((0, 0, 0, kind))
    assert decode_control_record(key, value) == record


def test_a_no_op_is_four_bytes() -> None:
    assert encode_metadata_record(NoOpRecord()).hex() == "01140000"
