"""Coordinator records: what a record of `__consumer_offsets` means, and its bytes.

A key begins with an int16 that names its type, a value with an int16 that names its version
(GroupCoordinatorRecordSerde); the rest is the message as the codec writes it. A record without a
value is a tombstone. `runtime` converts in both directions; shards see `CoordinatorRecord`s only,
so that tests compare values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.coordinator_records import (
    RECORD_TYPES,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.primitives import ZERO_UUID, write_uvarint
from mockbroker_protocol.schema import schema_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from mockbroker_protocol.messages import consumer_group_records as consumer
    from mockbroker_protocol.messages.transaction_records import (
        TransactionLogKey,
        TransactionLogValue,
    )
    from mockbroker_protocol.schema import Buffer

    ConsumerGroupKey: TypeAlias = (
        consumer.ConsumerGroupMetadataKey
        | consumer.ConsumerGroupPartitionMetadataKey
        | consumer.ConsumerGroupMemberMetadataKey
        | consumer.ConsumerGroupTargetAssignmentMetadataKey
        | consumer.ConsumerGroupTargetAssignmentMemberKey
        | consumer.ConsumerGroupCurrentMemberAssignmentKey
        | consumer.ConsumerGroupRegularExpressionKey
    )
    ConsumerGroupValue: TypeAlias = (
        consumer.ConsumerGroupMetadataValue
        | consumer.ConsumerGroupPartitionMetadataValue
        | consumer.ConsumerGroupMemberMetadataValue
        | consumer.ConsumerGroupTargetAssignmentMetadataValue
        | consumer.ConsumerGroupTargetAssignmentMemberValue
        | consumer.ConsumerGroupCurrentMemberAssignmentValue
        | consumer.ConsumerGroupRegularExpressionValue
    )
    CoordinatorKey: TypeAlias = (
        OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey | TransactionLogKey | "ExtensionKey"
    )
    CoordinatorValue: TypeAlias = (
        OffsetCommitValue
        | GroupMetadataValue
        | ConsumerGroupValue
        | TransactionLogValue
        | "ExtensionValue"
    )
    # The classes of key and value.
    RecordTypes: TypeAlias = tuple[type[CoordinatorKey], type[CoordinatorValue]]

_PREFIX_BYTES = 2

_OFFSET_TYPE = 1
_OFFSET_VERSION = 4
_OFFSET = Struct(">hqi")
_INT16S, _INT16, _INT32, _INT64 = Struct(">hh"), Struct(">h"), Struct(">i"), Struct(">q")
_NO_TAGS, _TOPIC_ID_TAG = b"\0", b"\1\0\x10"

# Type 0 is an old way of writing type 1.
_TYPE_NUMBERS = {key: number for number, (key, _) in RECORD_TYPES.items()}
_KEY_BODY_VERSION = 0


class ExtensionKey:
    """A key in the topic of a coordinator that a room above has, which encodes it itself."""

    __slots__ = ()


class ExtensionValue:
    """The same, a value."""

    __slots__ = ()


@dataclass(slots=True)
class CoordinatorRecord:
    """One key and its value, or None for a tombstone; `value_version` is how it is written."""

    key: CoordinatorKey
    value: CoordinatorValue | None
    value_version: int = field(default=0, compare=False)


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as bytes for `__consumer_offsets`."""
    key, value = record.key, record.value
    if (
        record.value_version == _OFFSET_VERSION
        and type(key) is OffsetCommitKey
        and type(value) is OffsetCommitValue
        and not value.unknown_tags  # type: ignore[attr-defined]  # a slot of every one
    ):
        return _encode_offset(key, value)
    return encode_as(_type_number(type(record.key)), record)


def _encode_offset(key: OffsetCommitKey, value: OffsetCommitValue) -> tuple[bytes, bytes]:
    """By hand what most records are: a request may commit thousands of positions."""
    group, topic, metadata = key.group.encode(), key.topic.encode(), value.metadata.encode()
    topic_id = value.topic_id
    return (
        _INT16S.pack(_OFFSET_TYPE, len(group))
        + group
        + _INT16.pack(len(topic))
        + topic
        + _INT32.pack(key.partition),
        _OFFSET.pack(_OFFSET_VERSION, value.offset, value.leader_epoch)
        + write_uvarint(len(metadata) + 1)
        + metadata
        + _INT64.pack(value.commit_timestamp)
        + (_NO_TAGS if topic_id == ZERO_UUID else _TOPIC_ID_TAG + topic_id),
    )


def encode_as(number: int, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as bytes, as a record of this type."""
    key = _join(number, encode(record.key, _KEY_BODY_VERSION))
    if record.value is None:
        return key, None
    return key, _join(record.value_version, encode(record.value, record.value_version))


def decode_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """The record of `__consumer_offsets` that the bytes mean; see `decode_as`."""
    return decode_as(_types, key, value)


def decode_as(
    types_of: Callable[[int], RecordTypes | None], key: bytes | None, value: bytes | None
) -> CoordinatorRecord | None:
    """The record that the bytes mean; None for a type or version that this broker does not know.

    `types_of` gives the classes of key and value by the type's number. Kafka too passes over
    unknown types when it loads a partition, so that a log written by a newer broker can be read by
    an older one.
    """
    if key is None or len(key) < _PREFIX_BYTES:
        return None
    types = types_of(_prefix(key))
    if types is None:
        return None
    key_class, value_class = types
    try:
        decoded_key, _ = decode(key_class, _KEY_BODY_VERSION, key, _PREFIX_BYTES)
        if value is None:
            return CoordinatorRecord(decoded_key, None)
        version = _prefix(value)
        if not 0 <= version <= schema_of(value_class).max_version:
            return None
        decoded, _ = decode(value_class, version, value, _PREFIX_BYTES)
    except ProtocolError:
        return None
    return CoordinatorRecord(decoded_key, decoded, version)


def _types(number: int) -> RecordTypes | None:
    return RECORD_TYPES.get(number) or _consumer_types().get(number)


def _type_number(key_class: type) -> int:
    number = _TYPE_NUMBERS.get(key_class)
    if number is None:
        _TYPE_NUMBERS.update({key: one for one, (key, _) in _consumer_types().items()})
        number = _TYPE_NUMBERS[key_class]
    return number


def _consumer_types() -> dict[int, tuple[type, type]]:
    # Those of KIP-848 are imported when the first one is met.
    from mockbroker_protocol.messages import consumer_group_records

    return consumer_group_records.RECORD_TYPES


def _join(prefix: int, body: list[Buffer]) -> bytes:
    return prefix.to_bytes(_PREFIX_BYTES, "big") + b"".join(body)


def _prefix(data: bytes) -> int:
    return int.from_bytes(data[:_PREFIX_BYTES], "big", signed=True)
