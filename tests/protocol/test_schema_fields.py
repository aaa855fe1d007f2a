from __future__ import annotations

from typing import Annotated

import pytest

from mockbroker_protocol.schema import Records, V, int32, struct, uuid
from mockbroker_protocol.schema_fields import Field, fields_of
from tests.support.schemas import Everything, Inner


@struct
class Plain:
    value: int  # does not say how wide


@struct
class Half:
    value: Annotated[int32, V(tag=1)]


@struct
class Either:
    value: Annotated[int32 | str, V()]


@struct
class Batches:
    records: Annotated[Records, V(nullable=0)]
    other: Annotated[Records | None, V(nullable=0)]


def by_name(cls: type) -> dict[str, Field]:
    return {field.name: field for field in fields_of(cls)}


def test_fields_come_in_wire_order_with_types() -> None:
    fields = by_name(Everything)
    assert list(fields)[:4] == ["small", "medium", "number", "large"]
    assert (fields["small"].type.kind, fields["small"].type.code) == ("fixed", "b")
    inners = fields["maybe_inners"].type
    assert inners.kind == "array"
    assert inners.element is not None
    assert inners.element.cls is Inner
    assert fields["batch"].type.kind == "records"
    assert [field.type.kind for field in by_name(Batches).values()] == ["records", "records"]


def test_a_tagged_field_begins_where_it_is_tagged_unless_since_says_earlier() -> None:
    fields = by_name(Everything)
    assert not fields["tagged_number"].present(1)
    assert fields["tagged_number"].is_tagged(2)
    assert fields["moved"].present(1)
    assert not fields["moved"].is_tagged(2)
    assert fields["moved"].is_tagged(3)


def test_bounds_are_inclusive() -> None:
    old = by_name(Everything)["old"]
    assert [old.present(version) for version in range(3)] == [True, True, False]
    maybe = by_name(Everything)["maybe_text"]
    assert [maybe.is_nullable(version) for version in range(3)] == [False, True, True]


def test_a_field_without_default_falls_back_to_kafkas_zero() -> None:
    fields = by_name(Everything)
    assert (fields["number"].default, fields["flag"].default) == (0, False)
    assert (fields["text"].default, fields["ratio"].default) == ("", 0.0)
    assert not fields["number"].has_default
    assert fields["topic_id"].default == bytes(16)


def test_uuid_is_sixteen_raw_bytes() -> None:
    @struct
    class Named:
        topic_id: uuid

    assert fields_of(Named)[0].default == bytes(16)


@pytest.mark.parametrize(
    ("cls", "message"),
    [(Plain, "Plain.value"), (Half, "Half.value: tag and tagged"), (Either, "Either.value")],
)
def test_a_bad_declaration_is_named(cls: type, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        _ = fields_of(cls)
