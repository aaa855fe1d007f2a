"""Message sets of magic 0 and 1: what Produce v0–v2 carries and Fetch v0–v3 answers.

`conversion` calls this; the log itself holds batches of magic 2 alone. A message is: offset
int64, length int32 (of what follows it), CRC-32 uint32 over all that follows it, magic int8,
attributes int8, timestamp int64 (magic 1 only), key and value as int32 length (-1: null) and
bytes. With a codec in its attributes, a message is a wrapper, whose value is a compressed message
set: with absolute offsets in magic 0; in magic 1 with offsets from 0, the wrapper carrying that
of its last message (KIP-31), and with the wrapper's timestamp for all if it is LogAppendTime
(KIP-32). Mirrors LegacyRecord and AbstractLegacyRecordBatch.

Both errors here are `ProtocolError`s; which one it is decides the answer's error code.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from struct import Struct

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import compression
from mockbroker_protocol.records.record_codec import NO_TIMESTAMP, Buffer, Record

LOG_OVERHEAD = 12
CREATE_TIME = 0
LOG_APPEND_TIME = 1

_COMPRESSION_MASK = 0x07
_TIMESTAMP_TYPE_BIT = 0x08
_HEADER = Struct(">qiIbb")
_CHECKED_FROM = 16
_INT64 = Struct(">q")
_INT32 = Struct(">i")
_LOG_HEADER = Struct(">qi")
_UINT32 = Struct(">I")
# From the CRC on, key and value empty.
_OVERHEAD = (14, 22)


class CorruptMessageError(ProtocolError):
    """A length or checksum is wrong: CORRUPT_MESSAGE."""


class InvalidRecordError(ProtocolError):
    """The message is whole, yet none that Kafka takes: INVALID_RECORD."""


class Message:
    """One message as it lies in a set; `value` of a wrapper is still compressed."""

    __slots__ = (
        "attributes",
        "crc",
        "key",
        "magic",
        "offset",
        "position",
        "size",
        "timestamp",
        "value",
    )

    position: int  # in the buffer it was read from
    size: int  # on the wire, offset and length included
    offset: int
    crc: int
    magic: int
    attributes: int
    timestamp: int  # -1 in magic 0
    key: memoryview | None
    value: memoryview | None

    @property
    def compression(self) -> int:
        return self.attributes & _COMPRESSION_MASK

    @property
    def timestamp_type(self) -> int:
        return 1 if self.magic and self.attributes & _TIMESTAMP_TYPE_BIT else 0


# --- reading ---------------------------------------------------------------------------------


def iterate_messages(buf: Buffer) -> Iterator[Message]:
    """The messages of a set, wrappers unopened; a cut one at the end is passed over in silence."""
    view = memoryview(buf)
    pos, end = 0, len(view)
    while end - pos > LOG_OVERHEAD:
        (length,) = _INT32.unpack_from(view, pos + 8)
        if length < _OVERHEAD[0]:
            raise CorruptMessageError(f"message of length {length}")
        if length > end - pos - LOG_OVERHEAD:
            return
        message = _read_message(view, pos)
        yield message
        pos += message.size


def verify_crc(buf: Buffer, message: Message) -> bool:
    """Whether the message's CRC-32 holds; `buf` is what it was read from."""
    start = message.position + _CHECKED_FROM
    end = message.position + message.size
    return zlib.crc32(memoryview(buf)[start:end]) == message.crc


def iterate_records(buf: Buffer, *, max_bytes: int | None = None) -> Iterator[Record]:
    """All records of a set with absolute offsets, wrappers opened, checksums verified."""
    for message in iterate_messages(buf):
        if not verify_crc(buf, message):
            raise CorruptMessageError("the message does not match its checksum")
        if message.compression:
            yield from open_wrapper(message, max_bytes=max_bytes)
        else:
            yield _record(message, message.offset, message.timestamp)


