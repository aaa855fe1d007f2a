"""Record batches of magic 2: header, checksum, records, building and new headers (KIP-98).

Called by the log (append, read, truncate), by Produce validation, by the coordinators that write
records of their own, and by `conversion`. Positions are absolute in the buffer given; nothing
here copies a batch unless it says so. Bad bytes raise `ProtocolError` and nothing else.

Layout (DefaultRecordBatch): base offset int64, length int32 (of what follows it), partition
leader epoch int32, magic int8, CRC-32C uint32 over all that follows it, attributes int16, last
offset delta int32, base and max timestamp int64, producer id int64, producer epoch int16, base
sequence int32, record count int32, records. A broker may rewrite base offset and leader epoch
freely: they lie before the checksum's range.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import islice
from struct import Struct
from typing import Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.native import mypyc_attr
from mockbroker_protocol.records import record_codec
from mockbroker_protocol.records.crc import crc32c
from mockbroker_protocol.records.record_codec import NO_TIMESTAMP, Buffer, Record, RecordScan
from mockbroker_protocol.slices import Aside

LOG_OVERHEAD: Final = 12
MIN_LEGACY_LENGTH: Final = 14  # LegacyRecord.RECORD_OVERHEAD_V0: less is no message of any magic
MAGIC_OFFSET: Final = 16
CRC_OFFSET: Final = 17
ATTRIBUTES_OFFSET: Final = 21  # where the checksum's range begins
RECORD_BATCH_OVERHEAD: Final = 61

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1
NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
CONTROL_ABORT: Final = 0
CONTROL_COMMIT: Final = 1

RECODED_AT_ONCE = 1024
"""Records of a batch that is written anew in slices."""
PACKED_AT_ONCE_BYTES = 256 * 1024
"""Of such a batch: compression of more is left to another thread."""

_COMPRESSION_MASK: Final = 0x07
_TIMESTAMP_TYPE_BIT: Final = 0x08
_TRANSACTIONAL_BIT: Final = 0x10
_CONTROL_BIT: Final = 0x20
_DELETE_HORIZON_BIT: Final = 0x40

_HEADER: Final = Struct(">qiibIhiqqqhii")
_unpack: Final = _HEADER.unpack_from
_BEFORE_CRC: Final = Struct(">qiib")
_AFTER_CRC: Final = Struct(">hiqqqhii")
_INT32: Final = Struct(">i")
_UINT32: Final = Struct(">I")
_CONTROL_KEY: Final = Struct(">hh")
_CONTROL_VALUE: Final = Struct(">hi")


@mypyc_attr(acyclic=True, free_list_len=1)
class BatchHeader:
    """The fixed fields of one batch, as read; changing one changes no bytes."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "batch_length",
        "crc",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "record_count",
    )

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_in_bytes(self) -> int:
        """The whole batch on the wire, its 12 bytes of offset and length included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The last record's sequence, which wraps to 0 after 2147483647; -1 without one."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> int:
        """The codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 are nobody's."""
        return self.attributes & _COMPRESSION_MASK

    @property
    def timestamp_type(self) -> int:
        """0 CreateTime; 1 LogAppendTime: each record's timestamp is `max_timestamp`."""
        return 1 if self.attributes & _TIMESTAMP_TYPE_BIT else 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & _TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & _CONTROL_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones here may go (KIP-534); the base timestamp's field carries it."""
        return self.base_timestamp if self.attributes & _DELETE_HORIZON_BIT else None

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in _FIELDS.split())
        return f"BatchHeader({fields})"


_FIELDS: Final = (
    "base_offset batch_length partition_leader_epoch magic crc attributes last_offset_delta"
    " base_timestamp max_timestamp producer_id producer_epoch base_sequence record_count"
)


# --- reading ---------------------------------------------------------------------------------


def peek_magic(buf: Buffer, pos: int = 0) -> int | None:
    """The magic byte of the batch or message at `pos`; None when the buffer ends before it."""
    pos += MAGIC_OFFSET
    return buf[pos] if pos < len(buf) else None


