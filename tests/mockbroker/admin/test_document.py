"""The document says the same in the words that generators of clients understand."""

from __future__ import annotations

from typing import Any

from mockbroker.admin.document import simplify
from tests.mockbroker.admin.conftest import Api


def test_null_is_a_second_type() -> None:
    nullable = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "title": "Key"}
    assert simplify(nullable) == {"type": ["string", "null"], "minLength": 1}


def test_a_choice_that_may_be_null_has_null_as_a_value() -> None:
    nullable = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}
    assert simplify(nullable) == {"type": ["string", "null"], "enum": ["a", None]}


def test_a_reference_that_may_be_null_stays_a_choice() -> None:
    choice = {"anyOf": [{"$ref": "#/components/schemas/Problem"}, {"type": "null"}]}
    assert simplify(choice) == choice


def test_any_json_is_a_schema_that_says_nothing() -> None:
    assert simplify({"$ref": "#/components/schemas/JsonValue", "examples": [1]}) == {
        "examples": [1]
    }


def test_of_a_list_and_an_object_by_name_the_list_is_told() -> None:
    headers = {
        "anyOf": [{"type": "array", "items": {"title": "T"}}, {"type": "object"}],
        "title": "H",
    }
    assert simplify(headers) == {"type": "array", "items": {}}


def test_numbers_have_a_width_and_whole_bounds() -> None:
    def sized(**bounds: float) -> dict[str, Any]:
        return simplify({"type": "integer", **bounds})

    assert sized() == {"type": "integer", "format": "int64"}
    assert sized(minimum=0.0, maximum=2147483647.0) == {
        "type": "integer",
        "format": "int32",
        "minimum": 0,
        "maximum": 2147483647,
    }
    assert sized(minimum=0, maximum=9.223372036854776e18)["maximum"] == 2**63 - 1
    assert sized(minimum=0, maximum=9.223372036854776e18)["format"] == "int64"


def test_it_goes_into_lists_objects_and_choices() -> None:
    inner = {"type": "integer", "title": "N"}
    wide = {"type": "integer", "format": "int64"}
    for key in ("items", "additionalProperties"):
        assert simplify({"type": "x", key: inner}) == {"type": "x", key: wide}
    for key in ("anyOf", "oneOf", "allOf"):
        assert simplify({key: [inner, inner, inner]}) == {key: [wide, wide, wide]}
    assert simplify({"properties": {"title": inner}}) == {"properties": {"title": wide}}


def test_methods_are_named_by_what_they_do_each_once(api: Api) -> None:
    document = api("GET", "/v1/openapi.json").body
    names = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert {"list_topics", "put_records", "arm_faults", "reset_broker"} <= set(names)
    assert len(names) == len(set(names))
    assert document["components"]["schemas"]["RecordIn"]["title"] == "RecordIn"