def open_wrapper(wrapper: Message, *, max_bytes: int | None = None) -> list[Record]:
    """The records in a compressed message (AbstractLegacyRecordBatch.DeepRecordsIterator)."""
    codec = wrapper.compression
    if codec == compression.ZSTD:
        raise InvalidRecordError(f"zstd in a message of magic {wrapper.magic}")
    if wrapper.value is None:
        raise InvalidRecordError("compressed message without a value")
    limit = compression.MAX_DECOMPRESSED_BYTES if max_bytes is None else max_bytes
    data = compression.decompress(codec, wrapper.value, magic=wrapper.magic, max_bytes=limit)
    inner = list(iterate_messages(data))
    if not inner:
        raise InvalidRecordError("compressed message without messages in it")
    for message in inner:
        if message.magic != wrapper.magic:
            raise InvalidRecordError("message of another magic than its wrapper")
        if message.compression:
            raise InvalidRecordError("compressed message within a compressed one")
        if not verify_crc(data, message):
            raise CorruptMessageError("the inner message does not match its checksum")
    base_offset = _base_offset(wrapper, inner[-1].offset) if wrapper.magic else 0
    append_time = wrapper.timestamp if wrapper.timestamp_type == LOG_APPEND_TIME else None
    return [
        _record(
            message,
            base_offset + message.offset,
            message.timestamp if append_time is None else append_time,
        )
        for message in inner
    ]


def _base_offset(wrapper: Message, last_inner_offset: int) -> int:
    # Producers leave the wrapper's offset 0, as librdkafka did, or give the last inner one.
    if wrapper.offset == 0:
        return 0
    if wrapper.offset < last_inner_offset:
        raise InvalidRecordError("a wrapper's offset lies before that of its last message")
    return wrapper.offset - last_inner_offset


def _read_message(view: memoryview, pos: int) -> Message:
    message = Message.__new__(Message)
    message.position = pos
    (
        message.offset,
        length,
        message.crc,
        message.magic,
        message.attributes,
    ) = _HEADER.unpack_from(view, pos)
    if message.magic not in (0, 1):
        raise InvalidRecordError(f"magic {message.magic} in a legacy message set")
    if length < _OVERHEAD[message.magic]:
        raise CorruptMessageError(f"message of length {length}")
    message.size = length + LOG_OVERHEAD
    end = pos + message.size
    pos += _HEADER.size
    message.timestamp = NO_TIMESTAMP
    if message.magic:
        (message.timestamp,) = _INT64.unpack_from(view, pos)
        pos += 8
    message.key, pos = _sized(view, pos, end)
    message.value, pos = _sized(view, pos, end)
    if pos != end:
        raise CorruptMessageError("a message's key and value do not fill it")
    return message


def _sized(view: memoryview, pos: int, end: int) -> tuple[memoryview | None, int]:
    if end - pos < 4:
        raise CorruptMessageError("the message is cut within a length")
    (size,) = _INT32.unpack_from(view, pos)
    pos += 4
    if size < 0:
        return None, pos
    if size > end - pos:
        raise CorruptMessageError("a key or value is longer than its message")
    return view[pos : pos + size], pos + size


def _record(message: Message, offset: int, timestamp: int) -> Record:
    key, value = message.key, message.value
    return Record(
        offset,
        timestamp,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )


# --- building --------------------------------------------------------------------------------


def build_message_set(
    records: Sequence[Record],
    magic: int,
    *,
    compression_codec: int = compression.NONE,
    timestamp_type: int = CREATE_TIME,
    log_append_time_ms: int = NO_TIMESTAMP,
) -> bytes:
    """One message per record, or one wrapper of them all, as MemoryRecordsBuilder writes them.

    Offsets are the records' own. Headers have no place here and are dropped. LogAppendTime gives
    each message `log_append_time_ms`. Without records there are no bytes, not even a wrapper.
    """
    if not records:
        return b""
    is_append_time = timestamp_type == LOG_APPEND_TIME
    type_bit = _TIMESTAMP_TYPE_BIT if magic and is_append_time else 0
    base_offset = records[0].offset if magic and compression_codec else 0
    messages = b"".join(
        _encode_message(
            magic,
            record.offset - base_offset,
            type_bit,
            log_append_time_ms if is_append_time else record.timestamp,
            record.key,
            record.value,
        )
        for record in records
    )
    if not compression_codec:
        return messages
    timestamp = log_append_time_ms if is_append_time else max(r.timestamp for r in records)
    value = compression.compress(compression_codec, messages, magic=magic)
    attributes = type_bit | compression_codec
    return _encode_message(magic, records[-1].offset, attributes, timestamp, None, value)


def _encode_message(
    magic: int,
    offset: int,
    attributes: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
) -> bytes:
    checked = b"".join(
        (
            bytes((magic, attributes)),
            _INT64.pack(timestamp) if magic else b"",
            _INT32.pack(-1 if key is None else len(key)),
            key or b"",
            _INT32.pack(-1 if value is None else len(value)),
            value or b"",
        )
    )
    crc = _UINT32.pack(zlib.crc32(checked))
    return b"".join((_LOG_HEADER.pack(offset, len(checked) + 4), crc, checked))
