"""Avro values by their schema; what could take all memory or stack is refused."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from fastavro import schemaless_writer

from mockbroker.admin.schemas.avro import MAX_RECURSIVE_BYTES, decoder
from mockbroker.admin.schemas.registry import Schema, SchemaError

ORDER = {
    "type": "record", "name": "Order", "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}  # fmt: skip
LIST = {
    "type": "record", "name": "Link",
    "fields": [{"name": "next", "type": ["null", "Link"]}],
}  # fmt: skip
NOTHING: dict[str, Any] = {"type": "record", "name": "Nothing", "fields": []}


def schema(of: object, **references: object) -> Schema:
    return Schema("AVRO", json.dumps(of), {k: json.dumps(v) for k, v in references.items()})


def written(of: Any, value: object) -> bytes:
    file = BytesIO()
    schemaless_writer(file, of, value)
    return file.getvalue()


def test_a_record_has_its_name_and_fields() -> None:
    value = {"id": 2**60, "tags": ["new"]}
    assert decoder(schema(ORDER))(written(ORDER, value)) == ("shop.Order", value)


def test_a_schema_may_use_others() -> None:
    of = {"type": "record", "name": "Basket", "fields": [{"name": "first", "type": "shop.Order"}]}
    data = written(ORDER, {"id": 1, "tags": []})
    name, value = decoder(schema(of, order=ORDER))(data)
    assert (name, value) == ("Basket", {"first": {"id": 1, "tags": []}})


def test_a_plain_type_has_no_name() -> None:
    assert decoder(schema("string"))(b"\x06abc") == (None, "abc")


def test_bytes_that_do_not_fit_are_a_problem() -> None:
    decode = decoder(schema(ORDER))
    with pytest.raises(SchemaError, match=r"no shop\.Order"):
        decode(b"\x02")
    with pytest.raises(SchemaError, match=r"1 byte\(s\) are left"):
        decode(written(ORDER, {"id": 1, "tags": []}) + b"!")


@pytest.mark.parametrize("of", ['{"type": "re', "7", '"Unknown"', '{"type": "record"}', "[" * 9999])
def test_what_is_no_schema_is_a_problem(of: str) -> None:
    with pytest.raises(SchemaError, match="no Avro schema"):
        decoder(Schema("AVRO", of, {}))


@pytest.mark.parametrize("items", ["null", NOTHING, {"type": "fixed", "name": "F", "size": 0}])
def test_arrays_of_nothing_are_refused(items: object) -> None:
    with pytest.raises(SchemaError, match="without bytes"):
        decoder(schema({"type": "array", "items": items}))
    inside = {
        "name": "f",
        "type": ["int", {"type": "map", "values": {"type": "array", "items": items}}],
    }
    with pytest.raises(SchemaError, match="without bytes"):
        decoder(schema({"type": "record", "name": "R", "fields": [inside]}))


def test_a_schema_that_contains_itself_goes_only_so_deep() -> None:
    decode = decoder(schema(LIST))
    assert decode(b"\x02\x02\x00") == ("Link", {"next": {"next": {"next": None}}})
    with pytest.raises(SchemaError, match="contains itself"):
        decode(b"\x02" * MAX_RECURSIVE_BYTES + b"\x00")
    deepest = decode(b"\x02" * (MAX_RECURSIVE_BYTES - 1) + b"\x00")
    assert deepest[0] == "Link"


def test_a_type_that_is_used_twice_is_not_recursive() -> None:
    of = {"type": "record", "name": "Two", "fields": [
        {"name": "one", "type": ORDER}, {"name": "other", "type": "shop.Order"},
    ]}  # fmt: skip
    long = "x" * (2 * MAX_RECURSIVE_BYTES)
    value = {"one": {"id": 1, "tags": [long]}, "other": {"id": 2, "tags": []}}
    assert decoder(schema(of))(written(of, value))[1] == value
