"""LZ4 frames as Kafka writes and reads them (Lz4BlockOutputStream, Lz4BlockInputStream).

Called by `compression` only. Kafka's frames have independent blocks of 64 KiB and no content
checksum. Magic 0 has them with a header checksum that wrongly covers the frame's magic number
as well (KIP-57); readers of magic 0 therefore do not look at it. Frames of linked blocks are
refused, as by Kafka: a client that sends them here would fail there.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from mockbroker_protocol.errors import ProtocolError

MAGIC = b"\x04\x22\x4d\x18"
BLOCK_BYTES = 65536

_VERSION_1_INDEPENDENT = 0x60
_BLOCK_64_KIB = 0x40
_HAS_BLOCK_CHECKSUM = 0x10
_HAS_CONTENT_SIZE = 0x08
_HAS_CONTENT_CHECKSUM = 0x04
_STORED = 0x80000000
_FRAME_HEADER_BYTES = 7
_FAST_LEVEL = 9
_LEAST_HC_LEVEL = 3
_UINT32 = Struct("<I")
# No LZ4 sequence of n bytes stands for more than 255 n: each length byte adds 255 at most.
_MAX_RATIO = 255


def compress_frame(
    data: bytes | bytearray | memoryview,
    *,
    broken_checksum: bool = False,
    level: int | None = None,
) -> bytes:
    """One frame; `broken_checksum` as messages of magic 0 want it.

    Any `level` but the default 9 means LZ4 HC of that level (Kafka: Lz4Compression), 3 at the
    least.
    """
    from cramjam import lz4

    descriptor = bytes((_VERSION_1_INDEPENDENT, _BLOCK_64_KIB))
    hashed = MAGIC + descriptor if broken_checksum else descriptor
    pieces = [MAGIC, descriptor, bytes((_header_checksum(hashed),))]
    view = memoryview(data)
    for start in range(0, len(view), BLOCK_BYTES):
        block: bytes | memoryview = view[start : start + BLOCK_BYTES]
        if level is None or level == _FAST_LEVEL:
            packed = bytes(lz4.compress_block(block, store_size=False))
        else:
            packed = _compress_block_well(block, level)
        if len(packed) < len(block):
            pieces += (_UINT32.pack(len(packed)), packed)
        else:
            pieces += (_UINT32.pack(len(block) | _STORED), bytes(block))
    pieces.append(_UINT32.pack(0))
    return b"".join(pieces)


def _compress_block_well(block: bytes | memoryview, level: int) -> bytes:
    """One block by LZ4 HC: the library has that for frames, so the block is taken out of one."""
    from cramjam import lz4

    frame = bytes(lz4.compress(block, level=max(level, _LEAST_HC_LEVEL)))
    (length,) = _UINT32.unpack_from(frame, _FRAME_HEADER_BYTES)
    start = _FRAME_HEADER_BYTES + 4
    return frame[start : start + (length & ~_STORED)]


def prepare_frame(data: memoryview, *, ignore_checksum: bool) -> tuple[bytes | memoryview, int]:
    """The first frame in `data`, fit for a strict reader, and the most that it can expand to.

    Bytes after the frame are left out, as Kafka's reader never comes to them.
    """
    if len(data) < 7 or data[:4] != MAGIC:
        raise ProtocolError("not an LZ4 frame")
    flags, block_code = data[4], data[5] >> 4
    if flags & 0xE3 != _VERSION_1_INDEPENDENT or data[5] & 0x0F or not 4 <= block_code <= 7:
        raise ProtocolError("LZ4 frame of a kind that Kafka has not")
    checksum_pos = 6 + (8 if flags & _HAS_CONTENT_SIZE else 0)
    if checksum_pos >= len(data):
        raise ProtocolError("the LZ4 frame ends within its header")
    checksum = _header_checksum(bytes(data[4:checksum_pos]))
    end, bound = _walk_blocks(data, checksum_pos + 1, flags, 1 << (2 * block_code + 8))
    frame: bytes | memoryview = data[:end]
    if data[checksum_pos] != checksum:
        if not ignore_checksum:
            raise ProtocolError("the LZ4 frame's header does not match its checksum")
        head = data[:checksum_pos]
        frame = b"".join((head, bytes((checksum,)), data[checksum_pos + 1 : end]))
    return frame, bound


def parts(frame: memoryview, size_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Frames that together hold what this one does, each as much as `size_bytes` or a block.

    With each the most that it can expand to. `frame` is what `prepare_frame` gave: its blocks do
    not need each other. Checksums and sizes of the whole are left out.
    """
    flags, block_code = frame[4], frame[5] >> 4
    block_bytes = 1 << (2 * block_code + 8)
    kept = bytes((_VERSION_1_INDEPENDENT | flags & _HAS_BLOCK_CHECKSUM, frame[5]))
    head = MAGIC + kept + bytes((_header_checksum(kept),))
    trailer = 4 if flags & _HAS_BLOCK_CHECKSUM else 0
    start = pos = 7 + (8 if flags & _HAS_CONTENT_SIZE else 0)
    bound = 0
    while True:
        (length,) = _UINT32.unpack_from(frame, pos)
        if not length or bound >= size_bytes:
            if pos > start:
                yield b"".join((head, frame[start:pos], bytes(4))), bound
            if not length:
                return
            start, bound = pos, 0
        stored = length & _STORED
        length &= ~_STORED
        bound += length if stored else min(block_bytes, length * _MAX_RATIO)
        pos += 4 + length + trailer


def _walk_blocks(data: memoryview, pos: int, flags: int, block_bytes: int) -> tuple[int, int]:
    """Where the frame ends, and an upper bound of what it holds."""
    size = len(data)
    trailer = 4 if flags & _HAS_BLOCK_CHECKSUM else 0
    bound = 0
    while pos + 4 <= size:
        (length,) = _UINT32.unpack_from(data, pos)
        pos += 4
        if length == 0:
            pos += 4 if flags & _HAS_CONTENT_CHECKSUM else 0
            if pos > size:
                break
            return pos, bound
        stored = length & _STORED
        length &= ~_STORED
        if length > block_bytes:
            raise ProtocolError("an LZ4 block is larger than its frame allows")
        bound += length if stored else min(block_bytes, length * _MAX_RATIO)
        pos += length + trailer
    raise ProtocolError("the LZ4 frame is cut")


def _header_checksum(descriptor: bytes) -> int:
    return (_xxh32(descriptor) >> 8) & 0xFF


def _xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes: a frame's header has 14 at most."""
    mask = 0xFFFFFFFF
    value = (374761393 + len(data)) & mask
    pos = 0
    while pos + 4 <= len(data):
        value = (value + int.from_bytes(data[pos : pos + 4], "little") * 3266489917) & mask
        value = ((value << 17 | value >> 15) & mask) * 668265263 & mask
        pos += 4
    for byte in data[pos:]:
        value = (value + byte * 374761393) & mask
        value = ((value << 11 | value >> 21) & mask) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16
