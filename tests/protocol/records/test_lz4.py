from __future__ import annotations

from random import Random

import cramjam
import pytest

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import lz4
from mockbroker_protocol.records.compression import LZ4, decompress

DATA = b"some text, some text, " * 10_000


def test_kafkas_descriptor_and_both_of_its_checksums() -> None:
    assert lz4.compress_frame(b"")[:7].hex() == "04224d18604082"
    assert lz4.compress_frame(b"", broken_checksum=True)[:7].hex() == "04224d1860401a"
    assert lz4.compress_frame(b"")[7:] == bytes(4)


def test_strict_readers_take_our_frames() -> None:
    assert bytes(cramjam.lz4.decompress(lz4.compress_frame(DATA))) == DATA


def test_magic_0_reads_either_checksum_and_others_only_the_right_one() -> None:
    right, broken = lz4.compress_frame(DATA), lz4.compress_frame(DATA, broken_checksum=True)
    assert decompress(LZ4, right, magic=0) == decompress(LZ4, broken, magic=0) == DATA
    assert decompress(LZ4, right, magic=1) == DATA
    for magic in (1, 2):
        with pytest.raises(ProtocolError, match="checksum"):
            decompress(LZ4, broken, magic=magic)


def test_incompressible_blocks_are_stored() -> None:
    data = bytes(range(256))
    frame = lz4.compress_frame(data)
    assert frame[7:11] == (len(data) | 0x80000000).to_bytes(4, "little")
    assert decompress(LZ4, frame) == data


@pytest.mark.parametrize("content_checksum", [True, False])
def test_frames_with_checksums_of_blocks_and_content(content_checksum: bool) -> None:
    compressor = cramjam.lz4.Compressor(
        level=1, content_checksum=content_checksum, block_linked=False
    )
    compressor.compress(DATA)
    frame = bytes(compressor.finish())
    assert frame[4] & 0x10
    assert bool(frame[4] & 0x04) == content_checksum
    assert decompress(LZ4, frame) == DATA


def test_linked_blocks_are_refused_as_by_kafka() -> None:
    with pytest.raises(ProtocolError, match="kind"):
        decompress(LZ4, bytes(cramjam.lz4.compress(DATA)))


def test_content_size_in_the_header_is_passed_over() -> None:
    plain = lz4.compress_frame(DATA)
    descriptor = bytes((0x68, 0x40)) + len(DATA).to_bytes(8, "little")
    checksum = bytes((lz4._header_checksum(descriptor),))
    assert decompress(LZ4, lz4.MAGIC + descriptor + checksum + plain[7:]) == DATA


def test_bytes_behind_the_frame_are_not_read() -> None:
    assert decompress(LZ4, lz4.compress_frame(DATA) + b"behind") == DATA


@pytest.mark.parametrize(
    "descriptor", ["4040", "6240", "6140", "a040", "6030", "6041", "60c0", "2040"]
)
def test_frames_that_kafka_does_not_read(descriptor: str) -> None:
    head = bytes.fromhex(descriptor)
    frame = lz4.MAGIC + head + bytes((lz4._header_checksum(head),)) + bytes(4)
    with pytest.raises(ProtocolError, match="kind"):
        decompress(LZ4, frame)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x04\x22\x4d\x19\x60\x40\x82\0\0\0\0",
        b"\x04\x22\x4d\x18\x68\x40\x82",
        b"\x04\x22\x4d\x18\x60\x40\x82",
        b"\x04\x22\x4d\x18\x60\x40\x82\1\0\1\0" + bytes(65537) + bytes(4),
        b"\x04\x22\x4d\x18\x60\x40\x82\4\0\0\0\xff\xff\xff\xff\0\0\0\0",
    ],
)
def test_bad_frames_are_a_protocol_error(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        decompress(LZ4, frame)


def test_hash_of_known_inputs() -> None:
    assert lz4._xxh32(b"") == 0x02CC5D05
    assert lz4._xxh32(b"a") == 0x550D7456
    assert lz4._xxh32(b"abc") == 0x32D153FF


@pytest.mark.parametrize("level", [1, 3, 12, 17])
def test_a_level_buys_smaller_blocks(level: int) -> None:
    """Blocks of prose shrink, blocks of noise are stored; either is read back."""
    prose = b"".join(b"%d times %d is %d; " % (n, n % 7, n * (n % 7)) for n in range(9000))
    assert len(lz4.compress_frame(prose, level=level)) < len(lz4.compress_frame(prose))
    assert lz4.compress_frame(prose, level=9) == lz4.compress_frame(prose)
    noise = Random(level).randbytes(lz4.BLOCK_BYTES + 1)
    for data in (prose, noise, b"", b"x"):
        frame = lz4.compress_frame(data, level=level)
        assert bytes(decompress(3, frame)) == data
