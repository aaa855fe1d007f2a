from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records.record_codec import (
    Record,
    count_records,
    decode_records,
    encode_records,
    scan_records,
    varint,
)

BASE = 1_700_000_000_000

payloads = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=20), payloads), max_size=3)
records = st.lists(
    st.builds(
        Record,
        st.just(0),
        st.integers(BASE - 10**6, BASE + 10**6),
        payloads,
        payloads,
        headers,
    ),
    max_size=100,
).map(lambda batch: [renumbered(record, index) for index, record in enumerate(batch)])


def renumbered(record: Record, offset: int) -> Record:
    record.offset = offset
    return record


def decoded(data: bytes, count: int, base_offset: int = 0) -> list[Record]:
    return list(decode_records(data, 0, len(data), count, base_offset, BASE))


@given(records)
def test_what_is_encoded_is_decoded_counted_and_scanned_alike(batch: list[Record]) -> None:
    data = encode_records(batch, 0, BASE)
    framed = memoryview(b"before" + data + b"after")
    end = 6 + len(data)
    assert decoded(data, len(batch)) == batch
    assert list(decode_records(framed, 6, end, len(batch), 0, BASE)) == batch
    assert count_records(framed, 6, end) == len(batch)
    scan = scan_records(framed, 6, end, BASE)
    assert scan.count == len(batch)
    assert scan.sequential
    assert scan.keyless == [r.offset for r in batch if r.key is None]
    assert scan.untimely == []
    newest = max((r.timestamp for r in batch), default=-1)
    assert scan.max_timestamp == newest
    first = next((r.offset for r in batch if r.timestamp == newest), -1)
    assert scan.max_timestamp_index == first


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (0, "00"),
        (-1, "01"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2147483647, "feffffff0f"),
        (-2147483648, "ffffffff0f"),
        (-9223372036854775808, "ffffffffffffffffff01"),
    ],
)
def test_varints_on_the_wire(value: int, wire: str) -> None:
    assert varint(value) == bytes.fromhex(wire)


@pytest.mark.parametrize("count", [63, 64, 65, 200, 8191, 8192, 8193, 9000])
def test_offset_deltas_of_each_width(count: int) -> None:
    batch = [Record(i, BASE + i % 3, b"k" if i % 2 else None, b"v") for i in range(count)]
    data = encode_records(batch, 0, BASE)
    scan = scan_records(data, 0, len(data), BASE)
    assert (scan.count, scan.sequential) == (count, True)
    assert scan.keyless == list(range(0, count, 2))
    assert (scan.max_timestamp, scan.max_timestamp_index) == (BASE + 2, 2)
    assert decoded(data, count) == batch


@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 65, 8190, 8191, 8192, 8193, 70_000])
def test_keys_and_values_of_each_width(size: int) -> None:
    batch = [Record(0, BASE, bytes(size), None), Record(1, BASE, None, bytes(size))]
    batch += [Record(2, BASE, bytes(size), bytes(size), [("h", bytes(size)), ("", None)])]
    data = encode_records(batch, 0, BASE)
    assert scan_records(data, 0, len(data), BASE).keyless == [1]
    assert count_records(data, 0, len(data)) == 3
    assert decoded(data, 3) == batch


@pytest.mark.parametrize("step", [1, 63, 64, 8191, 8192, -1, -64, -65, 10**12])
def test_timestamp_deltas_of_each_width(step: int) -> None:
    batch = [Record(i, BASE + i * step, None, b"") for i in range(70)]
    data = encode_records(batch, 0, BASE)
    scan = scan_records(data, 0, len(data), BASE)
    assert scan.max_timestamp == max(r.timestamp for r in batch)
    assert decoded(data, 70) == batch


