from __future__ import annotations

from typing import Annotated

import pytest

from mockbroker_protocol.plan import encode
from mockbroker_protocol.schema import Buffer, Records, V, field, int16, int32, message, struct


@struct
class Part:
    index: int32
    offset: int16 = -1


@struct
class Extra:
    epoch: int32 = -1


@message(versions=(0, 2), flexible=1)
class Answer:
    name: Annotated[str | None, V(nullable=1)] = ""
    parts: list[Part] = field(default_factory=list)
    batch: Annotated[Records | None, V(nullable=0)] = None
    late: Annotated[str, V(since=2)] = "none"
    hint: Annotated[int32, V(since=2, ignorable=True)] = -1
    extra: Annotated[Extra | None, V(tag=1, tagged=1)] = None
    whole: Annotated[Extra, V(tag=3, tagged=2, ignorable=True)] = field(default_factory=Extra)


def joined(message: object, version: int) -> bytes:
    return b"".join(encode(message, version))


def test_the_old_layout_byte_by_byte() -> None:
    answer = Answer("ab", [Part(1, 2)], b"r")
    assert joined(answer, 0) == b"\0\2ab" + b"\0\0\0\1" + b"\0\0\0\1\0\2" + b"\0\0\0\1r"


def test_the_flexible_layout_byte_by_byte() -> None:
    answer = Answer("ab", [Part(1, 2)], b"r")
    assert joined(answer, 1) == b"\3ab" + b"\2" + b"\0\0\0\1\0\2\0" + b"\2r" + b"\0"
    assert joined(Answer(None), 1) == b"\0\1\0\0"


@message(versions=(0, 1), flexible=1)
class Refusal:
    error_message: Annotated[str | None, V(nullable=1)] = ""
    name: str = ""


def test_an_error_message_is_cut_to_what_a_string_may_hold() -> None:
    most = "x" * 32_767
    assert joined(Refusal(most), 0) == b"\x7f\xff" + most.encode() + b"\0\0"
    for version, prefix in ((0, 2), (1, 3)):
        raw = joined(Refusal("x" + "é" * 20_000), version)
        text = raw[prefix:-2].decode()
        assert text == "x" + "é" * 16_381 + "…"
        assert len(text.encode()) == 32_766
        assert joined(Refusal(most + "x"), version)[prefix:].startswith(
            b"x" * 32_764 + "…".encode()
        )
    assert joined(Refusal(None), 1) == b"\0\1\0"
    with pytest.raises(ValueError, match="32768"):
        joined(Refusal("", most + "x"), 1)


def test_lengths_above_one_byte() -> None:
    raw = joined(Answer("x" * 127, [Part(0)] * 127), 1)
    assert raw[:2] == b"\x80\1"
    assert raw[129:131] == b"\x80\1"


def test_tagged_fields_are_written_when_they_differ_from_the_default() -> None:
    assert joined(Answer(), 1) == b"\1\1\0" + b"\0"
    assert joined(Answer(extra=Extra(5)), 1) == b"\1\1\0" + b"\1\1\5\0\0\0\5\0"
    assert joined(Answer(extra=Extra()), 1) == b"\1\1\0" + b"\1\1\5\xff\xff\xff\xff\0"
    assert joined(Answer(whole=Extra(-1)), 2)[-1:] == b"\0"
    assert joined(Answer(whole=Extra(4)), 2)[-8:] == b"\1\3\5\0\0\0\4\0"


def test_unknown_tags_are_merged_in_ascending_order() -> None:
    answer = Answer(extra=Extra(5))
    answer.unknown_tags = {2: b"yy", 0: b"x"}  # type: ignore[attr-defined]
    assert joined(answer, 1)[3:] == b"\3" + b"\0\1x" + b"\1\5\0\0\0\5\0" + b"\2\2yy"


def test_a_known_tag_among_the_unknown_is_refused() -> None:
    answer = Answer(extra=Extra(5))
    answer.unknown_tags = {1: b""}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="unknown_tags of Answer"):
        encode(answer, 1)


def test_unknown_tags_in_a_version_without_tags_are_refused() -> None:
    answer = Answer(parts=[Part(1)])
    answer.parts[0].unknown_tags = {1: b""}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"Part\.unknown_tags is set, but version 0"):
        encode(answer, 0)


def test_a_value_that_the_version_lacks_is_refused_unless_ignorable() -> None:
    with pytest.raises(ValueError, match=r"Answer\.late is set, but version 1"):
        encode(Answer(late="x"), 1)
    with pytest.raises(ValueError, match=r"Answer\.extra is set, but version 0"):
        encode(Answer(extra=Extra(1)), 0)
    assert joined(Answer(hint=5, whole=Extra(5)), 1) == joined(Answer(), 1)


def test_large_chunks_of_records_leave_uncopied() -> None:
    large, small = memoryview(b"L" * 4096), bytearray(b"s" * 4095)
    chunks: list[Buffer] = [small, large, b"tail"]
    for version, prefix in ((0, b"\0\0\0\0\0\0\0\0\x20\3"), (1, b"\1\1\x84\x40")):
        body = encode(Answer(batch=chunks), version)
        assert body[0] == prefix + small
        assert body[1] is large
        assert b"".join(body[2:]).startswith(b"tail")
        alone = encode(Answer(batch=large), version)
        assert alone[1] is large
    assert len(encode(Answer(batch=[b"a", b"b"]), 0)) == 1


def test_empty_and_null_records_differ() -> None:
    assert joined(Answer(batch=b""), 0)[-4:] == b"\0\0\0\0"
    assert joined(Answer(batch=[]), 0)[-4:] == b"\0\0\0\0"
    assert joined(Answer(batch=None), 0)[-4:] == b"\xff\xff\xff\xff"
    assert joined(Answer(batch=memoryview(b"")), 1) == b"\1\1\1\0"


def test_strings_beyond_the_limit_are_refused() -> None:
    with pytest.raises(ValueError, match="32768"):
        encode(Answer("x" * 32768), 1)
    assert len(joined(Answer("x" * 32767), 1)) == 3 + 32767 + 3
