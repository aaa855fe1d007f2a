from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.records import batch as b
from mockbroker_protocol.records import legacy
from mockbroker_protocol.records.conversion import down_convert, up_convert
from mockbroker_protocol.records.record_codec import Record
from tests.protocol.records import golden
from tests.protocol.records.libraries import LEGACY_BUILDERS
from tests.support.batches import stamped_batch

BASE = 1_700_000_000_000
LEGACY_CODECS = [b.NONE, b.GZIP, b.SNAPPY, b.LZ4]
MAGICS = [0, 1]
# The libraries have no lz4 in magic 0, or not without a further package.
THEIRS = [(magic, codec) for magic in MAGICS for codec in LEGACY_CODECS if magic or codec != b.LZ4]


def some_records(count: int = 3, offset: int = 0, size: int = 100) -> list[Record]:
    return [
        Record(offset + i, BASE + i, b"k%d" % i, bytes(size), [("dropped", b"header")])
        for i in range(count)
    ]


def without_headers(records: list[Record], magic: int) -> list[Record]:
    return [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in records]


def opened(batch: bytes) -> tuple[b.BatchHeader, list[Record]]:
    header = b.read_batch_header(batch)
    assert b.verify_crc(batch, 0, header)
    return header, list(b.iterate_records(batch, 0, header))


# --- up: Produce v0–v2 -----------------------------------------------------------------------


@pytest.mark.parametrize(("magic", "codec"), THEIRS)
@pytest.mark.parametrize("builder", LEGACY_BUILDERS)
def test_a_producers_message_set_becomes_one_batch(builder: Any, magic: int, codec: int) -> None:
    records = some_records(30)
    theirs = builder(magic=magic, compression_type=codec, batch_size=1 << 20)
    for r in records:
        theirs.append(r.offset, timestamp=r.timestamp, key=r.key, value=r.value)
    error, message, batch = up_convert(bytes(theirs.build()))
    assert (error, message) == (ErrorCode.NONE, None)
    header, found = opened(batch)
    assert found == without_headers(records, magic)
    assert (header.base_offset, header.last_offset, header.compression) == (0, 29, codec)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert header.max_timestamp == (BASE + 29 if magic else -1)


def test_offsets_of_the_producer_mean_nothing() -> None:
    data = b"".join(legacy.build_message_set([r], 1) for r in some_records(3, offset=7)[::-1])
    _, found = opened(up_convert(data).records)
    assert [(r.offset, r.key) for r in found] == [(0, b"k2"), (1, b"k1"), (2, b"k0")]


def test_the_codec_can_be_changed_on_the_way() -> None:
    data = legacy.build_message_set(some_records(3), 1, compression_codec=b.GZIP)
    assert opened(up_convert(data, compression=b.ZSTD).records)[0].compression == b.ZSTD
    assert opened(up_convert(data, compression=b.NONE).records)[0].compression == b.NONE


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\0", legacy.build_message_set(some_records(1), 1)[:-1]]
)
def test_nothing_whole_is_nothing_to_append(data: bytes) -> None:
    assert up_convert(data) == (ErrorCode.NONE, None, b"")


def test_errors_of_a_message_set_are_values() -> None:
    plain = legacy.build_message_set(some_records(2), 1)
    other = legacy.build_message_set(some_records(1), 0)
    gzipped = legacy.build_message_set(some_records(2), 1, compression_codec=b.GZIP)
    bad_crc = plain[:-1] + b"?"
    cases = {
        bad_crc: ErrorCode.CORRUPT_MESSAGE,
        gzipped[:-1] + b"?": ErrorCode.CORRUPT_MESSAGE,
        bytes(8) + b"\0\0\0\1" + bytes(20): ErrorCode.CORRUPT_MESSAGE,
        plain + other: ErrorCode.INVALID_RECORD,
        plain + gzipped: ErrorCode.INVALID_RECORD,
        gzipped + gzipped: ErrorCode.INVALID_RECORD,
        b.build_batch(some_records(1)): ErrorCode.INVALID_RECORD,
        legacy._encode_message(1, 0, b.ZSTD, 0, None, b"x"): ErrorCode.INVALID_RECORD,
        legacy._encode_message(1, 0, b.GZIP, 0, None, b"x"): ErrorCode.UNKNOWN_SERVER_ERROR,
    }
    for data, expected in cases.items():
        error, message, records = up_convert(data)
        assert (error, records) == (expected, b"")
        assert message


