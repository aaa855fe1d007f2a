"""Protobuf values by the descriptor of their file."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from mockbroker.admin.schemas.protobuf import decoder
from mockbroker.admin.schemas.registry import Schema, SchemaError

INT64, STRING, MESSAGE = 3, 9, 11


def message(name: str, *fields: tuple[str, int, str], nested: tuple[Any, ...] = ()) -> Any:
    made = DescriptorProto(name=name, nested_type=nested)
    for number, (field, kind, of) in enumerate(fields, 1):
        made.field.append(
            FieldDescriptorProto(
                name=field, number=number, type=kind, type_name=of or None, label=1
            )
        )
    return made


def file(*messages: Any, imports: tuple[str, ...] = (), package: str = "shop") -> str:
    made = FileDescriptorProto(
        name="default", package=package, syntax="proto3", message_type=messages, dependency=imports
    )
    return b64encode(made.SerializeToString()).decode()


INNER = message("Inner", ("name", STRING, ""))
ORDER = message("Order", ("id", INT64, ""), ("note", STRING, ""), nested=(INNER,))
SHOP = file(message("Other"), ORDER)


def test_the_indexes_lead_to_the_message() -> None:
    decode = decoder(Schema("PROTOBUF", SHOP, {}))
    data = b"\x08" + b"\xff" * 7 + b"\x7f" + b"\x12\x02hi"
    name, value = decode(b"\x02\x02" + data)
    assert name == "shop.Order"
    assert value == {"id": str(2**56 - 1), "note": "hi"}
    assert decode(b"\x00") == ("shop.Other", {})
    assert decode(b"\x04\x02\x00\x0a\x03abc") == ("shop.Order.Inner", {"name": "abc"})


def test_a_file_may_import_others_and_those_of_the_library() -> None:
    common = file(message("Money", ("amount", INT64, "")), package="common")
    of = message(
        "Paid",
        ("money", MESSAGE, ".common.Money"),
        ("at", MESSAGE, ".google.protobuf.Timestamp"),
    )
    text = file(of, imports=("common/money.proto", "google/protobuf/timestamp.proto"))
    decode = decoder(Schema("PROTOBUF", text, {"common/money.proto": common}))
    found = decode(b"\x00\x0a\x02\x08\x05\x12\x02\x08\x01")
    assert found == ("shop.Paid", {"money": {"amount": "5"}, "at": "1970-01-01T00:00:01Z"})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "indexes of its message end early"),
        (b"\x02\x0a", r"indexes \[5\], which lead to no type"),
        (b"\x02\x01", r"indexes \[-1\], which lead to no type"),
        (b"\xff\xff\xff\xff\x0f", "indexes"),
        (b"\x00\x08", r"its bytes are no shop\.Other"),
    ],
)
def test_bytes_that_do_not_fit_are_a_problem(data: bytes, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        decoder(Schema("PROTOBUF", SHOP, {}))(data)


@pytest.mark.parametrize(
    "text", ["syntax = proto3;", "%%", b64encode(b"\x0a").decode(), file(imports=("gone.proto",))]
)
def test_what_is_no_descriptor_is_a_problem(text: str) -> None:
    with pytest.raises(SchemaError, match="cannot be made of what the registry tells"):
        decoder(Schema("PROTOBUF", text, {}))
