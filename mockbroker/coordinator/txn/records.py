"""Records of `__transaction_state`: key and value as bytes, and back (Kafka: TransactionLog).

`CoordinatorRuntime` is given these two instead of the ones of `__consumer_offsets`, since both
topics number their record types from 0.
"""

from __future__ import annotations

from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.schema import schema_of

_PREFIX_BYTES = 2
_RECORD_TYPE = b"\x00\x00"
_KEY_VERSION = 0
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
    key = _RECORD_TYPE + b"".join(encode(record.key, _KEY_VERSION))
    if record.value is None:
        return key, None
    version = record.value_version
    body = b"".join(encode(record.value, version))
    return key, version.to_bytes(_PREFIX_BYTES, "big") + body


def decode_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """The record that the bytes mean; None for a type or version that this broker does not know."""
    if key is None or key[:_PREFIX_BYTES] != _RECORD_TYPE:
        return None
    try:
        decoded_key, _ = decode(TransactionLogKey, _KEY_VERSION, key, _PREFIX_BYTES)
        if value is None:
            return CoordinatorRecord(decoded_key, None)
        version = int.from_bytes(value[:_PREFIX_BYTES], "big", signed=True)
        if not 0 <= version <= schema_of(TransactionLogValue).max_version:
            return None
        decoded, _ = decode(TransactionLogValue, version, value, _PREFIX_BYTES)
    except ProtocolError:
        return None
    return CoordinatorRecord(decoded_key, decoded, version)