@given(st.randoms(use_true_random=False), st.sampled_from(MAGICS), st.sampled_from(LEGACY_CODECS))
def test_mutated_message_sets_never_raise(rng: Random, magic: int, codec: int) -> None:
    data = bytearray(legacy.build_message_set(some_records(3), magic, compression_codec=codec))
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    assert up_convert(data).error in (
        ErrorCode.NONE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    )


# --- down: Fetch v0–v3 -----------------------------------------------------------------------


def usable(data: bytes) -> list[Record]:
    """What a client makes of the answer: whole messages, until one is cut."""
    return list(legacy.iterate_records(data))


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("magic", MAGICS)
def test_records_lose_headers_and_keep_the_rest(magic: int, codec: int) -> None:
    records = some_records(20, offset=500)
    # Long headers, which are lost, leave room for what messages need more than records.
    for record in records:
        record.headers = [("h", Random(record.offset).randbytes(100))]
    batch = b.build_batch(records, compression=codec)
    answer = down_convert([batch], magic, 0)
    assert answer is not None
    assert len(answer) >= len(batch)
    assert usable(answer) == without_headers(records, magic)
    assert {m.compression for m in legacy.iterate_messages(answer)} == {codec}


@pytest.mark.parametrize("magic", MAGICS)
def test_length_is_the_slices_and_the_rest_is_an_oversized_message(magic: int) -> None:
    records = some_records(2, size=20)
    batches = [b.build_batch([r]) for r in records]
    slice_ = b"".join(batches)
    answer = down_convert([slice_], magic, 1)
    assert answer is not None
    assert len(answer) == len(slice_)
    assert usable(answer) == without_headers(records[1:], magic)
    (message,) = legacy.iterate_messages(answer)
    tail = answer[message.size :]
    assert int.from_bytes(tail[:8], "big", signed=True) == -1
    assert int.from_bytes(tail[8:12], "big") == len(tail) + 1
    assert not any(tail[12:])


def test_records_before_the_fetch_offset_go_unless_compressed() -> None:
    records = some_records(4)
    plain = down_convert([b.build_batch(records)], 1, 2)
    packed = down_convert([b.build_batch(records, compression=b.GZIP)], 1, 2)
    assert plain is not None
    assert packed is not None
    assert [r.offset for r in usable(plain)] == [2, 3]
    assert [r.offset for r in usable(packed)] == [0, 1, 2, 3]


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_log_append_time_goes_along(codec: int) -> None:
    batch = stamped_batch(some_records(2), BASE + 9, compression=codec)
    answer = down_convert([batch], 1, 0)
    assert answer is not None
    assert {m.timestamp_type for m in legacy.iterate_messages(answer)} == {1}
    assert {r.timestamp for r in usable(answer)} == {BASE + 9}


def test_the_first_batch_is_whole_though_it_grew_and_later_ones_are_cut() -> None:
    first = b.build_batch(some_records(50, size=0))
    second = b.build_batch(some_records(50, offset=50, size=0))
    alone = down_convert([first], 1, 0)
    both = down_convert([first, second], 1, 0)
    assert alone is not None
    assert both is not None
    assert len(alone) > len(first)
    assert [r.offset for r in usable(alone)] == list(range(50))
    assert len(both) == max(len(first) + len(second), len(alone))
    offsets = [r.offset for r in usable(both)]
    assert offsets == list(range(len(offsets)))
    assert 50 <= len(offsets) < 100


