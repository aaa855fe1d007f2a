"""Kafka's variable-length encodings, for code written by hand beside the compiled plans.

Readers take `(buf, pos)` and return `(value, next_pos)`; they raise ProtocolError when the bytes
end too early or make no sense, and nothing else. Writers return bytes. `buf` may be bytes, a
bytearray or a memoryview of bytes. Fixed-width fields need no room here: use `struct`.
Source: org.apache.kafka.common.utils.ByteUtils, common.protocol.Readable and Writable.
"""

from __future__ import annotations

from binascii import b2a_base64
from typing import Final

from mockbroker_protocol.errors import ProtocolError

Buffer = bytes | bytearray | memoryview
"""What the codec reads from and writes: one-dimensional, made of bytes."""

ZERO_UUID: Final = bytes(16)
MAX_STRING_BYTES: Final = 0x7FFF
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_ONE_BYTE: Final = tuple(bytes((n,)) for n in range(128))


def read_uvarint(buf: Buffer, pos: int) -> tuple[int, int]:
    """Unsigned varint of at most 32 bits (ByteUtils.readUnsignedVarint)."""
    try:
        value = buf[pos]
    except IndexError:
        raise ProtocolError("truncated varint") from None
    if value < 128:
        return value, pos + 1
    return read_uvarint_tail(buf, pos + 1, value)


def read_uvarint_tail(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte, already read, is `first` (≥ 128)."""
    value = first & 0x7F
    try:
        byte = buf[pos]
        pos += 1
        if byte < 128:
            return value | byte << 7, pos
        value |= (byte & 0x7F) << 7
        for shift in (14, 21, 28):
            byte = buf[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 128:
                return value & 0xFFFFFFFF, pos
    except IndexError:
        raise ProtocolError("truncated varint") from None
    raise ProtocolError("varint is longer than five bytes")


def write_uvarint(value: int) -> bytes:
    """Encode 0 ≤ value; one byte below 128."""
    if value < 128:
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_string(buf: Buffer, pos: int) -> tuple[str, int]:
    """STRING: int16 length, UTF-8 (see `decode_text`); null is an error."""
    value, pos = read_nullable_string(buf, pos)
    if value is None:
        raise ProtocolError("null string where null is not allowed")
    return value, pos


def read_nullable_string(buf: Buffer, pos: int) -> tuple[str | None, int]:
    """NULLABLE_STRING: a negative length is null."""
    length, pos = read_int16(buf, pos)
    if length < 0:
        return None, pos
    return _utf8(buf, pos, length), pos + length


def read_compact_string(buf: Buffer, pos: int) -> tuple[str, int]:
    """COMPACT_STRING: uvarint length + 1, UTF-8; null is an error."""
    value, pos = read_compact_nullable_string(buf, pos)
    if value is None:
        raise ProtocolError("null string where null is not allowed")
    return value, pos


def read_compact_nullable_string(buf: Buffer, pos: int) -> tuple[str | None, int]:
    """COMPACT_NULLABLE_STRING: zero is null."""
    length, pos = read_uvarint(buf, pos)
    if length == 0:
        return None, pos
    if length > MAX_STRING_BYTES + 1:
        raise ProtocolError(f"string of {length - 1} bytes is longer than {MAX_STRING_BYTES}")
    return _utf8(buf, pos, length - 1), pos + length - 1


def read_bytes(buf: Buffer, pos: int) -> tuple[bytes | None, int]:
    """NULLABLE_BYTES: int32 length, negative is null."""
    end = pos + 4
    if end > len(buf):
        raise ProtocolError("truncated length of bytes")
    length = int.from_bytes(buf[pos:end], "big", signed=True)
    if length < 0:
        return None, end
    return take(buf, end, length), end + length


def read_int16(buf: Buffer, pos: int) -> tuple[int, int]:
    """INT16, big-endian."""
    end = pos + 2
    if end > len(buf):
        raise ProtocolError("truncated int16")
    return int.from_bytes(buf[pos:end], "big", signed=True), end


def take(buf: Buffer, pos: int, length: int) -> bytes:
    """Exactly `length` bytes at `pos`, copied."""
    end = pos + length
    if end > len(buf):
        raise ProtocolError(f"{length} bytes wanted, {max(0, len(buf) - pos)} left")
    return bytes(buf[pos:end])


def read_tags(buf: Buffer, pos: int) -> tuple[dict[int, bytes] | None, int]:
    """A tag section of which no tag is known; None when it is empty.

    Unordered tags are accepted, and of a repeated one the last counts, as in Kafka.
    """
    count, pos = read_uvarint(buf, pos)
    if count == 0:
        return None, pos
    tags: dict[int, bytes] = {}
    for _ in range(count):
        tag, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        tags[tag] = take(buf, pos, size)
        pos += size
    return tags, pos


def write_tags(tags: dict[int, bytes] | None) -> bytes:
    """A tag section, in ascending order as every Kafka writer emits it."""
    if not tags:
        return b"\0"
    out = [write_uvarint(len(tags))]
    for tag in sorted(tags):
        out += (write_uvarint(tag), write_uvarint(len(tags[tag])), tags[tag])
    return b"".join(out)


def write_string(value: str) -> bytes:
    """STRING; ValueError when longer than 32767 bytes."""
    raw = value.encode()
    if len(raw) > MAX_STRING_BYTES:
        raise ValueError(f"string of {len(raw)} bytes is longer than {MAX_STRING_BYTES}")
    return len(raw).to_bytes(2, "big") + raw


def write_nullable_string(value: str | None) -> bytes:
    """NULLABLE_STRING."""
    return b"\xff\xff" if value is None else write_string(value)


def write_compact_string(value: str | None) -> bytes:
    """COMPACT_STRING and COMPACT_NULLABLE_STRING."""
    if value is None:
        return b"\0"
    raw = value.encode()
    if len(raw) > MAX_STRING_BYTES:
        raise ValueError(f"string of {len(raw)} bytes is longer than {MAX_STRING_BYTES}")
    return write_uvarint(len(raw) + 1) + raw


def _utf8(buf: Buffer, pos: int, length: int) -> str:
    raw = take(buf, pos, length)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return decode_text(raw)


def decode_text(raw: bytes | bytearray) -> str:
    """A string as Kafka's readers take it: what is no UTF-8 becomes U+FFFD.

    As Java's decoder has it, a surrogate's three bytes are one mistake, where Python counts three
    (Readable.readString, java.lang.String). U+FFFD has three bytes, so the text may be longer than
    `raw`: one that no answer could repeat is an error here, where Kafka fails to write the answer.
    """
    import re

    text = re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]?", b"\xff", raw).decode("utf-8", "replace")
    if len(raw) * 3 > MAX_STRING_BYTES and len(text.encode()) > MAX_STRING_BYTES:
        raise ProtocolError("a string that is no UTF-8 is too long for an answer")
    return text


def uuid_text(value: bytes) -> str:
    """The 22 characters that Kafka shows for an id of 16 bytes (Uuid.toString)."""
    return b2a_base64(value, newline=False).rstrip(b"=").translate(_URL_SAFE).decode()