def test_scan_tells_which_records_are_out_of_time() -> None:
    stamps = [BASE, BASE + 5, -1, BASE - 5, BASE + 6, BASE - 6]
    batch = [Record(i, stamp, None, b"") for i, stamp in enumerate(stamps)]
    data = encode_records(batch, 0, BASE)
    both = scan_records(data, 0, len(data), BASE, earliest_ms=BASE - 5, latest_ms=BASE + 5)
    assert both.untimely == [4, 5]
    assert scan_records(data, 0, len(data), BASE, earliest_ms=BASE).untimely == [3, 5]
    assert scan_records(data, 0, len(data), BASE, latest_ms=BASE).untimely == [1, 4]


def test_scan_holds_to_limits_beyond_what_a_machine_compares_at_once() -> None:
    stamps = [0, -(1 << 61) - 1, -(1 << 62), -(1 << 62) - 1]
    data = encode_records([Record(i, stamp, None, b"") for i, stamp in enumerate(stamps)], 0, 0)
    assert scan_records(data, 0, len(data), 0, earliest_ms=-(1 << 62)).untimely == [3]
    assert scan_records(data, 0, len(data), 0).untimely == []


@pytest.mark.parametrize("offsets", [[1], [0, 2], [1, 0], [0, 0], [5, 6, 7]])
def test_scan_tells_offsets_that_are_not_in_sequence(offsets: list[int]) -> None:
    data = encode_records([Record(i, BASE, b"k", b"v") for i in offsets], 0, BASE)
    scan = scan_records(data, 0, len(data), BASE)
    assert (scan.count, scan.sequential, scan.keyless) == (len(offsets), False, [])


def test_a_gap_after_the_64th_record_is_seen() -> None:
    offsets = [*range(70), 71, 3]
    data = encode_records([Record(i, BASE, None, None) for i in offsets], 0, BASE)
    scan = scan_records(data, 0, len(data), BASE)
    assert (scan.count, scan.sequential) == (72, False)
    assert [r.offset for r in decoded(data, 72)] == offsets


def test_log_append_time_overrides_the_records_own() -> None:
    data = encode_records([Record(7, BASE, None, b"v")], 7, BASE)
    (record,) = decode_records(data, 0, len(data), 1, 7, BASE, 99)
    assert (record.offset, record.timestamp) == (7, 99)


def test_timestamps_wrap_as_in_java_and_offsets_must_not() -> None:
    largest, least = 2**63 - 1, -(2**63)
    data = encode_records([Record(0, largest, None, b""), Record(1, least, None, b"")], 0, largest)
    found = list(decode_records(data, 0, len(data), 2, 0, largest))
    assert [record.timestamp for record in found] == [largest, least]
    for base_offset in (largest, least):
        with pytest.raises(ProtocolError):
            list(decode_records(data, 0, len(data), 2, base_offset, largest))
    assert scan_records(data, 0, len(data), largest).max_timestamp == least


def test_any_negative_length_is_null() -> None:
    body = bytes((0, 0, 0, 3, 5, 0))  # key length -2, value length -3
    data = varint(len(body)) + body
    assert decoded(data, 1) == [Record(0, BASE, None, None)]
    assert scan_records(data, 0, len(data), BASE).keyless == [0]


def test_header_key_that_is_not_utf_8_is_no_error() -> None:
    body = bytes((0, 0, 0, 1, 1, 2, 2, 0xFF, 1))
    data = varint(len(body)) + body
    assert decoded(data, 1)[0].headers == [("\N{REPLACEMENT CHARACTER}", None)]


BAD = {
    "negative record length": "01",
    "record longer than the batch": "100000000101",
    "record too short for its fields": "0a0000000100",
    "fields shorter than the record": "0e00000001010000",
    "key longer than the record": "0c0000000a0100",
    "value longer than the record": "0c00000001ff7f",
    "negative header count": "0c000000010101",
    "more headers than bytes": "0c000000010110",
    "header without a key": "1000000001010201010c"[:18],
    "varint of six bytes": "ffffffffffff01",
    "varlong of eleven bytes": "2200" + "ff" * 11 + "0100000101",
    "cut within a length": "80",
}


