"""The record of magic 2: fields of variable length inside a batch (KIP-82, KIP-98).

`batch` calls this with the bytes of a batch's records, already decompressed. Three ways to read
them, from cheap to dear: `count_records` hops over lengths, `scan_records` checks each field and
makes no objects (what Kafka's LogValidator needs to know of uncompressed records), and
`decode_records` makes `Record`s. Bad bytes raise `ProtocolError` and nothing else.

A record is: length varint, attributes int8, timestamp delta varlong, offset delta varint, key
length varint, key, value length varint, value, header count varint, and for each header its key
and value in the same way. All varints are zigzag; a negative length means null, as in
DefaultRecord.readFrom.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.native import mypyc_attr
from mockbroker_protocol.records.record_places import varint_tail, varlong_tail

Buffer = bytes | bytearray | memoryview

NO_TIMESTAMP: Final = -1
# The length byte and six fields of one byte each.
MIN_RECORD_BYTES: Final = 7
# In one slice of `scan_in_slices`.
SCANNED_AT_ONCE = 4096

_MIN_INT64: Final = -1 << 63
_MAX_INT64: Final = (1 << 63) - 1
# An offset delta has 32 bits, so that offsets from such a base cannot overflow.
_MIN_BASE_OFFSET: Final = _MIN_INT64 + (1 << 31)
_MAX_BASE_OFFSET: Final = _MAX_INT64 - (1 << 31)
_INT64_MASK: Final = 0xFFFFFFFFFFFFFFFF
_SURELY_FITS: Final = 1 << 61
"""What lies within needs no arithmetic beyond a machine word, and no look at its limits."""
_BEFORE_ALL: Final = -1 << 64  # less than any timestamp delta
_NO_INDEXES: Final[list[int]] = []
"""Nothing is added to it."""
_ONE_BYTE: Final = tuple(bytes((n,)) for n in range(128))


@mypyc_attr(acyclic=True)
class Record:  # noqa: PLW1641 -- what is compared has no hash
    """One record; `offset` is absolute, `timestamp` in epoch milliseconds or -1."""

    __slots__ = ("headers", "key", "offset", "timestamp", "value")

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

    def __init__(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.offset == other.offset
            and self.timestamp == other.timestamp
            and self.key == other.key
            and self.value == other.value
            and list(self.headers) == list(other.headers)
        )

    def __repr__(self) -> str:
        return (
            f"Record(offset={self.offset}, timestamp={self.timestamp}, key={self.key!r}, "
            f"value={self.value!r}, headers={list(self.headers)!r})"
        )


@mypyc_attr(acyclic=True, free_list_len=1)
class RecordScan:
    """What `scan_records` saw; indexes count from 0 within the batch."""

    __slots__ = (
        "count",
        "keyless",
        "max_delta",
        "max_timestamp",
        "max_timestamp_index",
        "sequential",
        "untimely",
    )

    count: int
    max_timestamp: int  # -1 when there is no record
    max_timestamp_index: int  # of the first record that carries it, -1 when there is none
    sequential: bool  # offset deltas are 0, 1, 2, …
    keyless: list[int] | None  # records without a key; None: nobody asked
    untimely: list[int]  # records whose timestamp lies outside the limits asked for

    def __init__(self, keys: bool = True) -> None:
        self.count = 0
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_index = -1
        self.max_delta = _BEFORE_ALL  # as far as it went: what comes next in the batch goes on here
        self.sequential = True
        self.keyless = [] if keys else None
        self.untimely = _NO_INDEXES


def count_records(buf: Buffer, pos: int, end: int) -> int:
    """How many records lie in buf[pos:end], by their lengths alone."""
    if end > len(buf):
        raise ProtocolError("the records end behind their buffer")
    count = 0
    try:
        while pos < end:
            size = buf[pos]
            pos += 1
            if size >= 0x80:
                more = buf[pos]
                if more < 0x80:
                    size = size & 0x7F | more << 7
                    pos += 1
                else:
                    size, pos = varint_tail(buf, pos, size)
            if size & 1:
                raise ProtocolError("record of negative length")
            pos += size >> 1
            count += 1
    except IndexError:
        raise ProtocolError("records end within a length") from None
    if pos != end:
        raise ProtocolError("the last record is cut")
    return count


def scan_records(
    buf: Buffer,
    pos: int,
    end: int,
    base_timestamp: int,
    *,
    earliest_ms: int | None = None,
    latest_ms: int | None = None,
    keys: bool = True,
) -> RecordScan:
    """Check every field of every record in buf[pos:end] without making an object of any.

    `earliest_ms` and `latest_ms` are the timestamps still allowed; NO_TIMESTAMP always is, as in
    LogValidator.validateTimestamp. `keys`: records without a key are told.
    """
    if end > len(buf):
        raise ProtocolError("the records end behind their buffer")
    scan = RecordScan(keys)
    low = _BEFORE_ALL if earliest_ms is None else earliest_ms - base_timestamp
    high = -_BEFORE_ALL if latest_ms is None else latest_ms - base_timestamp
    try:
        if not isinstance(buf, bytes) or end < len(buf):
            buf, pos = bytes(buf[pos:end]), 0
        _scan(buf, pos, scan, base_timestamp, low, high)
    except IndexError:
        raise ProtocolError("a record is cut") from None
    return scan


def scan_in_slices(
    buf: Buffer,
    pos: int,
    end: int,
    base_timestamp: int,
    most: int,
    *,
    earliest_ms: int | None = None,
    latest_ms: int | None = None,
    keys: bool = True,
) -> Generator[None, None, RecordScan]:
    """As `scan_records`; yields after each SCANNED_AT_ONCE records.

    ProtocolError when there are more than `most`, before the others are looked at.
    """
    scan = RecordScan(keys)
    low = _BEFORE_ALL if earliest_ms is None else earliest_ms - base_timestamp
    high = -_BEFORE_ALL if latest_ms is None else latest_ms - base_timestamp
    try:
        while pos < end:
            stop = end
            if end - pos > SCANNED_AT_ONCE * MIN_RECORD_BYTES:
                stop = _end_of_records(buf, pos, end, SCANNED_AT_ONCE)
            _scan(bytes(buf[pos:stop]), 0, scan, base_timestamp, low, high)
            pos = stop
            if scan.count > most:
                raise ProtocolError(f"more records than the {most} that the batch tells of")
            if pos < end:
                yield
    except IndexError:
        raise ProtocolError("a record is cut") from None
    return scan


def _end_of_records(buf: Buffer, pos: int, end: int, most: int) -> int:
    """Where the first `most` records end, by their lengths, or all of them."""
    for _ in range(most):
        size = buf[pos]
        pos += 1
        if size >= 0x80:
            size, pos = varint_tail(buf, pos, size)
        if size & 1:
            raise ProtocolError("record of negative length")
        pos += size >> 1
        if pos >= end:
            return end
    return pos


def check_first_record(buf: Buffer) -> None:
    """ProtocolError if the record at the beginning of these bytes is bad, as far as it is there."""
    if not buf:
        return
    size, pos = buf[0], 1
    if size >= 0x80:
        size, pos = varint_tail(buf, pos, size)
    if size & 1 or not size:
        raise ProtocolError("a record of a length that it cannot have")
    if pos + (size >> 1) <= len(buf):
        scan_records(buf, 0, pos + (size >> 1), 0)


def _scan(  # noqa: C901 -- only what is rare is called
    buf: bytes, pos: int, scan: RecordScan, base_timestamp: int, low: int, high: int
) -> None:
    """The hot loop of `scan_records`, from `pos` on; `low` and `high` limit the timestamp deltas.

    The offset delta that is due is known beforehand, and so where the next two fields begin.
    """
    end = len(buf)
    index, max_delta, keyless = scan.count, scan.max_delta, scan.keyless
    surely_timely = max(low, -_SURELY_FITS)  # to compare with a larger one takes long
    while pos < end:
        size = buf[pos]
        pos += 1
        if size >= 0x80:
            more = buf[pos]
            if more < 0x80:
                size = size & 0x7F | more << 7
                pos += 1
            else:
                size, pos = varint_tail(buf, pos, size)
        stop = pos + (size >> 1)
        delta = buf[pos + 1]
        pos += 2
        if delta >= 0x80:
            delta, pos = varlong_tail(buf, pos, delta)
        if size & 1 or stop > end or stop < pos + 4:
            raise ProtocolError("a record of a length that it cannot have")
        delta = ~delta >> 1 if delta & 1 else delta >> 1
        if delta > max_delta:
            max_delta = delta
            scan.max_timestamp_index = index
        if (
            not surely_timely <= delta <= high
            and not low <= delta <= high
            and base_timestamp + delta != NO_TIMESTAMP
        ):
            _note_untimely(scan, index)
        if index < 64:
            is_due = buf[pos] == index << 1
            key, size = buf[pos + 1], buf[pos + 2]
            pos += 3
        else:
            is_due = (
                index < 8192 and buf[pos] == index << 1 & 0x7F | 0x80 and buf[pos + 1] == index >> 6
            )
            key, size = buf[pos + 2], buf[pos + 3]
            pos += 4
        if is_due and key < 0x80:
            if key & 1:
                if keyless is not None:
                    keyless.append(index)
            elif key:
                pos += key >> 1
                size = buf[pos - 1]
        else:
            size, pos = _walk_to_value(buf, pos - (3 if index < 64 else 4), index, scan)
        if size >= 0x80:
            size, pos = varint_tail(buf, pos, size)
        if not size & 1:
            pos += size >> 1
        if buf[pos]:
            pos = _skip_headers(buf, pos, stop)
        pos += 1
        if pos != stop:
            raise ProtocolError("a record's fields do not fill it")
        index += 1
    scan.count = index
    scan.max_delta = max_delta
    if index:
        scan.max_timestamp = _wrapped(base_timestamp + max_delta)


def _note_untimely(scan: RecordScan, index: int) -> None:
    if scan.untimely is _NO_INDEXES:
        scan.untimely = []
    scan.untimely.append(index)


def decode_records(
    buf: Buffer,
    pos: int,
    end: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    log_append_time: int | None = None,
) -> Iterator[Record]:
    """The `count` records that fill buf[pos:end]; `log_append_time` overrides their timestamps.

    A timestamp beyond 64 bits wraps, as Java's arithmetic does; an offset there is an error.
    """
    data = bytes(buf[pos:end])
    end -= pos
    pos = 0
    _check_room(count, end, base_offset)
    try:
        for _ in range(count):
            size = data[pos]
            pos += 1
            if size >= 0x80:
                size, pos = varint_tail(data, pos, size)
            stop = pos + (size >> 1)
            if size & 1 or stop > end:
                raise ProtocolError("a record is longer than its batch")
            timestamp = data[pos + 1]
            pos += 2
            if timestamp >= 0x80:
                timestamp, pos = varlong_tail(data, pos, timestamp)
            timestamp = base_timestamp + ((timestamp >> 1) ^ -(timestamp & 1))
            if not _MIN_INT64 <= timestamp <= _MAX_INT64:
                timestamp = _wrapped(timestamp)
            offset = data[pos]
            pos += 1
            if offset >= 0x80:
                offset, pos = varint_tail(data, pos, offset)
            offset = (offset >> 1) ^ -(offset & 1)
            key, pos = _nullable_bytes(data, pos)
            value, pos = _nullable_bytes(data, pos)
            headers: Sequence[tuple[str, bytes | None]] = ()
            size = data[pos]
            pos += 1
            if size:
                headers, pos = _decode_headers(data, pos, size, stop)
            if pos != stop:
                raise ProtocolError("a record's fields do not fill it")
            yield Record(
                base_offset + offset,
                timestamp if log_append_time is None else log_append_time,
                key,
                value,
                headers,
            )
    except IndexError:
        raise ProtocolError("a record is cut") from None
    if pos != end:
        raise ProtocolError("bytes follow the last record of the batch")


def _check_room(count: int, size: int, base_offset: int) -> None:
    if count < 0 or count * MIN_RECORD_BYTES > size:
        raise ProtocolError(f"{count} records cannot lie in {size} bytes")
    if not _MIN_BASE_OFFSET <= base_offset <= _MAX_BASE_OFFSET:
        raise ProtocolError(f"offsets from {base_offset} on leave 64 bits")


def encode_records(records: Iterable[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The bytes of `records`, as deltas to the batch's base offset and base timestamp."""
    return b"".join(encode_each(records, base_offset, base_timestamp))