def unpack_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header at `pos`, unchecked but for its 61 bytes being there (a log's own bytes)."""
    if len(buf) - pos < RECORD_BATCH_OVERHEAD:
        raise ProtocolError("the record batch ends within its header")
    header = BatchHeader()
    (
        header.base_offset,
        header.batch_length,
        header.partition_leader_epoch,
        header.magic,
        header.crc,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
    ) = _unpack(buf, pos)
    return header


def read_batch_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header of the whole batch of magic 2 that begins at `pos`."""
    header = unpack_header(buf, pos)
    if header.magic != 2:
        raise ProtocolError(f"magic {header.magic} where a batch of magic 2 should be")
    length = header.batch_length
    if length < RECORD_BATCH_OVERHEAD - LOG_OVERHEAD:
        raise ProtocolError(f"record batch of length {length}")
    if length > len(buf) - pos - LOG_OVERHEAD:
        raise ProtocolError("the record batch is cut")
    return header


def iterate_batches(buf: Buffer, pos: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch; a cut one at the end is passed over in silence.

    Mirrors ByteBufferLogInputStream.nextBatch: bytes that can begin no batch are an error, too
    few bytes are not.
    """
    size = len(buf)
    while size - pos > MAGIC_OFFSET:
        (length,) = _INT32.unpack_from(buf, pos + 8)
        if length < MIN_LEGACY_LENGTH:
            raise ProtocolError(f"record batch of length {length}")
        if buf[pos + MAGIC_OFFSET] != 2:
            raise ProtocolError(f"magic {buf[pos + MAGIC_OFFSET]} among batches of magic 2")
        if length > size - pos - LOG_OVERHEAD:
            return
        yield pos, read_batch_header(buf, pos)
        pos += length + LOG_OVERHEAD


def verify_crc(buf: Buffer, pos: int, header: BatchHeader) -> bool:
    """Whether the checksum holds over the batch's bytes, which are read in place."""
    end = pos + header.batch_length + LOG_OVERHEAD
    view = buf if isinstance(buf, memoryview) else memoryview(buf)
    return crc32c(view[pos + ATTRIBUTES_OFFSET : end]) == header.crc


def records_data(
    buf: Buffer, pos: int, header: BatchHeader, *, max_bytes: int | None = None
) -> tuple[Buffer, int, int]:
    """(buffer, start, end) of the records' bytes: in place, or decompressed into a new buffer.

    More than `max_bytes` decompressed bytes (None: `compression.MAX_DECOMPRESSED_BYTES`) raise
    `ProtocolError` before they are held.
    """
    start = pos + RECORD_BATCH_OVERHEAD
    end = pos + header.batch_length + LOG_OVERHEAD
    codec = header.attributes & _COMPRESSION_MASK
    if codec == NONE:
        return buf, start, end
    from mockbroker_protocol.records.compression import MAX_DECOMPRESSED_BYTES, decompress

    limit = MAX_DECOMPRESSED_BYTES if max_bytes is None else max_bytes
    data = decompress(codec, memoryview(buf)[start:end], max_bytes=limit)
    return data, 0, len(data)


def iterate_records(
    buf: Buffer, pos: int, header: BatchHeader, *, max_bytes: int | None = None
) -> Iterator[Record]:
    """The batch's records with absolute offsets and effective timestamps, decompressed."""
    return _decoded(header, *records_data(buf, pos, header, max_bytes=max_bytes))


def iterate_in_slices(
    buf: Buffer, header: BatchHeader
) -> Generator[object, None, Iterator[Record]]:
    """As `iterate_records` of a batch that was checked once; it is decompressed in slices."""
    if not header.compression:
        return iterate_records(buf, 0, header)
    from mockbroker_protocol.records.compression import inflate

    data = memoryview(buf)[RECORD_BATCH_OVERHEAD : header.batch_length + LOG_OVERHEAD]
    inflated = yield from inflate(header.compression, data, lambda _: None)
    return _decoded(header, inflated, 0, len(inflated))


def _decoded(header: BatchHeader, data: Buffer, start: int, end: int) -> Iterator[Record]:
    append_time = header.max_timestamp if header.attributes & _TIMESTAMP_TYPE_BIT else None
    return record_codec.decode_records(
        data,
        start,
        end,
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        append_time,
    )


def count_records(
    buf: Buffer, pos: int, header: BatchHeader, *, max_bytes: int | None = None
) -> int:
    """How many records there really are, hopping over their lengths alone."""
    data, start, end = records_data(buf, pos, header, max_bytes=max_bytes)
    return record_codec.count_records(data, start, end)


def scan_records(
    buf: Buffer,
    pos: int,
    header: BatchHeader,
    *,
    earliest_ms: int | None = None,
    latest_ms: int | None = None,
    max_bytes: int | None = None,
) -> RecordScan:
    """Walk and check every record: count, keys, offsets, timestamps; see `RecordScan`."""
    data, start, end = records_data(buf, pos, header, max_bytes=max_bytes)
    return record_codec.scan_records(
        data, start, end, header.base_timestamp, earliest_ms=earliest_ms, latest_ms=latest_ms
    )


# --- building --------------------------------------------------------------------------------


def build_batch(
    records: Sequence[Record],
    *,
    compression: int = NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """One batch of `records`, whose offsets are absolute and ascending."""
    header = BatchHeader()
    header.base_offset = records[0].offset
    header.last_offset_delta = records[-1].offset - header.base_offset
    header.partition_leader_epoch = partition_leader_epoch
    header.base_timestamp = records[0].timestamp
    header.max_timestamp = max([record.timestamp for record in records])
    header.attributes = (
        compression
        | (_TRANSACTIONAL_BIT if transactional else 0)
        | (_CONTROL_BIT if control else 0)
    )
    header.producer_id = producer_id
    header.producer_epoch = producer_epoch
    header.base_sequence = base_sequence
    return _assemble(records, header, None)


def rebuild_batch(
    records: Sequence[Record],
    of: BatchHeader,
    *,
    keep_offsets: bool = False,
    compression: int = NONE,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """A batch of `records` in place of the one with the header `of`: its producer, its flags.

    Offsets are those of the first and last record unless `keep_offsets`, as compaction wants it:
    then `records` may be empty. With `log_append_time_ms` (LogAppendTime) that is the batch's max
    timestamp, and readers see it for every record.
    """
    header = _in_place_of(of, compression, log_append_time_ms)
    header.base_offset = of.base_offset if keep_offsets else records[0].offset
    last_offset = of.last_offset if keep_offsets else records[-1].offset
    header.last_offset_delta = last_offset - header.base_offset
    header.base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if log_append_time_ms is None:
        header.max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if delete_horizon_ms is not None:
        header.base_timestamp = delete_horizon_ms
        header.attributes |= _DELETE_HORIZON_BIT
    return _assemble(records, header, None)


def recode_in_slices(
    data: Buffer,
    of: BatchHeader,
    *,
    compression: int = NONE,
    compression_level: int | None = None,
    log_append_time_ms: int | None = None,
) -> Generator[object, None, bytes | None]:
    """The records that are `data`, of a batch with the header `of`, in another codec, in slices.

    Their offsets are 0, 1, 2, … then. None for a timestamp below -1, which MemoryRecordsBuilder
    does not take.
    """
    header = _in_place_of(of, compression, log_append_time_ms)
    data = bytes(data)
    yield None
    decoding = _decoded(of, data, 0, len(data))
    pieces: list[bytes] = []
    count = size_bytes = 0
    newest = header.max_timestamp
    while some := list(islice(decoding, RECODED_AT_ONCE)):
        yield None  # a record alone may be large
        if not count:
            header.base_timestamp = some[0].timestamp
        for record in some:
            record.offset = count
            count += 1
            if record.timestamp < NO_TIMESTAMP:
                return None
            newest = max(newest, record.timestamp)
        encoded = record_codec.encode_each(some, 0, header.base_timestamp)
        size = sum(map(len, encoded))
        size_bytes += size
        pieces += encoded if size > PACKED_AT_ONCE_BYTES else [b"".join(encoded)]
        del some, encoded
        yield None
    header.base_offset, header.last_offset_delta = 0, count - 1
    if log_append_time_ms is None:
        header.max_timestamp = newest
    packing = Aside(partial(_packed, header, pieces, count, compression_level))
    if size_bytes > PACKED_AT_ONCE_BYTES:
        yield packing
    return packing.result()


def _in_place_of(of: BatchHeader, compression: int, log_append_time_ms: int | None) -> BatchHeader:
    """What such a batch has of the other."""
    header = BatchHeader()
    header.partition_leader_epoch = of.partition_leader_epoch
    header.max_timestamp = NO_TIMESTAMP
    header.attributes = compression | of.attributes & (_TRANSACTIONAL_BIT | _CONTROL_BIT)
    if log_append_time_ms is not None:
        header.max_timestamp = log_append_time_ms
        header.attributes |= _TIMESTAMP_TYPE_BIT
    header.producer_id = of.producer_id
    header.producer_epoch = of.producer_epoch
    header.base_sequence = of.base_sequence
    return header


def thinned_batch(of: BatchHeader, pieces: Sequence[Buffer], count: int, last_offset: int) -> bytes:
    """The batch with the header `of` and only `count` of its records, as their bytes lie in it.

    Each piece is one record or several. The batch is uncompressed, and reaches to `last_offset`;
    base offset, timestamps, producer and flags stay, so that the records' deltas count as before.
    """
    header = BatchHeader()
    header.base_offset = of.base_offset
    header.last_offset_delta = last_offset - of.base_offset
    header.partition_leader_epoch = of.partition_leader_epoch
    header.base_timestamp = of.base_timestamp
    header.max_timestamp = of.max_timestamp
    header.attributes = of.attributes & ~_COMPRESSION_MASK
    header.producer_id = of.producer_id
    header.producer_epoch = of.producer_epoch
    header.base_sequence = of.base_sequence
    return _assembled(header, b"".join(pieces), count)


def cover_batch(first_offset: int, last_offset: int, leader_epoch: int) -> bytes:
    """A batch without records that takes readers over offsets, as Kafka's log cleaner leaves it."""
    header = BatchHeader()
    header.base_offset = first_offset
    header.last_offset_delta = last_offset - first_offset
    header.partition_leader_epoch = leader_epoch
    header.base_timestamp = header.max_timestamp = NO_TIMESTAMP
    header.attributes = NONE
    header.producer_id, header.producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
    header.base_sequence = NO_SEQUENCE
    return _assembled(header, b"", 0)


def _assemble(records: Sequence[Record], header: BatchHeader, level: int | None) -> bytes:
    """The batch, with the length, count and checksum that `header` lacks."""
    data = record_codec.encode_records(records, header.base_offset, header.base_timestamp)
    return _packed(header, [data], len(records), level)


def _packed(header: BatchHeader, pieces: list[bytes], count: int, level: int | None) -> bytes:
    data = b"".join(pieces)
    if header.compression != NONE:
        from mockbroker_protocol.records.compression import compress

        data = compress(header.compression, data, level=level)
    return _assembled(header, data, count)


def _assembled(header: BatchHeader, data: bytes, count: int) -> bytes:
    """The same for `count` records whose bytes are `data`."""
    checked = _AFTER_CRC.pack(
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        count,
    )
    length = RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(data)
    prefix = _BEFORE_CRC.pack(header.base_offset, length, header.partition_leader_epoch, 2)
    return b"".join((prefix, _UINT32.pack(crc32c(data, crc32c(checked))), checked, data))


def control_batch(
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
    *,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """The 78 bytes of a transaction marker (EndTransactionMarker, KIP-98)."""
    key = _CONTROL_KEY.pack(0, CONTROL_COMMIT if commit else CONTROL_ABORT)
    value = _CONTROL_VALUE.pack(0, coordinator_epoch)
    return build_batch(
        (Record(base_offset, timestamp_ms, key, value),),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        partition_leader_epoch=partition_leader_epoch,
    )


def parse_control_record(record: Record) -> tuple[int, int]:
    """(type, coordinator epoch) of a marker: type 0 abort, 1 commit; others have epoch -1.

    Later versions may append fields to key and value, so longer ones are read too.
    """
    key, value = record.key, record.value
    if key is None or len(key) < _CONTROL_KEY.size:
        raise ProtocolError("control record without a type")
    version, kind = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise ProtocolError(f"control record of version {version}")
    if kind not in (CONTROL_ABORT, CONTROL_COMMIT):
        return kind, -1
    if value is None or len(value) < _CONTROL_VALUE.size:
        raise ProtocolError("transaction marker without a coordinator epoch")
    return kind, _CONTROL_VALUE.unpack_from(value)[1]


# --- new headers --------------------------------------------------------------------------------


def patched_header(
    buf: Buffer,
    pos: int,
    header: BatchHeader,
    *,
    base_offset: int,
    leader_epoch: int,
    timestamp_type: int | None = None,
    max_timestamp: int | None = None,
) -> bytes:
    """The 61 bytes of a new header for the batch at `pos`, so that its records stay uncopied.

    `header` takes the new values too. The checksum is computed again, over the records where they
    lie, only if a timestamp field that it covers changed.
    """
    header.base_offset = base_offset
    header.partition_leader_epoch = leader_epoch
    attributes, newest = header.attributes, header.max_timestamp
    if timestamp_type is not None:
        header.attributes = _with_timestamp_type(attributes, timestamp_type)
    if max_timestamp is not None:
        header.max_timestamp = max_timestamp
    packed = pack_header(header)
    if header.attributes == attributes and header.max_timestamp == newest:
        return packed
    end = pos + header.batch_length + LOG_OVERHEAD
    records = memoryview(buf)[pos + RECORD_BATCH_OVERHEAD : end]
    header.crc = crc32c(records, crc32c(packed[ATTRIBUTES_OFFSET:]))
    return pack_header(header)


def pack_header(header: BatchHeader) -> bytes:
    """The header's 61 bytes, checksum as it stands in the object."""
    return _HEADER.pack(
        header.base_offset,
        header.batch_length,
        header.partition_leader_epoch,
        header.magic,
        header.crc,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
    )


def _with_timestamp_type(attributes: int, timestamp_type: int) -> int:
    cleared = attributes & ~_TIMESTAMP_TYPE_BIT
    return cleared | _TIMESTAMP_TYPE_BIT if timestamp_type == LOG_APPEND_TIME else cleared
