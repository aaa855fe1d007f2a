from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import compression as c
from mockbroker_protocol.records import legacy
from mockbroker_protocol.records.record_codec import Record
from tests.protocol.records import golden
from tests.protocol.records.libraries import LEGACY_BUILDERS, LEGACY_READERS

BASE = 1_700_000_000_000
CODECS = [c.NONE, c.GZIP, c.SNAPPY, c.LZ4]
MAGICS = [0, 1]
# The libraries have no lz4 in magic 0, or not without a further package.
THEIRS = [(magic, codec) for magic in MAGICS for codec in CODECS if magic or codec != c.LZ4]


def some_records(count: int = 5, offset: int = 0) -> list[Record]:
    return [
        Record(
            offset + i,
            BASE + i,
            None if i % 3 == 0 else b"key-%d" % i,
            None if i % 4 == 3 else b"value" * (i + 1),
        )
        for i in range(count)
    ]


def as_read(records: list[Record], magic: int) -> list[Record]:
    return [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in records]


# --- wire ------------------------------------------------------------------------------------


def test_one_message_on_the_wire() -> None:
    v0 = legacy.build_message_set([Record(3, BASE, b"k", b"vv")], 0)
    assert v0.hex() == "0000000000000003" + "00000011" + "89e88014" + "0000" + "000000016b" + (
        "000000027676"
    )
    v1 = legacy.build_message_set([Record(3, 5, None, b"")], 1)
    assert v1.hex() == "0000000000000003" + "00000016" + v1[12:16].hex() + "0100" + (
        "0000000000000005" + "ffffffff" + "00000000"
    )


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", MAGICS)
def test_sets_come_back_with_absolute_offsets(magic: int, codec: int) -> None:
    records = some_records(50, offset=1000)
    data = legacy.build_message_set(records, magic, compression_codec=codec)
    assert list(legacy.iterate_records(data)) == as_read(records, magic)


@pytest.mark.parametrize(("magic", "inner"), [(0, [40, 41, 42]), (1, [0, 1, 2])])
def test_offsets_inside_a_wrapper(magic: int, inner: list[int]) -> None:
    data = legacy.build_message_set(some_records(3, offset=40), magic, compression_codec=c.GZIP)
    (wrapper,) = legacy.iterate_messages(data)
    assert (wrapper.offset, wrapper.compression, wrapper.key) == (42, c.GZIP, None)
    assert wrapper.timestamp == (BASE + 2 if magic else -1)
    assert wrapper.value is not None
    opened = c.decompress(c.GZIP, wrapper.value)
    assert [message.offset for message in legacy.iterate_messages(opened)] == inner


@pytest.mark.parametrize("codec", CODECS)
def test_log_append_time_is_every_messages_timestamp(codec: int) -> None:
    data = legacy.build_message_set(
        some_records(3), 1, compression_codec=codec, timestamp_type=1, log_append_time_ms=99
    )
    assert {m.timestamp_type for m in legacy.iterate_messages(data)} == {1}
    assert {r.timestamp for r in legacy.iterate_records(data)} == {99}


def test_a_wrappers_append_time_overrides_the_times_within() -> None:
    inner = legacy.build_message_set(some_records(2), 1)
    data = legacy._encode_message(1, 1, 0x08 | c.GZIP, 99, None, c.compress(c.GZIP, inner))
    assert [r.timestamp for r in legacy.iterate_records(data)] == [99, 99]


def test_a_wrapper_offset_of_zero_means_offsets_from_zero() -> None:
    inner = legacy.build_message_set(some_records(3), 1)
    data = legacy._encode_message(1, 0, c.GZIP, 0, None, c.compress(c.GZIP, inner))
    assert [r.offset for r in legacy.iterate_records(data)] == [0, 1, 2]


def test_magic_0_lz4_has_the_old_checksum() -> None:
    data = legacy.build_message_set(some_records(3), 0, compression_codec=c.LZ4)
    (wrapper,) = legacy.iterate_messages(data)
    assert wrapper.value is not None
    with pytest.raises(ProtocolError):
        c.decompress(c.LZ4, wrapper.value, magic=1)


def test_no_records_are_no_bytes() -> None:
    assert legacy.build_message_set([], 1, compression_codec=c.GZIP) == b""
    assert list(legacy.iterate_records(b"")) == []


def test_negative_magic_0_attributes_bit_is_no_timestamp_type() -> None:
    data = legacy._encode_message(0, 0, 0x08, 0, None, b"v")
    (message,) = legacy.iterate_messages(data)
    assert message.timestamp_type == 0


# --- bad bytes -------------------------------------------------------------------------------


