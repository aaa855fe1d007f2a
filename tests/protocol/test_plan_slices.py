"""Plans that work in slices read and write what the others do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.headers import decode_request_header
from mockbroker_protocol.messages.catalog import request_class
from mockbroker_protocol.plan import decode, decode_in_slices, encode, encode_in_slices
from mockbroker_protocol.plan_decode import SLICE_ELEMENTS
from mockbroker_protocol.schema import schema_of
from tests.support import heavy
from tests.support.messages import message_classes, strategy_for

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")
MESSAGES = [
    (cls, version)
    for cls in message_classes()
    for version in range(schema_of(cls).min_version, schema_of(cls).max_version + 1)
]

FRAMES = {
    "structs": heavy.metadata(5000),
    "structs of one width": heavy.fetch(5000),
    "structs with tag sections": heavy.fetch_of_empty_topics(5000),
    "tagged fields": heavy.fetch_of_empty_tags(5000),
    "numbers": heavy.offset_fetch(100_000),
    "strings": heavy.find_coordinators(5000),
    "records": heavy.produce(heavy.batch(heavy.tiny_records(10), 10), 3000),
    "few": heavy.metadata(3),
}


def _finished(steps: Generator[int, None, T]) -> tuple[list[int], T]:
    slices = []
    while True:
        try:
            slices.append(next(steps))
        except StopIteration as end:
            return slices, end.value


@pytest.mark.parametrize("name", FRAMES)
def test_they_agree_with_the_others(name: str) -> None:
    frame = FRAMES[name][4:]
    header = decode_request_header(frame)
    cls: type[object] = request_class(header.api_key)
    expected = decode(cls, header.api_version, frame, header.body_pos)
    slices, found = _finished(decode_in_slices(cls, header.api_version, frame, header.body_pos))
    assert found == expected
    assert all(count <= 16 * SLICE_ELEMENTS for count in slices)
    assert bool(slices) == (name != "few")
    _, chunks = _finished(encode_in_slices(found[0], header.api_version))
    assert b"".join(chunks) == b"".join(encode(expected[0], header.api_version))


@given(st.data())
def test_every_message_of_the_protocol_survives_them(data: st.DataObject) -> None:
    cls, version = data.draw(st.sampled_from(MESSAGES))
    sent = data.draw(strategy_for(cls, version))
    _, chunks = _finished(encode_in_slices(sent, version))
    raw = b"".join(chunks)
    assert raw == b"".join(encode(sent, version))
    steps: Generator[int, None, tuple[object, int]] = decode_in_slices(cls, version, raw)
    _, found = _finished(steps)
    assert found == (sent, len(raw))


def test_text_that_is_no_utf_8_is_read_as_the_others_read_it() -> None:
    frame = bytearray(heavy.metadata(3000)[4:])
    frame[-2] = 0xFF
    header = decode_request_header(frame)
    cls: type[object] = request_class(header.api_key)
    expected = decode(cls, header.api_version, frame, header.body_pos)
    _, found = _finished(decode_in_slices(cls, header.api_version, frame, header.body_pos))
    assert found == expected


def test_a_cut_body_is_refused_when_it_is_met() -> None:
    frame = heavy.metadata(5000)[4:-100]
    header = decode_request_header(frame)
    cls: type[object] = request_class(header.api_key)
    with pytest.raises(ProtocolError):
        _finished(decode_in_slices(cls, header.api_version, frame, header.body_pos))


@pytest.mark.parametrize("name", ["strings", "numbers", "tags"])
def test_more_elements_than_are_taken_are_refused_before_one_is_read(name: str) -> None:
    frame = {
        "strings": heavy.metadata(3000),
        "numbers": heavy.offset_fetch(3000),
        "tags": heavy.fetch_of_empty_tags(3000),
    }[name][4:]
    header = decode_request_header(frame)
    cls: type[object] = request_class(header.api_key)
    steps = decode_in_slices(cls, header.api_version, frame, header.body_pos, most=2999)
    with pytest.raises(ProtocolError, match="3000 elements, 2999 are taken"):
        next(steps)
    _finished(decode_in_slices(cls, header.api_version, frame, header.body_pos, most=3000))
