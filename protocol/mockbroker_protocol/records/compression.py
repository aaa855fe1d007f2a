"""The four codecs of record batches: gzip, snappy, lz4, zstd.

Called by `batch` and `legacy` when attributes name a codec. gzip is the standard library's; the
others are `cramjam`'s, imported on first use. Whatever is wrong with a payload, and however large
it would become, `decompress` raises `ProtocolError`; it never holds more than `max_bytes` of
output, and it works out from the payload's own framing what room is needed before it takes any.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from struct import Struct

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import lz4
from mockbroker_protocol.slices import Aside

Buffer = bytes | bytearray | memoryview

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

# Above all that a producer could have sent uncompressed: socket.request.max.bytes is 100 MiB.
MAX_DECOMPRESSED_BYTES = 128 * 1024 * 1024
# What `inflate` gives at a time, where the codec can be stopped.
SLICE_BYTES = 4 * 1024 * 1024

# The same of gzip, which Python inflates piece by piece.
_GZIP_SLICE_BYTES = 1024 * 1024

# snappy-java's SnappyOutputStream ("xerial"): magic, version, oldest reader, then chunks.
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
_XERIAL_BLOCK_BYTES = 32 * 1024
_SNAPPY_MAX_RATIO = 22  # the densest element: 3 bytes that copy 64

_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE = 0x184D2A50
_ZSTD_BLOCK_BYTES = 128 * 1024
# A frame of a window of 8 MiB that says nothing of its size and has no checksum.
_ZSTD_BARE_HEADER = b"\x28\xb5\x2f\xfd\x00\x68"

_INT32 = Struct(">i")
_UINT32_LE = Struct("<I")


def compress(codec: int, data: Buffer, *, magic: int = 2, level: int | None = None) -> bytes:
    """`data` as the Java client would compress it for a batch or message of this magic."""
    if codec == GZIP:
        return zlib.compress(data, -1 if level is None else level, 31)
    if codec == SNAPPY:
        return _compress_xerial(data)
    if codec == LZ4:
        return lz4.compress_frame(data, broken_checksum=magic == 0, level=level)
    if codec == ZSTD:
        from cramjam import zstd

        return bytes(zstd.compress(data, 3 if level is None else level))
    raise ProtocolError(f"unknown compression codec {codec}")


def decompress(
    codec: int, data: Buffer, *, magic: int = 2, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Buffer:
    """What `compress`, or any Kafka client, made `data` of."""
    if codec == GZIP:
        return _decompress_gzip(data, max_bytes)
    if codec == SNAPPY:
        return _decompress_snappy(memoryview(data), max_bytes)
    if codec == LZ4:
        from cramjam import lz4 as native_lz4

        frame, bound = lz4.prepare_frame(memoryview(data), ignore_checksum=magic == 0)
        return _decompress_into(native_lz4.decompress_into, frame, bound, max_bytes)
    if codec == ZSTD:
        from cramjam import zstd

        bound = _zstd_bound(memoryview(data))
        return _decompress_into(zstd.decompress_into, data, bound, max_bytes)
    raise ProtocolError(f"unknown compression codec {codec}")


def inflate(
    codec: int,
    data: Buffer,
    check: Callable[[Buffer], None],
    *,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Generator[Aside[Buffer] | None, None, Buffer]:
    """As `decompress`, in slices: yields between them, as far as the codec can be stopped.

    What cannot, a large zstd batch or raw snappy block, is yielded as an `Aside`.

    `check` is given the beginning of what would become large, and may raise ProtocolError before
    there is more of it.
    """
    if codec == GZIP:
        return (yield from _inflate_gzip(data, check, max_bytes))
    if codec == ZSTD and _zstd_bound(memoryview(data)) > SLICE_BYTES:
        check(_zstd_beginning(memoryview(data)))
        return (yield from _aside(codec, data, max_bytes))
    elif codec == LZ4:
        frame, bound = lz4.prepare_frame(memoryview(data), ignore_checksum=False)
        if bound > SLICE_BYTES:
            return (yield from _inflate_lz4(memoryview(frame), check, max_bytes))
    elif codec == SNAPPY and bytes(data[: len(_XERIAL_MAGIC)]) == _XERIAL_MAGIC:
        return (yield from _inflate_xerial(memoryview(data), check, max_bytes))
    elif codec == SNAPPY and len(data) * _SNAPPY_MAX_RATIO > SLICE_BYTES:
        return (yield from _aside(codec, data, max_bytes))
    return decompress(codec, data, max_bytes=max_bytes)


def _aside(codec: int, data: Buffer, max_bytes: int) -> Generator[Aside[Buffer], None, Buffer]:
    """In one piece, for which `cramjam` holds nobody else up: it lets other threads run."""
    whole = Aside(partial(decompress, codec, data, max_bytes=max_bytes))
    yield whole
    return whole.result()


def _inflate_gzip(
    data: Buffer, check: Callable[[Buffer], None], max_bytes: int
) -> Generator[None, None, Buffer]:
    # One that grows: to join what was inflated in slices would be a slice of its own.
    inflated = bytearray()
    try:
        while True:
            member = zlib.decompressobj(31)
            rest: Buffer = data
            while True:
                piece = member.decompress(rest, _GZIP_SLICE_BYTES)
                rest = member.unconsumed_tail
                is_first = not inflated
                inflated += piece
                if len(inflated) > max_bytes:
                    raise ProtocolError(f"gzip data expand to more than {max_bytes} bytes")
                if member.eof:
                    break
                if len(piece) < _GZIP_SLICE_BYTES:
                    raise ProtocolError("the gzip data are cut")
                if is_first:
                    check(piece)
                yield
            data = member.unused_data
            if data[:2] != b"\x1f\x8b":
                break
    except zlib.error as error:
        raise ProtocolError(f"bad gzip data: {error}") from None
    return inflated


def _inflate_xerial(
    stream: memoryview, check: Callable[[Buffer], None], max_bytes: int
) -> Generator[None, None, Buffer]:
    inflated = bytearray()
    due = SLICE_BYTES
    for block in _xerial_blocks(stream):
        is_first = not inflated
        inflated += _decompress_snappy_block(block, max_bytes - len(inflated))
        if is_first:
            check(inflated)
        if len(inflated) >= due:
            due = len(inflated) + SLICE_BYTES
            yield
    return inflated


def _inflate_lz4(
    frame: memoryview, check: Callable[[Buffer], None], max_bytes: int
) -> Generator[None, None, Buffer]:
    from cramjam import lz4 as native_lz4

    inflated = bytearray()
    for part, bound in lz4.parts(frame, SLICE_BYTES):
        room = max_bytes - len(inflated)
        piece = _decompress_into(native_lz4.decompress_into, part, bound, room)
        if not inflated:
            check(piece)
        inflated += piece
        yield
    return inflated


def _zstd_beginning(data: memoryview) -> Buffer:
    """What the first block of the first frame holds: its bytes behind a header that promises less.

    Empty when there is a skippable frame before it, or one that needs a dictionary.
    """
    from cramjam import zstd

    if _UINT32_LE.unpack_from(data, 0)[0] != _ZSTD_MAGIC or data[4] & 3:
        return b""
    single_segment = data[4] >> 5 & 1
    pos = 5 + (1 - single_segment) + (single_segment, 2, 4, 8)[data[4] >> 6]
    header = data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16
    end = pos + 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
    last = (header | 1).to_bytes(3, "little")
    block = b"".join((_ZSTD_BARE_HEADER, last, data[pos + 3 : end]))
    return _decompress_into(zstd.decompress_into, block, _ZSTD_BLOCK_BYTES, _ZSTD_BLOCK_BYTES)


def _decompress_into(
    decompress_into: Callable[[Buffer, bytearray | memoryview], int],
    data: Buffer,
    bound: int,
    max_bytes: int,
) -> Buffer:
    """Decompress into a buffer of `bound` bytes, or of as many as are allowed."""
    from cramjam import DecompressionError

    output = _room(min(bound, max_bytes))
    try:
        size = decompress_into(data, output)
    except DecompressionError as error:
        raise ProtocolError(f"bad compressed records: {error}") from None
    return output if size == len(output) else memoryview(output)[:size]


def _room(size_bytes: int) -> bytearray | memoryview:
    """A buffer to write to; Linux fills a large one in large pages, in a quarter of the time."""
    if size_bytes > SLICE_BYTES and sys.platform == "linux":
        import mmap

        room = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a kernel without them
            room.madvise(mmap.MADV_HUGEPAGE)
        return memoryview(room)
    return bytearray(size_bytes)


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    """All members; what follows the last and is none is ignored, as by GZIPInputStream."""
    pieces: list[bytes] = []
    room = max_bytes
    rest: Buffer = data
    try:
        while True:
            member = zlib.decompressobj(31)
            # One byte more than allowed, so that just enough and too much differ.
            piece = member.decompress(rest, room + 1)
            room -= len(piece)
            if room < 0:
                raise ProtocolError(f"gzip data expand to more than {max_bytes} bytes")
            if not member.eof:
                raise ProtocolError("the gzip data are cut")
            pieces.append(piece)
            rest = member.unused_data
            if rest[:2] != b"\x1f\x8b":
                break
    except zlib.error as error:
        raise ProtocolError(f"bad gzip data: {error}") from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _compress_xerial(data: Buffer) -> bytes:
    from cramjam import snappy

    view = memoryview(data)
    pieces = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        pieces += (_INT32.pack(len(block)), block)
    return b"".join(pieces)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    """A xerial stream when its magic is there, else one raw block (as SnappyInputStream reads)."""
    if data[:8] != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, max_bytes)
    pieces: list[bytes] = []
    for block in _xerial_blocks(data):
        piece = _decompress_snappy_block(block, max_bytes)
        max_bytes -= len(piece)
        pieces.append(piece)
    return b"".join(pieces)


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    """The compressed blocks of a stream."""
    pos, size = len(_XERIAL_HEADER), len(data)
    if size < pos:
        raise ProtocolError("the snappy stream ends within its header")
    while pos < size:
        # Streams may be joined; the next one's magic stands where a length would.
        if data[pos : pos + 8] == _XERIAL_MAGIC:
            pos += len(_XERIAL_HEADER)
            continue
        if size - pos < 4:
            raise ProtocolError("the snappy stream is cut")
        (length,) = _INT32.unpack_from(data, pos)
        pos += 4
        if length < 0 or length > size - pos:
            raise ProtocolError("the snappy stream is cut within a block")
        yield data[pos : pos + length]
        pos += length


def _decompress_snappy_block(block: memoryview, max_bytes: int) -> bytes:
    from cramjam import DecompressionError, snappy

    if not block:
        raise ProtocolError("empty snappy block")
    try:
        claimed = snappy.decompress_raw_len(block)
        if claimed > max_bytes:
            raise ProtocolError(f"snappy data expand to {claimed} bytes, too many")
        if claimed > len(block) * _SNAPPY_MAX_RATIO:
            raise ProtocolError("a snappy block claims more than it can hold")
        return bytes(snappy.decompress_raw(block))
    except DecompressionError as error:
        raise ProtocolError(f"bad snappy data: {error}") from None


def _zstd_bound(data: memoryview) -> int:
    """The most that these zstd frames can hold, by their block headers (RFC 8878, 3.1.1)."""
    pos, size, bound = 0, len(data), 0
    if not size:
        raise ProtocolError("empty zstd data")
    while pos < size:
        if size - pos < 8:
            raise ProtocolError("the zstd data are cut")
        (magic,) = _UINT32_LE.unpack_from(data, pos)
        if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
            pos += 8 + _UINT32_LE.unpack_from(data, pos + 4)[0]
            continue
        if magic != _ZSTD_MAGIC:
            raise ProtocolError("not a zstd frame")
        frame_bound, pos = _zstd_frame_bound(data, pos + 4)
        bound += frame_bound
    if pos > size:
        raise ProtocolError("the zstd data are cut")
    return bound


def _zstd_frame_bound(data: memoryview, pos: int) -> tuple[int, int]:
    """(upper bound of the content, end) of the frame whose descriptor is at `pos`."""
    size = len(data)
    descriptor = data[pos]
    single_segment = descriptor >> 5 & 1
    content_size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
    window_byte = 0 if single_segment else 1
    pos += 1 + window_byte + (0, 1, 2, 4)[descriptor & 3]
    content = int.from_bytes(data[pos : pos + content_size_bytes], "little")
    if content_size_bytes == 2:
        content += 256
    pos += content_size_bytes
    bound = 0
    while pos + 3 <= size:
        header = data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16
        kind, length = header >> 1 & 3, header >> 3
        # Raw and run-length blocks say how much they hold; a compressed one may hold a whole block.
        bound += length if kind < 2 else _ZSTD_BLOCK_BYTES
        pos += 3 + (1 if kind == 1 else length)
        if header & 1:
            pos += 4 if descriptor & 4 else 0
            return (min(bound, content) if content_size_bytes else bound), pos
    raise ProtocolError("the zstd frame is cut")
