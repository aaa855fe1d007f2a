from __future__ import annotations

import gzip
import tracemalloc
from random import Random
from threading import Thread
from typing import TYPE_CHECKING

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import compression as c
from mockbroker_protocol.slices import all_at_once
from tests.protocol.records.libraries import CLIENT_CODECS

if TYPE_CHECKING:
    from collections.abc import Iterator

CODECS = [c.GZIP, c.SNAPPY, c.LZ4, c.ZSTD]
MIB = 1024 * 1024


def payloads() -> list[bytes]:
    rng = Random(5)
    return [
        b"",
        b"x",
        b"hello world " * 9000,
        rng.randbytes(200_000),
        bytes(3 * MIB),
        rng.randbytes(65_536) + bytes(65_536) + b"end",
    ]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_what_is_compressed_decompresses(codec: int, magic: int) -> None:
    for data in payloads():
        packed = c.compress(codec, data, magic=magic)
        assert c.decompress(codec, memoryview(packed), magic=magic) == data


@given(st.sampled_from(CODECS), st.binary(max_size=2000))
def test_any_bytes_round_trip(codec: int, data: bytes) -> None:
    assert c.decompress(codec, c.compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_levels_are_taken(codec: int) -> None:
    data = b"hello world " * 9000
    for level in (1, 9):
        assert c.decompress(codec, c.compress(codec, data, level=level)) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("library", CLIENT_CODECS.values(), ids=CLIENT_CODECS.keys())
def test_client_libraries_and_we_read_each_other(codec: int, library: object) -> None:
    name = {c.GZIP: "gzip", c.SNAPPY: "snappy", c.LZ4: "lz4", c.ZSTD: "zstd"}[codec]
    encode = getattr(library, f"{name}_encode")
    decode = getattr(library, f"{name}_decode")
    for data in payloads()[1:]:
        assert c.decompress(codec, bytes(encode(data))) == data
        assert bytes(decode(c.compress(codec, data))) == data


@pytest.mark.parametrize("codec", CODECS)
def test_output_may_fill_the_limit_and_not_pass_it(codec: int) -> None:
    data = b"0123456789" * 1000
    packed = c.compress(codec, data)
    assert c.decompress(codec, packed, max_bytes=10_000) == data
    with pytest.raises(ProtocolError):
        c.decompress(codec, packed, max_bytes=9_999)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_without_holding_it(codec: int) -> None:
    packed = c.compress(codec, bytes(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            c.decompress(codec, packed, max_bytes=2 * MIB)
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_large_output_comes_whole(
    codec: int, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    data = Random(1).randbytes(500) * 20_000
    assert c.decompress(codec, c.compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_large_output_comes_in_slices(codec: int) -> None:
    data = Random(1).randbytes(500) * 20_000
    beginnings: list[bytes] = []
    steps = c.inflate(codec, c.compress(codec, data), lambda one: beginnings.append(bytes(one)))
    whole: list[c.Buffer] = []

    def to_the_end() -> Iterator[object]:
        whole.append((yield from steps))

    slices = sum(1 for _ in to_the_end())
    assert whole == [data]
    assert slices >= (1 if codec == c.ZSTD else 2)
    assert [data.startswith(one) for one in beginnings] == [True]


@pytest.mark.parametrize(
    "packed",
    [c.compress(c.ZSTD, bytes(8_000_000)), bytes(cramjam.snappy.compress_raw(bytes(8_000_000)))],
)
def test_what_cannot_be_divided_may_be_done_aside(packed: bytes) -> None:
    codec = c.ZSTD if packed[:4] == b"\x28\xb5\x2f\xfd" else c.SNAPPY
    steps = c.inflate(codec, packed, lambda _: None)
    aside = next(steps)
    assert aside is not None
    thread = Thread(target=aside.run)
    thread.start()
    thread.join()
    assert bytes(all_at_once(steps)) == bytes(8_000_000)


@pytest.mark.parametrize("codec", CODECS)
def test_truncation_at_each_byte_is_a_protocol_error(codec: int) -> None:
    packed = c.compress(codec, b"some text, some text, some other text" * 20)
    for cut in range(len(packed)):
        if codec == c.SNAPPY and cut == 16:
            continue  # a stream of no chunks, which is whole
        with pytest.raises(ProtocolError):
            c.decompress(codec, packed[:cut])


@pytest.mark.parametrize("codec", CODECS)
def test_mutations_give_data_or_a_protocol_error(codec: int) -> None:
    rng = Random(7)
    for data in (b"some text, " * 90, rng.randbytes(300), bytes(300_000)):
        packed = c.compress(codec, data)
        for _ in range(400):
            mutated = bytearray(packed)
            for _ in range(rng.randint(1, 4)):
                mutated[rng.randrange(len(packed))] = rng.randrange(256)
            try:
                c.decompress(codec, mutated, max_bytes=4 * MIB)
            except ProtocolError:
                pass


@given(st.sampled_from(CODECS), st.binary(max_size=100))
def test_random_bytes_give_data_or_a_protocol_error(codec: int, data: bytes) -> None:
    for prefix in (b"", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18\x60\x40\x82", b"\x82SNAPPY\0"):
        try:
            c.decompress(codec, prefix + data, max_bytes=4 * MIB)
        except ProtocolError:
            pass


@pytest.mark.parametrize("codec", [0, 5, 6, 7])
def test_codecs_that_do_not_exist(codec: int) -> None:
    with pytest.raises(ProtocolError):
        c.compress(codec, b"")
    with pytest.raises(ProtocolError):
        c.decompress(codec, b"")


# --- each framing ----------------------------------------------------------------------------


def test_gzip_members_are_joined_and_junk_behind_them_ignored() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    assert c.decompress(c.GZIP, packed) == b"one two"
    assert c.decompress(c.GZIP, packed + b"junk") == b"one two"
    with pytest.raises(ProtocolError):
        c.decompress(c.GZIP, packed, max_bytes=6)


def test_snappy_goes_out_as_xerial_blocks_of_32_kib() -> None:
    packed = c.compress(c.SNAPPY, bytes(32 * 1024 + 1))
    assert packed[:16] == b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
    first = int.from_bytes(packed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + first])) == bytes(32 * 1024)
    assert len(packed) == 20 + first + 4 + int.from_bytes(packed[20 + first : 24 + first], "big")


def test_plain_snappy_is_read_too() -> None:
    data = b"plain " * 5000
    assert c.decompress(c.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


def test_joined_xerial_streams_are_one() -> None:
    packed = c.compress(c.SNAPPY, b"one ") + c.compress(c.SNAPPY, b"two")
    assert c.decompress(c.SNAPPY, packed) == b"one two"
    with pytest.raises(ProtocolError):
        c.decompress(c.SNAPPY, packed, max_bytes=6)


def test_a_snappy_block_that_lies_about_its_size_costs_nothing() -> None:
    with pytest.raises(ProtocolError, match="claims more"):
        c.decompress(c.SNAPPY, b"\xff\xff\xff\x1fabc")
    with pytest.raises(ProtocolError, match="too many"):
        c.decompress(c.SNAPPY, b"\xff\xff\xff\xff\x0fabc")


def test_zstd_frames_may_be_joined_and_skipped() -> None:
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    packed = c.compress(c.ZSTD, b"one ") + skippable + c.compress(c.ZSTD, b"two")
    assert c.decompress(c.ZSTD, packed) == b"one two"
    with pytest.raises(ProtocolError):
        c.decompress(c.ZSTD, skippable[:-1])


def test_zstd_without_a_content_size_as_streams_write_it() -> None:
    data = b"streamed " * 50_000
    compressor = cramjam.zstd.Compressor()
    compressor.compress(data)
    assert c.decompress(c.ZSTD, bytes(compressor.finish())) == data
