"""Counts the records of an uncompressed batch as fast as Python can.

The validator calls this for every batch whose header says that no record can break a rule of the
topic. The first record, and each record of a tiny batch, is checked field by field: that shows when
a producer's encoder is broken. The others are hopped over by their lengths alone.

Producers often write records of one size. Then the length at the front of each repeats at a fixed
stride, and a slice with that stride shows at once how far the repetition goes: if the first of
two neighbours is as long as the stride, the second begins where the slice looked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records.record_codec import scan_records

if TYPE_CHECKING:
    from mockbroker.log.results import Buffer

SMALL_BATCH_BYTES = 189
"""Smaller batches, header and all, are walked record by record: it costs no more."""
_SMALL_RECORDS_BYTES = SMALL_BATCH_BYTES - 61
_FIRST_STRIDES: Final = 16
_MOST_STRIDES: Final = 4096
_RECORDS_BETWEEN_GUESSES: Final = 32
_MOST_RECORDS_BETWEEN_GUESSES: Final = 4096


def count_records(data: Buffer, pos: int, end: int) -> int:
    """How many records fill data[pos:end]; `ProtocolError` if they do not fill it exactly."""
    if end - pos < _SMALL_RECORDS_BYTES:
        return scan_records(data, pos, end, 0, keys=False).count
    count = 0
    strides = _FIRST_STRIDES
    pause = _RECORDS_BETWEEN_GUESSES
    next_guess = 1
    try:
        while pos < end:
            start = pos
            size = data[pos]
            pos += 1
            if size >= 0x80:
                byte = data[pos]
                pos += 1
                size += (byte - 1) << 7
                if byte >= 0x80:
                    size, pos = _long_length(data, start)
            if size & 1:
                raise ProtocolError("record of negative length")
            length_bytes = pos - start
            pos += size >> 1
            count += 1
            if count < next_guess:
                continue
            if count == 1:
                scan_records(data, start, min(pos, end), 0, keys=False)
            stride = pos - start
            strides = min(strides, (end - start) // stride)
            if strides < _FIRST_STRIDES:
                next_guess = count + pause
                strides = _FIRST_STRIDES
                continue
            same = _repetitions(data, start, stride, length_bytes, strides)
            count += same - 1
            pos = start + same * stride
            if same == strides:
                strides = min(4 * strides, _MOST_STRIDES)
                next_guess = count + 1
            else:
                pause = (
                    _RECORDS_BETWEEN_GUESSES // 8
                    if same >= _FIRST_STRIDES // 2
                    else min(2 * pause, _MOST_RECORDS_BETWEEN_GUESSES)
                )
                strides = _FIRST_STRIDES
                next_guess = count + pause
    except IndexError:
        raise ProtocolError("records end within a length") from None
    if pos != end:
        raise ProtocolError("the last record is cut")
    return count


def check_record_sizes(data: Buffer, pos: int, end: int, max_bytes: int) -> None:
    """`ProtocolError` if one of the sound records in data[pos:end] is larger than `max_bytes`.

    The length in front of a record is not counted (max.decompressed.message.bytes).
    """
    while pos < end:
        size, shift, byte = 0, 0, 0x80
        while byte >= 0x80:
            byte = data[pos]
            size |= (byte & 0x7F) << shift
            shift += 7
            pos += 1
        size >>= 1
        if size > max_bytes:
            raise ProtocolError(f"a record of {size} bytes, of which {max_bytes} are allowed")
        pos += size


def _repetitions(data: Buffer, start: int, stride: int, length_bytes: int, strides: int) -> int:
    """How many records from `start` on begin with the same length, of `strides` at the most."""
    same = strides
    for column in range(start, start + length_bytes):
        found = bytes(data[column : column + (same - 1) * stride + 1 : stride])
        same -= len(found.lstrip(found[:1]))
    return same


def _long_length(data: Buffer, pos: int) -> tuple[int, int]:
    """A zigzag length of three to five bytes, still in zigzag, and where it ends."""
    value = 0
    for shift in (0, 7, 14, 21, 28):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, pos
    raise ProtocolError("varint of more than five bytes")
