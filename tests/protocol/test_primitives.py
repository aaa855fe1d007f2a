from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol import primitives as p
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.primitives import Buffer, uuid_text


@given(st.integers(0, 2**32 - 1))
def test_unsigned_varints_round_trip(value: int) -> None:
    raw = p.write_uvarint(value)
    assert p.read_uvarint(b"?" + raw, 1) == (value, 1 + len(raw))


def test_varints_that_do_not_end_are_refused() -> None:
    with pytest.raises(ProtocolError, match="longer than five"):
        p.read_uvarint(b"\xff" * 6, 0)


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_strings_round_trip(value: str) -> None:
    for write, read in (
        (p.write_string, p.read_string),
        (p.write_nullable_string, p.read_nullable_string),
        (p.write_compact_string, p.read_compact_string),
    ):
        raw = write(value)
        for buf in (raw, bytearray(raw), memoryview(raw)):
            assert read(buf, 0) == (value, len(raw))


def test_null_strings() -> None:
    assert p.read_nullable_string(p.write_nullable_string(None), 0) == (None, 2)
    assert p.read_compact_nullable_string(p.write_compact_string(None), 0) == (None, 1)
    with pytest.raises(ProtocolError, match="null"):
        p.read_string(b"\xff\xff", 0)
    with pytest.raises(ProtocolError, match="null"):
        p.read_compact_string(b"\0", 0)


def test_strings_longer_than_an_int16_are_refused() -> None:
    long = "x" * 32768
    with pytest.raises(ValueError, match="32768"):
        p.write_string(long)
    with pytest.raises(ValueError, match="32768"):
        p.write_compact_string(long)
    with pytest.raises(ProtocolError, match="32768"):
        p.read_compact_string(p.write_uvarint(32769) + b"x" * 32768, 0)


def test_strings_that_are_not_utf8_are_read_all_the_same() -> None:
    assert p.read_string(b"\0\x01\xff", 0) == ("\ufffd", 3)
    assert p.read_compact_string(b"\x03a\xc3", 0) == ("a\ufffd", 3)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("61", "a"),
        ("eda080", "?"),
        ("eda0", "?"),
        ("eda041", "?A"),
        ("edbfbfed9fbf", "?\ud7ff"),
        ("e180eda0", "??"),
        ("f09f9880f09f98", "😀?"),
        ("f4908080", "????"),
        ("c0afe08080", "?????"),
        ("80ed", "??"),
    ],
)
def test_mistakes_in_utf8_are_counted_as_java_counts_them(raw: str, text: str) -> None:
    """As `new String(bytes, UTF_8)` of Java 17 reads them; a question mark stands for U+FFFD."""
    assert p.decode_text(bytes.fromhex(raw)) == text.replace("?", "\ufffd")


@given(st.none() | st.binary(max_size=300))
def test_bytes_round_trip(value: bytes | None) -> None:
    size = -1 if value is None else len(value)
    raw = size.to_bytes(4, "big", signed=True) + (value or b"")
    assert p.read_bytes(raw, 0) == (value, len(raw))


def test_tags_are_kept_whatever_their_order_and_the_last_of_a_pair_wins() -> None:
    raw = b"\3" + b"\5\1a" + b"\2\1b" + b"\5\1c"
    tags, end = p.read_tags(raw, 0)
    assert (tags, end) == ({5: b"c", 2: b"b"}, len(raw))
    assert p.write_tags(tags) == b"\2" + b"\2\1b" + b"\5\1c"


def test_no_tags_are_one_zero_byte() -> None:
    assert p.write_tags(None) == p.write_tags({}) == b"\0"
    assert p.read_tags(b"\0", 0) == (None, 1)


@pytest.mark.parametrize(
    ("read", "whole"),
    [
        (p.read_uvarint, b"\x81\x01"),
        (p.read_string, b"\0\2ab"),
        (p.read_compact_string, b"\3ab"),
        (p.read_bytes, b"\0\0\0\2ab"),
        (p.read_int16, b"\0\1"),
        (p.read_tags, b"\1\1\2ab"),
    ],
)
def test_truncation_at_each_byte_is_a_protocol_error(
    read: Callable[[Buffer, int], tuple[object, int]], whole: bytes
) -> None:
    assert read(whole, 0)[1] == len(whole)
    for end in range(len(whole)):
        with pytest.raises(ProtocolError):
            read(whole[:end], 0)


def test_an_id_is_shown_as_22_characters() -> None:
    assert uuid_text(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuid_text(b"\xff" * 16) == "_____________________w"
    assert uuid_text(b"\xfb\xef\xbe" + bytes(13)) == "----AAAAAAAAAAAAAAAAAA"


def test_a_mistaken_text_that_no_answer_could_repeat_is_refused() -> None:
    assert p.decode_text(b"\xff" * 10_922) == "\ufffd" * 10_922
    assert len(p.decode_text(b"\xff" + b"x" * 32_764)) == 32_765
    with pytest.raises(ProtocolError, match="too long for an answer"):
        p.decode_text(b"\xff" * 10_923)
