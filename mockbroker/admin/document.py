"""The OpenAPI document of the admin API, in the shape that generators of clients read best.

FastAPI and pydantic say that a value may be null by `anyOf`, give each property a title and leave
out how wide a number is: out of that, generators make a class for each property, and a Java int of
an offset. Called by `application`, at the first request for the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi.openapi.utils import get_openapi

from mockbroker.admin import problems

if TYPE_CHECKING:
    from fastapi import FastAPI

_NULL: Final = {"type": "null"}
_ANY_JSON: Final = "#/components/schemas/JsonValue"
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_INT32: Final = 2**31
_INT64: Final = 2**63


def make_document(app: FastAPI) -> dict[str, Any]:
    """The document of all routes; every error in it is a Problem."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError", "JsonValue"):
        schemas.pop(unused, None)
    schemas["Problem"] = problems.Problem.model_json_schema()
    invalid = {str(status): answer for status, answer in problems.problems(422).items()}
    for methods in document["paths"].values():
        for operation in methods.values():
            answers = operation["responses"]
            if "application/json" in answers.get("422", {}).get("content", {}):
                answers.update(invalid)
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = simplify(parameter["schema"])
    for name, schema in schemas.items():
        schemas[name] = {**simplify(schema), "title": name}
    return document


def simplify(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema: null as a second type, no title, no default said, the width of numbers."""
    plain = {key: value for key, value in schema.items() if key != "title"}
    if plain.get("additionalProperties") is True:
        del plain["additionalProperties"]  # as without it; generators make a map of the owner
    if plain.get("$ref") == _ANY_JSON:
        del plain["$ref"]  # a schema that says nothing takes any value, and is no class of its own
    choices = plain.get("anyOf")
    if choices is not None and [choice.get("type") for choice in choices] == ["array", "object"]:
        # Both are taken. A class of either is what some generators cannot write.
        plain = {**choices[0], **{key: each for key, each in plain.items() if key != "anyOf"}}
    elif choices is not None:
        others = [choice for choice in choices if choice != _NULL]
        if len(others) == 1 and len(choices) == 2 and isinstance(others[0].get("type"), str):
            del plain["anyOf"]
            return _nullable({**simplify(others[0]), **plain})
        plain["anyOf"] = [simplify(choice) for choice in choices]
    for key in ("oneOf", "allOf"):
        if key in plain:
            plain[key] = [simplify(choice) for choice in plain[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(plain.get(key), dict):
            plain[key] = simplify(plain[key])
    if "properties" in plain:
        plain["properties"] = {name: simplify(each) for name, each in plain["properties"].items()}
    return _sized(plain) if plain.get("type") == "integer" else plain


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in nullable:
        nullable["enum"] = [*nullable["enum"], None]
    return nullable


def _sized(schema: dict[str, Any]) -> dict[str, Any]:
    """An integer with whole bounds, and whether it fits into 32 bits."""
    bounds: dict[str, int] = {key: _whole(schema[key]) for key in _BOUNDS if key in schema}
    fits = "maximum" in bounds and bounds["maximum"] < _INT32 and "minimum" in bounds
    return {**schema, **bounds, "format": "int32" if fits else "int64"}


def _whole(bound: float) -> int:
    # 2^63 - 1 has no float: the nearest one is a bit too large.
    return min(int(bound), _INT64 - 1)
