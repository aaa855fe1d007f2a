"""Fields with their bytes: a walk reads what the plans read, and leaves no byte out."""

from __future__ import annotations

import pytest

from mockbroker_protocol import spans
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.schema_fields import fields_of
from mockbroker_protocol.spans import Span, spans_of
from tests.protocol.test_plan_golden import CLASSES, LINES


@pytest.mark.parametrize(
    ("name", "number", "body"),
    [line[:3] for line in LINES],
    ids=[f"{line[0]}-{line[1]}" for line in LINES],
)
def test_every_golden_message_is_read_to_its_last_byte(name: str, number: str, body: str) -> None:
    cls, version, data = CLASSES[name], int(number), bytes.fromhex(body.strip("-"))
    found = spans_of(cls, version, data)
    at = 0
    for span in (each for each in found if each.depth == 0):
        assert span.start == at
        at = span.end
    assert len(data) - at in (0, 1), "an empty tag section is a byte that no field has"
    message: object
    message, _ = decode(cls, version, data)
    plain = {span.name: span.value for span in found if span.depth == 0 and is_plain(span)}
    for field in fields_of(cls):
        if field.name in plain:
            assert plain[field.name] == getattr(message, field.name)


def is_plain(span: Span) -> bool:
    return span.type not in ("array", "struct", "records", "unknown")


def test_arrays_and_structs_hold_what_is_in_them() -> None:
    message = MetadataRequest([MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="é")])
    data = b"".join(encode(message, 5))
    found = spans_of(MetadataRequest, 5, data)
    assert [(one.depth, one.name, one.value, data[one.start : one.end]) for one in found] == [
        (0, "topics", 2, data[:-1]),
        (1, "[0]", "MetadataRequestTopic", b"\0\6orders"),
        (2, "name", "orders", b"\0\6orders"),
        (1, "[1]", "MetadataRequestTopic", b"\0\2\xc3\xa9"),
        (2, "name", "é", b"\0\2\xc3\xa9"),
        (0, "allow_auto_topic_creation", True, b"\1"),
    ]  # fmt: skip


def test_tagged_fields_are_told_known_or_not() -> None:
    message = MetadataRequest([])
    message.unknown_tags = {99: b"abc"}
    found = spans_of(MetadataRequest, 12, b"".join(encode(message, 12)))
    last = [(one.name, one.value) for one in found[-2:]]
    assert last == [("tagged fields", 1), ("tag 99", b"abc")]


def test_bytes_that_are_cut_are_malformed() -> None:
    data = b"".join(encode(MetadataRequest([MetadataRequestTopic(name="orders")]), 5))
    for size in range(len(data)):
        with pytest.raises(ProtocolError):
            spans_of(MetadataRequest, 5, data[:size])


def test_a_walk_ends_where_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MAX_SPANS", 3)
    message = MetadataRequest([MetadataRequestTopic(name=str(n)) for n in range(9)])
    assert len(spans_of(MetadataRequest, 5, b"".join(encode(message, 5)))) == 3
