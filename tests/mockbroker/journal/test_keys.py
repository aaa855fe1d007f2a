"""What a produced batch tells of its keys."""

from __future__ import annotations

import pytest

from mockbroker.journal.keys import MAX_BYTES, MAX_TOLD_CHARS, NOT_LOOKED_AT, keys_of
from mockbroker_protocol.records.batch import build_batch, read_batch_header
from mockbroker_protocol.records.record_codec import Record


def told(*keys: bytes | None, value: bytes = b"v", compression: int = 0) -> dict[str, object]:
    records = [Record(n, n, key, value, []) for n, key in enumerate(keys)]
    data = build_batch(records, compression=compression)
    return keys_of(data, 0, read_batch_header(data))


@pytest.mark.parametrize("compression", [0, 1])
def test_the_most_frequent_key_and_how_many_there_are(compression: int) -> None:
    found = told(b"a", b"b", b"b", None, b"c", compression=compression)
    assert found == {"keys": 3, "top_key": "b", "top_key_records": 2}


def test_of_equals_the_least_and_without_keys_none() -> None:
    assert told(b"b", b"a")["top_key"] == "a"
    assert told(None, None) == {"keys": 0, "top_key": None, "top_key_records": 0}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"\xff\x00", "ff00"),
        (b"a\nb", "a\N{REPLACEMENT CHARACTER}b"),
        (b"x" * 100, "x" * (MAX_TOLD_CHARS - 1) + "…"),
    ],
)
def test_a_key_is_told_as_text(key: bytes, text: str) -> None:
    assert told(key)["top_key"] == text


def test_what_is_large_or_broken_is_not_looked_into() -> None:
    assert told(b"a", value=bytes(MAX_BYTES)) == NOT_LOOKED_AT
    data = bytearray(build_batch([Record(0, 0, b"a", b"v", [])]))
    header = read_batch_header(bytes(data))
    data[61:] = b"\xff" * (len(data) - 61)
    assert keys_of(bytes(data), 0, header) == NOT_LOOKED_AT
