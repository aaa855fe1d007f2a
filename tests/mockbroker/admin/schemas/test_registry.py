"""A registry is asked once for each schema; what it does not have is told in one line."""

from __future__ import annotations

import asyncio

import pytest

from mockbroker.admin.schemas import registry as module
from mockbroker.admin.schemas.registry import Schema, SchemaError, SchemaRegistry
from tests.support.fake_registry import FakeRegistry


async def test_a_schema_is_asked_for_once(registry: FakeRegistry) -> None:
    registry.avro(7, "string")
    asked = SchemaRegistry(registry.url)
    found = await asyncio.gather(*(asked.schema(7) for _ in range(5)))
    assert set(map(repr, found)) == {repr(Schema("AVRO", '"string"', {}))}
    assert registry.asked == ["/schemas/ids/7"]


async def test_references_stand_behind_what_they_need(registry: FakeRegistry) -> None:
    registry.avro(1, "int")
    registry.name("a", 1)
    registry.avro(2, "long", a=1)
    registry.name("b", 2)
    registry.avro(3, "string", b=1, a=1)
    found = await SchemaRegistry(registry.url).schema(3)
    assert found.references == {"a": '"int"', "b": '"long"'}


async def test_references_in_a_circle_end(registry: FakeRegistry) -> None:
    registry.avro(1, "int", a=1)
    registry.name("a", 1)
    with pytest.raises(SchemaError, match="in a circle"):
        await SchemaRegistry(registry.url).schema(1)


async def test_a_login_is_sent_and_never_told(registry: FakeRegistry) -> None:
    url = registry.url.replace("http://", "http://me:pa%20ss@") + "/base/"
    registry.answers["/base/schemas/ids/1"] = (401, b"")
    with pytest.raises(SchemaError) as refused:
        await SchemaRegistry(url).schema(1)
    assert str(refused.value) == f"{registry.url}/base answered 401 Unauthorized"
    assert registry.authorization == "Basic bWU6cGEgc3M="


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (404, b"", "has no schema 9"),
        (500, b"", "answered 500 Internal Server Error"),
        (200, b"<html>", "answered what is no schema: is it a registry?"),
        (200, b"[]", "answered what is no schema"),
        (200, b"{}", "has no schema in it"),
        (200, b'{"schema": "x", "references": [{}]}', "tells a reference that is none"),
    ],
)
async def test_what_is_no_answer_is_a_problem(
    registry: FakeRegistry, status: int, body: bytes, problem: str
) -> None:
    registry.answers["/schemas/ids/9"] = (status, body)
    with pytest.raises(SchemaError, match=problem):
        await SchemaRegistry(registry.url).schema(9)


async def test_a_long_answer_is_not_read_to_its_end(
    registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    registry.avro(1, "x" * 100)
    with pytest.raises(SchemaError, match="more than 10 bytes"):
        await SchemaRegistry(registry.url).schema(1)


async def test_nobody_there_is_told(registry: FakeRegistry) -> None:
    asked = SchemaRegistry("http://127.0.0.1:1")
    with pytest.raises(SchemaError, match=r"^http://127.0.0.1:1 does not answer: .*refused"):
        await asked.schema(1)


async def test_a_problem_stands_for_a_moment(
    registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = SchemaRegistry(registry.url)
    for _ in range(2):
        with pytest.raises(SchemaError):
            await asked.schema(5)
    assert len(registry.asked) == 1
    registry.avro(5, "string")
    monkeypatch.setattr(module, "AGAIN_S", -1.0)
    assert (await asked.schema(5)).text == '"string"'


async def test_so_many_are_kept(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEPT", 2)
    asked = SchemaRegistry(registry.url)
    for schema_id in (1, 2, 3, 1):
        registry.avro(schema_id, "string")
        await asked.schema(schema_id)
    assert registry.asked.count("/schemas/ids/1") == 2