@pytest.mark.parametrize("wire", BAD.values(), ids=BAD.keys())
def test_bad_records_are_a_protocol_error(wire: str) -> None:
    data = bytes.fromhex(wire)
    with pytest.raises(ProtocolError):
        scan_records(data, 0, len(data), BASE)
    with pytest.raises(ProtocolError):
        list(decode_records(data, 0, len(data), 1, 0, BASE))


def test_count_and_bytes_must_agree() -> None:
    data = encode_records([Record(i, BASE, None, b"v") for i in range(3)], 0, BASE)
    for count in (-1, 2, 4, 2**31 - 1):
        with pytest.raises(ProtocolError):
            decoded(data, count)
    for end in range(1, len(data)):
        if end % 8:
            with pytest.raises(ProtocolError):
                count_records(data, 0, end)


def test_records_that_end_behind_the_buffer() -> None:
    data = encode_records([Record(0, BASE, None, b"v")], 0, BASE)
    with pytest.raises(ProtocolError):
        count_records(data[:-4], 0, len(data))
    with pytest.raises(ProtocolError):
        scan_records(data[:-4], 0, len(data), BASE)


def varied(rng: Random) -> bytes:
    batch = [
        Record(
            i,
            BASE + rng.choice((0, 3, 100, -70000)),
            rng.choice((None, b"", b"key", bytes(130))),
            rng.choice((None, b"", b"value", bytes(9000))),
            rng.choice(((), (("name", b"x"),), (("name", None), ("", b"")))),
        )
        for i in range(rng.choice((1, 5, 80)))
    ]
    return encode_records(batch, 0, BASE)


def walks_agree(data: bytes) -> bool:
    """Scan, decode and count see the same; True when the bytes are good."""
    try:
        scan = scan_records(data, 0, len(data), BASE)
    except ProtocolError:
        scan = None
    try:
        count = count_records(data, 0, len(data))
    except ProtocolError:
        assert scan is None
        return False
    try:
        batch = decoded(data, count)
    except ProtocolError:
        batch = None
    assert (scan is None) == (batch is None)
    if scan is None or batch is None:
        return False
    assert scan.count == count == len(batch)
    assert scan.keyless == [i for i, r in enumerate(batch) if r.key is None]
    assert scan.sequential == all(r.offset == i for i, r in enumerate(batch))
    assert scan.max_timestamp == max((r.timestamp for r in batch), default=-1)
    return True


def test_truncated_and_mutated_records_never_raise_anything_else() -> None:
    rng = Random(11)
    good = 0
    for _ in range(60):
        data = varied(rng)
        assert walks_agree(data)
        for cut in range(0, len(data), 1 + len(data) // 50):
            walks_agree(data[:cut])
        for _ in range(60):
            mutated = bytearray(data)
            for _ in range(rng.randint(1, 3)):
                # Most bytes of a long value mean nothing; those in front mean the most.
                mutated[min(rng.randrange(len(data)), rng.randrange(200))] = rng.randrange(256)
            good += walks_agree(bytes(mutated))
    assert good > 0


@given(st.binary(max_size=60))
def test_random_bytes_never_raise_anything_else(data: bytes) -> None:
    walks_agree(data)


def test_records_print_and_compare_by_value() -> None:
    record = Record(1, 2, b"k", None, [("h", b"x")])
    assert record == Record(1, 2, b"k", None, (("h", b"x"),))
    assert record != "record"
    headers = [("h", b"x")]
    for other in (
        Record(2, 2, b"k", None, headers),
        Record(1, 3, b"k", None, headers),
        Record(1, 2, None, None, headers),
        Record(1, 2, b"k", b"", headers),
        Record(1, 2, b"k", None),
    ):
        assert record != other
    assert (
        repr(record) == "Record(offset=1, timestamp=2, key=b'k', value=None, headers=[('h', b'x')])"
    )
