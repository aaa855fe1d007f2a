"""Where the records of a batch lie, and the varints in them that have more than a byte.

Both are run for each record that a filter looks at, and are compiled (see `scripts/compile`).
"""

from __future__ import annotations

from typing import Final

from mockbroker_protocol.errors import ProtocolError

Buffer = bytes | bytearray | memoryview

_INT32_MASK: Final = (1 << 32) - 1
_INT64_MASK: Final = (1 << 64) - 1


def locate_records(
    data: bytes, pos: int, end: int, count: int
) -> tuple[list[int], list[int], list[bytes | None]]:
    """Where the `count` records that fill data[pos:end] begin, and `end`; offset deltas; keys.

    Nothing behind the key is looked at: for those who keep some records as they are.
    """
    edges, deltas, keys = [pos], [], []
    try:
        for _ in range(count):
            size = data[pos]
            pos += 1
            if size >= 0x80:
                more = data[pos]
                if more < 0x80:
                    size = size & 0x7F | more << 7
                    pos += 1
                else:
                    size, pos = varint_tail(data, pos, size)
            stop = pos + (size >> 1)
            if size & 1 or stop > end:
                raise ProtocolError("a record is longer than its batch")
            timestamp = data[pos + 1]
            pos += 2
            if timestamp >= 0x80:
                _, pos = varlong_tail(data, pos, timestamp)
            offset = data[pos]
            pos += 1
            if offset >= 0x80:
                more = data[pos]
                if more < 0x80:
                    offset = offset & 0x7F | more << 7
                    pos += 1
                else:
                    offset, pos = varint_tail(data, pos, offset)
            deltas.append((offset >> 1) ^ -(offset & 1))
            size = data[pos]
            pos += 1
            if size >= 0x80:
                size, pos = varint_tail(data, pos, size)
            keys.append(None if size & 1 else data[pos : pos + (size >> 1)])
            edges.append(stop)
            pos = stop
    except IndexError:
        raise ProtocolError("a record is cut") from None
    if pos != end:
        raise ProtocolError("bytes follow the last record of the batch")
    return edges, deltas, keys


def varint_tail(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """The rest of a varint of 32 bits whose first byte said that there is more; zigzag is kept."""
    byte = buf[pos]
    if byte < 0x80:
        return first & 0x7F | byte << 7, pos + 1
    value = first & 0x7F | (byte & 0x7F) << 7
    for shift in (14, 21, 28):
        pos += 1
        byte = buf[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _INT32_MASK, pos + 1
    raise ProtocolError("varint of more than five bytes")


def varlong_tail(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """As `varint_tail`, for 64 bits: ten bytes at the most."""
    value = first & 0x7F
    shift = 7
    while shift < 70:
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _INT64_MASK, pos
        shift += 7
    raise ProtocolError("varlong of more than ten bytes")
