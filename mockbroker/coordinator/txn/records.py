"""Records of `__transaction_state`: key and value as bytes, and back (Kafka: TransactionLog).

`CoordinatorRuntime` is given these two instead of the ones of `__consumer_offsets`, since both
topics number their record types from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.records import CoordinatorRecord, decode_as, encode_as
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from mockbroker.coordinator.records import RecordTypes

_RECORD_TYPE: Final = 0
_TYPES: Final[dict[int, RecordTypes]] = {_RECORD_TYPE: (TransactionLogKey, TransactionLogValue)}
# Transactions V1 made values flexible.
_VALUE_VERSION = 1


def transaction_record(transactional_id: str, value: TransactionLogValue) -> CoordinatorRecord:
    """The record of a state."""
    return CoordinatorRecord(TransactionLogKey(transactional_id), value, _VALUE_VERSION)


def transaction_tombstone(transactional_id: str) -> CoordinatorRecord:
    """The record that forgets an id."""
    return CoordinatorRecord(TransactionLogKey(transactional_id), None)


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as bytes for the log."""
    return encode_as(_RECORD_TYPE, record)


def decode_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """The record that the bytes mean; None for a type or version that this broker does not know."""
    return decode_as(_TYPES.get, key, value)
