"""Keys and values of a registry: JSON as text, or why not."""

from __future__ import annotations

import json
import sys

import pytest

from mockbroker.admin.schemas import decoding
from mockbroker.admin.schemas.decoding import Decoded, Decoder
from tests.support.fake_registry import FakeRegistry, framed

TIMED = {"type": "long", "logicalType": "timestamp-millis"}


async def test_each_kind_is_told_as_json(registry: FakeRegistry) -> None:
    registry.avro(1, "string")
    registry.avro(2, TIMED)
    registry.avro(3, "bytes")
    registry.json(4)
    decoder = Decoder(registry.url)
    assert await decoder.decode(framed(1, b"\x06a<b")) == Decoded(1, "AVRO", None, '"a<b"', None)
    told = [await decoder.decode(framed(*one)) for one in ((2, b"\x00"), (3, b"\x04\x00\xff"))]
    assert [one and one.text for one in told] == ['"1970-01-01T00:00:00+00:00"', '"00ff"']
    plain = await decoder.decode(framed(4, b'{"id": 9007199254740993}'))
    assert plain == Decoded(4, "JSON", None, '{"id": 9007199254740993}', None)


@pytest.mark.parametrize(
    "data", [None, b"", b"\0\0\0\0", b"\x01\0\0\0\x01x", b"plain text", b"\0\xff\0\0\0\0"]
)
async def test_other_bytes_are_left_alone(registry: FakeRegistry, data: bytes | None) -> None:
    assert await Decoder(registry.url).decode(data) is None
    assert registry.asked == []


async def test_without_a_registry_it_says_how_to_name_one() -> None:
    found = await Decoder(None).decode(framed(7, b"x"))
    assert found is not None
    assert (found.schema_id, found.text) == (7, None)
    assert "--schema-registry URL" in str(found.problem)


async def test_what_cannot_be_decoded_says_why(registry: FakeRegistry) -> None:
    registry.avro(1, "string")
    registry.schemas["/schemas/ids/2"] = {"schemaType": "XML", "schema": "<x/>"}
    registry.json(3)
    decoder = Decoder(registry.url)
    for schema_id, problem in (
        (1, "its bytes are no"),
        (2, "type XML"),
        (3, "no JSON"),
        (9, "no schema 9"),
    ):
        found = await decoder.decode(framed(schema_id, b"\x08a"))
        assert found is not None
        assert problem in str(found.problem)


@pytest.mark.parametrize(
    ("schema_type", "library"), [("AVRO", "fastavro"), ("PROTOBUF", "google.protobuf")]
)
async def test_a_library_that_is_missing_is_named(
    registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch, schema_type: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    registry.schemas["/schemas/ids/1"] = {"schemaType": schema_type, "schema": json.dumps("int")}
    found = await Decoder(registry.url).decode(framed(1, b"\x00"))
    assert found is not None
    assert "pip install 'mockbroker[schemas]'" in str(found.problem)


async def test_a_schema_is_read_once(
    registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def decoder_of(schema: object) -> object:
        made.append(schema)
        return lambda data: (None, json.loads(data))

    monkeypatch.setattr(decoding, "_decoder_of", decoder_of)
    registry.json(1)
    decoder = Decoder(registry.url)
    for _ in range(3):
        await decoder.decode(framed(1, b"[1, 2]"))
    assert len(made) == 1