def encode_each(records: Iterable[Record], base_offset: int, base_timestamp: int) -> list[bytes]:
    """The same, each record in pieces of its own."""
    pieces: list[bytes] = []
    for record in records:
        delta = record.timestamp - base_timestamp
        body = [
            b"\0",
            varint(delta if _MIN_INT64 <= delta <= _MAX_INT64 else _wrapped(delta)),
            varint(record.offset - base_offset),
        ]
        _encode_nullable(body, record.key)
        _encode_nullable(body, record.value)
        body.append(varint(len(record.headers)))
        for name, value in record.headers:
            _encode_nullable(body, name.encode())
            _encode_nullable(body, value)
        joined = b"".join(body)
        pieces.append(varint(len(joined)))
        pieces.append(joined)
    return pieces


def varint(value: int) -> bytes:
    """`value` as a zigzag varint (or varlong: the bytes are the same)."""
    value = value << 1 if value >= 0 else ~(value << 1)
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encode_nullable(body: list[bytes], data: bytes | None) -> None:
    if data is None:
        body.append(b"\1")
    else:
        body.append(varint(len(data)))
        body.append(data)


def _wrapped(value: int) -> int:
    """`value` as Java's 64-bit arithmetic would have it."""
    if -_SURELY_FITS < value < _SURELY_FITS:
        return value
    return ((value - _MIN_INT64) & _INT64_MASK) + _MIN_INT64


