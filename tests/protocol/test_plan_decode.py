from __future__ import annotations

import tracemalloc
from typing import Annotated

import pytest

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.controller_apis import BrokerHeartbeatRequest
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.plan_decode import blank
from mockbroker_protocol.primitives import write_uvarint
from mockbroker_protocol.schema import Records, V, field, int16, int32, message, struct, uuid


@struct
class Part:
    index: int32
    offset: int16 = -1


@struct
class Extra:
    epoch: int32 = -1


@message(versions=(0, 1), flexible=1)
class Listing:
    name: Annotated[str | None, V(nullable=1)] = ""
    parts: list[Part] = field(default_factory=list)


@message(versions=(0, 1), flexible=1)
class Single:
    batch: Annotated[Records | None, V(nullable=1)] = None
    ids: Annotated[list[uuid] | None, V(nullable=0, since=1)] = None
    extra: Annotated[Extra, V(tag=1, tagged=1)] = field(default_factory=Extra)
    part: Annotated[Part | None, V(nullable=0, tag=2, tagged=1)] = None
    bare: Annotated[Part, V(since=2, ignorable=True)] = field(default_factory=lambda: Part(0))


def test_the_old_layout_byte_by_byte() -> None:
    raw = b"\0\2ab" + b"\0\0\0\2" + b"\0\0\0\1\0\2" + b"\0\0\0\3\xff\xfe"
    assert decode(Listing, 0, raw) == (Listing("ab", [Part(1, 2), Part(3, -2)]), len(raw))


def test_the_flexible_layout_byte_by_byte() -> None:
    raw = b"\3ab" + b"\3" + b"\0\0\0\1\0\2\0" + b"\0\0\0\3\xff\xfe\0" + b"\0"
    assert decode(Listing, 1, raw) == (Listing("ab", [Part(1, 2), Part(3, -2)]), len(raw))
    assert decode(Listing, 1, b"\0\1\0") == (Listing(None, []), 3)


@pytest.mark.parametrize("tagged", [None, 0, 4, 9])
def test_arrays_of_fixed_structs_read_alike_with_and_without_tags(tagged: int | None) -> None:
    raw, wanted = b"\1" + b"\x0b", []
    for index in range(10):
        part = Part(index, -index)
        raw += index.to_bytes(4, "big") + (-index).to_bytes(2, "big", signed=True)
        if index == tagged:
            part.unknown_tags = {7: b"xy"}  # type: ignore[attr-defined]
            raw += b"\1\7\2xy"
        else:
            raw += b"\0"
        wanted.append(part)
    for buf in (raw + b"\0", bytearray(raw + b"\0")):
        received, pos = decode(Listing, 1, buf)
        assert (received.parts, pos) == (wanted, len(raw) + 1)


def test_unknown_tags_are_kept_and_the_last_of_a_pair_wins() -> None:
    raw = b"\0\0" + b"\4" + b"\x09\1a" + b"\5\1b" + b"\x09\1c" + b"\1\5\0\0\0\7\0"
    received, pos = decode(Single, 1, raw)
    assert received.unknown_tags == {9: b"c", 5: b"b"}  # type: ignore[attr-defined]
    assert (received.extra, pos) == (Extra(7), len(raw))


def test_a_tag_section_may_have_many_tags_and_wide_numbers() -> None:
    tags = b"".join(write_uvarint(tag) + b"\1x" for tag in range(10, 310))
    received, _ = decode(Single, 1, b"\0\0" + write_uvarint(300) + tags)
    tags = received.unknown_tags  # type: ignore[attr-defined]
    assert tags == dict.fromkeys(range(10, 310), b"x")


def test_a_tagged_nullable_struct_has_a_marker() -> None:
    received, _ = decode(Single, 1, b"\0\0" + b"\1\2\x08" + b"\1\0\0\0\1\0\2\0")
    assert received.part == Part(1, 2)
    received, _ = decode(Single, 1, b"\0\0" + b"\1\2\1" + b"\xff")
    assert received.part is None


def test_fields_of_other_versions_have_their_defaults_anew() -> None:
    one, _ = decode(Single, 1, b"\0\0\0")
    two, _ = decode(Single, 1, b"\0\0\0")
    assert (one.extra, one.bare, one.part, one.ids) == (Extra(), Part(0), None, None)
    assert one.extra is not two.extra
    assert one.bare is not two.bare


def test_records_are_a_view_of_the_frame() -> None:
    frame = b"\x06batch\0\0"
    received, _ = decode(Single, 1, frame)
    assert isinstance(received.batch, memoryview)
    assert received.batch.tobytes() == b"batch"
    assert received.batch.obj is frame
    assert decode(Single, 0, b"\0\0\0\0")[0].batch == b""


@pytest.mark.parametrize(
    ("version", "raw", "message"),
    [
        (0, b"\xff\xff", "Listing.name is null"),
        (0, b"\0\0\xff\xff\xff\xff", "Listing.parts is null"),
        (1, b"\0\0", "Listing.parts is null"),
        (0, b"\0\x05ab", "Listing.name has a length of 5 bytes, 2 are left"),
        (1, write_uvarint(32769) + b"x" * 40000, "32768 bytes"),
        (1, b"\xff\xff\xff\xff\xff\xff", "varint"),
        (0, b"\0\0\0\0\0\2" + bytes(11), "2 elements in 11 bytes"),
        (1, b"\0\1\1\5\5ab", "a tagged field of Listing"),
    ],
)
def test_what_is_wrong_is_named(version: int, raw: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        decode(Listing, version, raw)


def test_a_huge_count_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        for version, raw in ((0, b"\0\0\x7f\xff\xff\xff"), (1, b"\0\xff\xff\xff\xff\x0f")):
            with pytest.raises(ProtocolError, match="elements in 0 bytes"):
                decode(Listing, version, raw)
        with pytest.raises(ProtocolError):
            decode(Single, 1, b"\0\xff\xff\xff\xff\x0f")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_blank_has_every_default() -> None:
    assert blank(Part) == Part(0, -1)
    assert blank(Listing) == Listing("", [])


def test_text_that_is_no_utf_8_is_read_all_the_same() -> None:
    raw = b"\0\1\xff\0\0\0\0"
    for bytes_like in (raw, bytearray(raw), memoryview(raw)):
        for _ in range(2):
            listing, end = decode(Listing, 0, bytes_like)
            assert (listing.name, listing.parts, end) == ("\ufffd", [], len(raw))
    assert decode(Listing, 0, b"12" + raw, 2)[0].name == "\ufffd"
    with pytest.raises(ProtocolError, match=r"Listing\.name has a length of 5 bytes"):
        decode(Listing, 0, b"\0\5\xff")
    with pytest.raises(ProtocolError, match="cut at 3"):
        decode(Listing, 0, b"\0\1\xff")


@pytest.mark.parametrize(
    ("message", "version", "tag"),
    [
        (BrokerHeartbeatRequest, 0, 0),
        (BrokerHeartbeatRequest, 1, 1),
        (FetchRequest, 14, 1),
        (FetchResponse, 15, 0),
        (ProduceResponse, 9, 0),
    ],
)
def test_a_tag_that_the_version_does_not_have_yet_is_refused(
    message: type, version: int, tag: int
) -> None:
    (raw,) = encode(message(), version)
    for known, outcome in ((tag, "is not valid in version"), (99, "")):
        tagged = bytes(raw[:-1]) + bytes((1, known, 0))
        if outcome:
            with pytest.raises(ProtocolError, match=outcome):
                decode(message, version, tagged)
        else:
            assert decode(message, version, tagged)[0].unknown_tags == {99: b""}