def wrapped(inner: bytes, *, magic: int = 1, offset: int = 0, codec: int = c.GZIP) -> bytes:
    value = c.compress(codec, inner, magic=magic)
    return legacy._encode_message(magic, offset, codec, 0, None, value)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (bytes(8) + b"\0\0\0\x0d" + bytes(13), legacy.CorruptMessageError),
        (bytes(8) + b"\0\0\0\x0e" + bytes(4) + b"\1" + bytes(9), legacy.CorruptMessageError),
        (bytes(8) + b"\0\0\0\x0e" + bytes(4) + b"\2" + bytes(9), legacy.InvalidRecordError),
        (legacy._encode_message(1, 0, 4, 0, None, b"x"), legacy.InvalidRecordError),
        (legacy._encode_message(1, 0, 1, 0, None, None), legacy.InvalidRecordError),
        (legacy._encode_message(1, 0, 1, 0, None, b"x"), ProtocolError),
        (legacy._encode_message(1, 0, 7, 0, None, b"x"), ProtocolError),
        (wrapped(b""), legacy.InvalidRecordError),
        (wrapped(wrapped(legacy.build_message_set(some_records(1), 1))), legacy.InvalidRecordError),
        (wrapped(legacy.build_message_set(some_records(1), 0)), legacy.InvalidRecordError),
        (
            wrapped(legacy.build_message_set(some_records(1, offset=9), 1), offset=8),
            legacy.InvalidRecordError,
        ),
        (
            wrapped(legacy.build_message_set(some_records(1), 1)[:-1] + b"?"),
            legacy.CorruptMessageError,
        ),
    ],
)
def test_what_is_no_message_set(data: bytes, error: type[ProtocolError]) -> None:
    with pytest.raises(error):
        list(legacy.iterate_records(data))


@pytest.mark.parametrize("magic", MAGICS)
def test_key_and_value_must_fill_the_message(magic: int) -> None:
    (good,) = [legacy.build_message_set([Record(0, 0, b"k", b"v")], magic)]
    for pos in range(18 + 8 * magic, len(good)):
        for byte in (0, 2, 0x7F, 0xFF):
            data = bytearray(good)
            data[pos] = byte
            try:
                (message,) = legacy.iterate_messages(data)
            except legacy.CorruptMessageError:
                continue
            assert bytes(data) == good or not legacy.verify_crc(data, message)


@pytest.mark.parametrize("magic", MAGICS)
def test_a_cut_message_at_the_end_is_left_out(magic: int) -> None:
    records = some_records(3)
    data = legacy.build_message_set(records, magic)
    ends = [m.position + m.size for m in legacy.iterate_messages(data)]
    for cut in range(len(data)):
        whole = sum(end <= cut for end in ends)
        assert list(legacy.iterate_records(data[:cut])) == as_read(records[:whole], magic)


@given(st.randoms(use_true_random=False), st.sampled_from(MAGICS), st.sampled_from(CODECS))
def test_mutated_sets_raise_protocol_errors_alone(rng: Random, magic: int, codec: int) -> None:
    data = bytearray(legacy.build_message_set(some_records(4), magic, compression_codec=codec))
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    try:
        for message in legacy.iterate_messages(data):
            legacy.verify_crc(data, message)
            if message.compression:
                legacy.open_wrapper(message)
        list(legacy.iterate_records(data))
    except ProtocolError:
        pass


# --- other people's code ---------------------------------------------------------------------


@pytest.mark.parametrize(("magic", "codec"), THEIRS)
@pytest.mark.parametrize("library", LEGACY_READERS)
def test_clients_read_our_sets(library: Any, magic: int, codec: int) -> None:
    records = some_records(20, offset=1000)
    data = legacy.build_message_set(records, magic, compression_codec=codec)
    found = []
    for message in legacy.iterate_messages(data):
        theirs = library(bytearray(data[message.position : message.position + message.size]), magic)
        assert theirs.validate_crc()
        found += [Record(r.offset, r.timestamp or -1, r.key, r.value) for r in theirs]
    assert found == as_read(records, magic)


@pytest.mark.parametrize(("magic", "codec"), THEIRS)
@pytest.mark.parametrize("library", LEGACY_BUILDERS)
def test_we_read_sets_of_clients(library: Any, magic: int, codec: int) -> None:
    records = some_records(20)
    builder = library(magic=magic, compression_type=codec, batch_size=1 << 20)
    for r in records:
        assert builder.append(r.offset, timestamp=r.timestamp, key=r.key, value=r.value) is not None
    data = bytes(builder.build())
    assert list(legacy.iterate_records(data)) == as_read(records, magic)
    if codec == c.NONE:
        assert data == legacy.build_message_set(records, magic)


@pytest.mark.parametrize(("magic", "codec", "timestamp_type", "theirs"), golden.golden_sets(0, 1))
def test_kafkas_own_sets(magic: int, codec: int, timestamp_type: int, theirs: bytes) -> None:
    ours = legacy.build_message_set(
        golden.golden_records(),
        magic,
        compression_codec=codec,
        timestamp_type=timestamp_type,
        log_append_time_ms=golden.APPEND_TIME,
    )
    assert list(legacy.iterate_records(theirs)) == list(legacy.iterate_records(ours))
    # Other releases of zlib and snappy pack the same bytes differently.
    assert ours == theirs or codec in (c.GZIP, c.SNAPPY)