def _nullable_bytes(data: bytes, pos: int) -> tuple[bytes | None, int]:
    size = data[pos]
    pos += 1
    if size >= 0x80:
        size, pos = varint_tail(data, pos, size)
    if size & 1:
        return None, pos
    stop = pos + (size >> 1)
    return data[pos:stop], stop


def _walk_to_value(buf: Buffer, pos: int, index: int, scan: RecordScan) -> tuple[int, int]:
    """Read offset delta and key however long they are; first byte of value length, position."""
    offset = buf[pos]
    pos += 1
    if offset >= 0x80:
        offset, pos = varint_tail(buf, pos, offset)
    if offset != index << 1:
        scan.sequential = False
    size = buf[pos]
    pos += 1
    if size >= 0x80:
        size, pos = varint_tail(buf, pos, size)
    if not size & 1:
        pos += size >> 1
    elif scan.keyless is not None:
        scan.keyless.append(index)
    return buf[pos], pos + 1


def _header_count(buf: Buffer, pos: int, first: int, stop: int) -> tuple[int, int]:
    if first >= 0x80:
        first, pos = varint_tail(buf, pos, first)
    # Each header takes two bytes at least, so a wild count is refused before it costs anything.
    if first & 1 or first > stop - pos:
        raise ProtocolError("absurd header count")
    return first >> 1, pos


def _skip_headers(buf: Buffer, pos: int, stop: int) -> int:
    """Walk the headers whose count is at `pos`; the position of the last byte that is theirs."""
    count, pos = _header_count(buf, pos + 1, buf[pos], stop)
    for _ in range(count):
        for nullable in (False, True):
            size = buf[pos]
            pos += 1
            if size >= 0x80:
                size, pos = varint_tail(buf, pos, size)
            if not size & 1:
                pos += size >> 1
            elif not nullable:
                raise ProtocolError("header without a key")
    return pos - 1


def _decode_headers(
    data: bytes, pos: int, first: int, stop: int
) -> tuple[list[tuple[str, bytes | None]], int]:
    count, pos = _header_count(data, pos, first, stop)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, pos = _nullable_bytes(data, pos)
        if name is None:
            raise ProtocolError("header without a key")
        value, pos = _nullable_bytes(data, pos)
        # Kafka's Utils.utf8 puts U+FFFD for what is not UTF-8; so a header key is never an error.
        headers.append((name.decode("utf-8", "replace"), value))
    return headers, pos
