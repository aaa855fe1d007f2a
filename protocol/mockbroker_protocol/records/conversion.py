"""Between batches of magic 2, which the log holds, and the message sets of older clients.

Produce v0–v2 is converted up before it is appended (LogValidator), Fetch v0–v3 down after it
was read (RecordsUtil.downConvert, LazyDownConversionRecords; both as of Kafka 3.9, the last that
had them). What is wrong with a producer's bytes comes back as an error code; what is wrong with the
log's own raises `ProtocolError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.records import batch, legacy
from mockbroker_protocol.records.record_codec import Buffer, Record

# LazyDownConversionRecordsSend.MAX_READ_SIZE: padding is written in pieces of at most so many.
_MAX_PADDING_BYTES = 128 * 1024
_PADDING_HEADER = Struct(">qi")


class UpConversion(NamedTuple):
    """A converted message set: `records` is one batch of magic 2, or empty as the set was."""

    error: ErrorCode
    message: str | None
    records: bytes


def up_convert(
    buf: Buffer, *, compression: int | None = None, max_bytes: int | None = None
) -> UpConversion:
    """A producer's message set of magic 0 or 1 as one batch with offsets from 0.

    The codec stays unless `compression` names another. Records of magic 0 get NO_TIMESTAMP.
    Errors: CORRUPT_MESSAGE for lengths and checksums, INVALID_RECORD for sets that Kafka does not
    take (two magics, a wrapper among other messages, zstd), UNKNOWN_SERVER_ERROR for a
    payload that its codec cannot read.
    """
    try:
        codec, records = _producer_records(buf, max_bytes)
    except legacy.CorruptMessageError as error:
        return UpConversion(ErrorCode.CORRUPT_MESSAGE, str(error), b"")
    except legacy.InvalidRecordError as error:
        return UpConversion(ErrorCode.INVALID_RECORD, str(error), b"")
    except ProtocolError as error:
        return UpConversion(ErrorCode.UNKNOWN_SERVER_ERROR, str(error), b"")
    if not records:
        return UpConversion(ErrorCode.NONE, None, b"")
    for offset, record in enumerate(records):
        record.offset = offset
    converted = batch.build_batch(
        records, compression=codec if compression is None else compression
    )
    return UpConversion(ErrorCode.NONE, None, converted)


def _producer_records(buf: Buffer, max_bytes: int | None) -> tuple[int, list[Record]]:
    """(codec, records) of the set, checked as LogValidator checks it."""
    messages = list(legacy.iterate_messages(buf))
    if not messages:
        return batch.NONE, []
    codec = batch.NONE
    for message in messages:
        if not legacy.verify_crc(buf, message):
            raise legacy.CorruptMessageError("the message does not match its checksum")
        if message.magic != messages[0].magic:
            raise legacy.InvalidRecordError("messages of two magics in one set")
        codec = message.compression or codec
    if codec == batch.NONE:
        return codec, list(legacy.iterate_records(buf))
    if len(messages) > 1:
        raise legacy.InvalidRecordError("a compressed message is not alone in its set")
    return codec, legacy.open_wrapper(messages[0], max_bytes=max_bytes)


def down_convert(chunks: Sequence[Buffer], magic: int, from_offset: int) -> bytes | None:
    """The log's bytes in `chunks` as a message set of `magic` 0 or 1, for a fetch at `from_offset`.

    Batches may be spread over chunks, and the last one may be cut: it is left out. The answer is
    as long as the chunks together, or as the first converted batch where that is longer: cut
    where it would be longer, padded by a message of offset -1 that claims more bytes than are
    left, which clients drop as partial. None means that a zstd batch comes first, for which there
    is no older format: UNSUPPORTED_COMPRESSION_TYPE. One that comes later ends the conversion.
    """
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    pieces: list[bytes] = []
    saw_batch = False
    limit = len(data)
    size = 0
    for pos, header in batch.iterate_batches(data):
        saw_batch = True
        if header.is_control:
            continue
        if header.compression == batch.ZSTD:
            if not pieces:
                return None
            break
        piece = _down_convert_batch(data, pos, header, magic, from_offset)
        if not piece:
            continue
        if not pieces:
            # The first batch is never cut, so that the consumer can go on (KIP-74).
            limit = max(limit, len(piece))
        pieces.append(piece)
        size += len(piece)
        if size >= limit:
            break
    if not pieces:
        return _padding(legacy.LOG_OVERHEAD) if saw_batch else b""
    if size < limit:
        pieces.append(_padding(limit - size))
    return b"".join(pieces)[:limit]


def _down_convert_batch(
    data: Buffer, pos: int, header: batch.BatchHeader, magic: int, from_offset: int
) -> bytes:
    records = list(batch.iterate_records(data, pos, header))
    codec = header.compression
    if codec == batch.NONE:
        # A message per record, so those before the fetch offset can go; older librdkafka needs
        # that. A wrapper keeps all of its batch.
        records = [record for record in records if record.offset >= from_offset]
    return legacy.build_message_set(
        records,
        magic,
        compression_codec=codec,
        timestamp_type=header.timestamp_type,
        log_append_time_ms=header.max_timestamp,
    )


def _padding(remaining: int) -> bytes:
    """`remaining` bytes that no client takes for a message (buildOverflowBatch)."""
    pieces: list[bytes] = []
    while remaining > 0:
        size = min(remaining, _MAX_PADDING_BYTES)
        claimed = max(remaining + 1, batch.RECORD_BATCH_OVERHEAD)
        pieces.append(_PADDING_HEADER.pack(-1, claimed).ljust(size, b"\0")[:size])
        remaining -= size
    return b"".join(pieces)
