"""Records of `__transaction_state` as bytes."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.records import (
    decode_record,
    encode_record,
    transaction_record,
    transaction_tombstone,
)
from mockbroker_protocol.messages.transaction_records import PartitionsSchema, TransactionLogValue

VALUE = TransactionLogValue(
    producer_id=7,
    producer_epoch=2,
    transaction_timeout_ms=500,
    transaction_status=1,
    transaction_partitions=[PartitionsSchema("t", [1, 0])],
    previous_producer_id=6,
    client_transaction_version=2,
)


def test_a_record_survives_the_log() -> None:
    record = transaction_record("tx", VALUE)
    key, value = encode_record(record)
    assert key == b"\x00\x00\x00\x02tx"
    assert value is not None
    assert value[:2] == b"\x00\x01"
    assert decode_record(key, value) == record


def test_a_tombstone_survives_the_log() -> None:
    key, value = encode_record(transaction_tombstone("tx"))
    assert value is None
    assert decode_record(key, value) == transaction_tombstone("tx")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\x00\x01\x00\x02tx", None),
        (b"\x00\x00\x00\x09tx", None),
        (b"\x00\x00\x00\x02tx", b"\x00\x02"),
        (b"\x00\x00\x00\x02tx", b"\xff\xff"),
        (b"\x00\x00\x00\x02tx", b"\x00\x01\x00"),
    ],
)
def test_what_is_not_understood_is_passed_over(key: bytes | None, value: bytes | None) -> None:
    assert decode_record(key, value) is None