def test_control_batches_go_and_a_slice_of_them_is_one_oversized_message() -> None:
    marker = b.control_batch(1, 0, True, 0, BASE, base_offset=1)
    batch = b.build_batch(some_records(1))
    answer = down_convert([batch, marker], 1, 0)
    assert answer is not None
    assert len(answer) == len(batch) + 78
    assert [r.offset for r in usable(answer)] == [0]
    assert down_convert([marker], 1, 0) == bytes.fromhex("ffffffffffffffff0000003d")
    after_marker = down_convert([marker, b.build_batch(some_records(1, offset=2))], 1, 0)
    assert after_marker is not None
    assert [r.offset for r in usable(after_marker)] == [2]


def test_a_cut_batch_at_the_end_is_left_out() -> None:
    first, second = b.build_batch(some_records(1)), b.build_batch(some_records(1, offset=1))
    for cut in range(len(second)):
        answer = down_convert([first, second[:cut]], 1, 0)
        assert answer is not None
        assert len(answer) == len(first) + cut
        assert [r.offset for r in usable(answer)] == [0]
    assert down_convert([first[:50]], 1, 0) == b""
    assert down_convert([], 1, 0) == b""


def test_chunks_may_lie_anywhere() -> None:
    data = b"".join(b.build_batch(some_records(2, offset=i)) for i in (0, 2, 4))
    whole = down_convert([data], 1, 3)
    for cut in range(0, len(data), 7):
        assert (
            down_convert([data[:61], memoryview(data)[61:cut], data[max(61, cut) :]], 1, 3) == whole
        )


def test_zstd_first_cannot_be_converted_and_later_ends_the_answer() -> None:
    plain = b.build_batch(some_records(1))
    zstd = b.build_batch(some_records(1, offset=1), compression=b.ZSTD)
    marker = b.control_batch(1, 0, True, 0, BASE)
    assert down_convert([zstd, plain], 1, 0) is None
    assert down_convert([marker, zstd], 1, 0) is None
    answer = down_convert([plain, zstd], 1, 0)
    assert answer is not None
    assert len(answer) == len(plain) + len(zstd)
    assert [r.offset for r in usable(answer)] == [0]


def test_wide_padding_is_written_in_pieces_each_claiming_what_is_left() -> None:
    batches = [b.build_batch(some_records(1, size=200_000)), b.build_batch(some_records(1, 1))]
    answer = down_convert(batches, 1, 1)
    assert answer is not None
    (message,) = legacy.iterate_messages(answer)
    left = len(answer) - message.size
    first = answer[message.size : message.size + 12]
    second = answer[message.size + 131072 : message.size + 131084]
    assert first == b"\xff" * 8 + (left + 1).to_bytes(4, "big")
    assert second == b"\xff" * 8 + (left - 131072 + 1).to_bytes(4, "big")


def test_padding_shorter_than_a_message_head_is_its_beginning() -> None:
    first = b.build_batch([Record(0, BASE, None, b"x", [("h", bytes(21))])])
    answer = down_convert([first], 1, 0)
    assert answer is not None
    message = next(legacy.iterate_messages(answer))
    assert 0 < len(answer) - message.size < 60
    assert (
        answer[message.size :]
        == (b"\xff" * 8 + (61).to_bytes(4, "big") + bytes(50))[: len(answer) - message.size]
    )


def test_a_broken_log_is_a_protocol_error() -> None:
    batch = bytearray(b.build_batch(some_records(1)))
    batch[61] ^= 1
    with pytest.raises(ProtocolError):
        down_convert([batch], 1, 0)


@pytest.mark.parametrize(
    ("name", "magic", "fetch_offset", "slice_", "theirs"), golden.lines("down")
)
def test_kafka_3_9s_own_answers(
    name: str, magic: str, fetch_offset: str, slice_: str, theirs: str
) -> None:
    ours = down_convert([golden.data(slice_)], int(magic), int(fetch_offset))
    if theirs == "none":
        assert ours is None
        return
    assert ours is not None
    assert usable(ours) == usable(golden.data(theirs))
    # Other releases of zlib and snappy pack the same bytes differently.
    assert ours == golden.data(theirs) or name.startswith(("gzip", "snappy"))
