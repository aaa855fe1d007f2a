from __future__ import annotations

import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.plan import decode, decoder, encode, encoder
from mockbroker_protocol.schema import schema_of
from tests.support.messages import message_classes, strategy_for
from tests.support.schemas import Everything, Pair, everything

VERSIONS = range(5)
MESSAGES = [
    (cls, version)
    for cls in message_classes()
    for version in range(schema_of(cls).min_version, schema_of(cls).max_version + 1)
]


@given(st.data(), st.sampled_from(VERSIONS))
def test_a_message_survives_the_round_trip(data: st.DataObject, version: int) -> None:
    sent = data.draw(strategy_for(Everything, version))
    raw = b"".join(encode(sent, version))
    for buf in (raw, bytearray(raw), memoryview(raw)):
        assert decode(Everything, version, buf) == (sent, len(raw))


@given(st.data())
def test_every_message_of_the_protocol_survives_it(data: st.DataObject) -> None:
    cls, version = data.draw(st.sampled_from(MESSAGES))
    sent = data.draw(strategy_for(cls, version))
    raw = b"".join(encode(sent, version))
    assert decode(cls, version, raw) == (sent, len(raw))


@settings(max_examples=40)
@given(st.data(), st.sampled_from(VERSIONS))
def test_truncation_at_each_byte_is_a_protocol_error(data: st.DataObject, version: int) -> None:
    raw = b"".join(encode(data.draw(strategy_for(Everything, version)), version))
    whole = []
    for end in range(len(raw)):
        try:
            decode(Everything, version, raw[:end])
            whole.append(end)
        except ProtocolError:
            pass
    assert whole == []


@given(st.data(), st.sampled_from(VERSIONS))
def test_mutated_bytes_give_a_message_or_a_protocol_error(
    data: st.DataObject, version: int
) -> None:
    raw = bytearray(b"".join(encode(data.draw(strategy_for(Everything, version)), version)))
    spots = st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255))
    for position, value in data.draw(st.lists(spots, min_size=1, max_size=4)):
        raw[position] = value
    try:
        received, pos = decode(Everything, version, raw)
    except ProtocolError:
        return
    assert type(received) is Everything
    assert pos <= len(raw)


@given(st.sampled_from(MESSAGES), st.binary(max_size=200))
def test_random_bytes_give_a_message_or_a_protocol_error(
    message: tuple[type, int], raw: bytes
) -> None:
    cls, version = message
    try:
        assert decode(cls, version, raw)[1] <= len(raw)
    except ProtocolError:
        pass


def test_plans_are_compiled_once() -> None:
    assert decoder(Everything, 3) is decoder(Everything, 3)
    assert encoder(Everything, 3) is encoder(Everything, 3)


def test_decoding_begins_at_a_position_and_leaves_the_rest() -> None:
    raw = b"".join(encode(everything(text="here"), 4))
    received, pos = decode(Everything, 4, b"head" + raw + b"rest", 4)
    assert (received.text, pos) == ("here", 4 + len(raw))


def test_unknown_versions_and_structs_have_no_plan() -> None:
    with pytest.raises(ValueError, match="Everything has versions 0 to 4, not 5"):
        decode(Everything, 5, b"")
    with pytest.raises(ValueError, match="not -1"):
        encode(everything(), -1)
    with pytest.raises(TypeError, match="Pair is a @struct"):
        decode(Pair, 0, b"")


def test_a_traceback_shows_the_generated_line() -> None:
    with pytest.raises(AttributeError) as caught:
        encode(everything(text=None), 0)
    lines = "".join(traceback.format_exception(caught.value))
    assert "<encode Everything v0>" in lines
    assert "o.text.encode()" in lines
