"""Avro by a registry: the schema of an id that is named, and those that records were written by."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from mockbroker.admin.schemas.registry import Schema, SchemaError
from mockbroker.pipeline import registered
from mockbroker.pipeline.command import run
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.registered import avro_of, one_text
from tests.mockbroker.pipeline.test_dump import dump, produce
from tests.support.fake_registry import FakeRegistry, fake_registry, framed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker


def record(name: str, *fields: tuple[object, ...], **more: object) -> dict[str, Any]:
    """An Avro record; fields are names, types and perhaps defaults."""
    made = [dict(zip(("name", "type", "default"), one, strict=False)) for one in fields]
    return {"type": "record", "name": name, "fields": made, **more}


OLD = record("Order", ("id", "long"))
NEW = record("Order", ("id", "long"), ("note", "string", "none"))


def written(schema: object, value: object) -> bytes:
    file = BytesIO()
    schemaless_writer(file, parse_schema(schema), value)  # type: ignore[arg-type]
    return file.getvalue()


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        yield made


# -- schemas in one text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "references", "value"),
    [
        ("long", {}, 7),
        (OLD, {}, {"id": 1}),
        (
            record("A", ("one", "x.B"), ("more", {"type": "array", "items": "x.B"})),
            {"x.B": record("B", ("id", "long"), namespace="x")},
            {"one": {"id": 1}, "more": [{"id": 2}]},
        ),
        (
            record("x.A", ("b", ["null", "B"]), ("c", {"type": "map", "values": "C"})),
            {
                "x.C": {"type": "enum", "name": "x.C", "symbols": ["ON"]},
                "x.B": record("B", ("c", "C"), ("self", ["null", "B"]), namespace="x"),
            },
            {"b": {"c": "ON", "self": {"c": "ON", "self": None}}, "c": {"k": "ON"}},
        ),
        (
            record("x.A", ("b", {"type": "y.B"})),
            {"y.B": record("y.B", ("inner", record("In", ("id", "int")))), "N": "string"},
            {"b": {"inner": {"id": 3}}},
        ),
        (record("x.A", ("b", "N")), {"N": record("x.N", ("id", "int"))}, {"b": {"id": 3}}),
    ],
)
def test_a_schema_has_in_it_what_it_refers_to(
    schema: object, references: dict[str, object], value: object
) -> None:
    texts = {name: json.dumps(one) for name, one in references.items()}
    text = one_text(Schema("AVRO", json.dumps(schema), texts))
    parsed = parse_schema(json.loads(text))
    file = BytesIO(written(json.loads(text), value))
    assert schemaless_reader(file, parsed, None) == value


@pytest.mark.parametrize("text", ["{", '{"type": "record", "fields": 7}', "[7]"])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="the schema is no Avro schema"):
        one_text(Schema("AVRO", text, {}))


def test_the_schema_of_an_id_is_asked_for(registry: FakeRegistry) -> None:
    registry.avro(7, OLD)
    registry.protobuf(8, b"")
    assert json.loads(avro_of(registry.url, 7)) == OLD
    for schema_id, told in ((8, "schema 8 is of type PROTOBUF, not AVRO"), (9, "no schema 9")):
        with pytest.raises(PipelineError, match=f"^--schema-registry: .*{told}$"):
            avro_of(registry.url, schema_id)


# -- jobs --------------------------------------------------------------------------------------


def test_a_mistake_is_told_before_anything_is_made(
    broker: MockBroker, topic: str, registry: FakeRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    framing = ["--value-format", "avro", "--value-schema-id"]
    url = ["--schema-registry", registry.url]
    where = ["--bootstrap", broker.bootstrap_servers, "--topic", topic]
    load = ["load", "x.parquet", "--create", "1", *where]
    dump = ["dump", "out", *where]
    for words, told in (
        ([*load, *framing, "9", *url], "has no schema 9"),
        ([*load, *url], "--schema-registry is for --value-format avro with --value-schema-id"),
        (
            [*dump, *framing, "any", *url, "--checkpoint", "c"],
            "--value-schema-id any: with --checkpoint name",
        ),
    ):
        assert run(words) == 2
        assert told in capsys.readouterr().err
    assert topic not in broker.topics()
    with pytest.raises(SystemExit):
        run([*load, "--schema-registry", "localhost:8081"])
    assert "'localhost:8081' is no http:// or https:// URL" in capsys.readouterr().err


@pytest.mark.spark
def test_rows_are_sent_and_read_by_the_schema_of_an_id(
    spark: SparkSession, broker: MockBroker, topic: str, registry: FakeRegistry, tmp_path: Path
) -> None:
    registry.avro(7, record("Order", ("id", ["null", "long"]), ("total", "Sum")), Sum=1)
    registry.avro(1, record("Sum", ("cents", "long")))
    registry.name("Sum", 1)
    source, out = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    rows = spark.range(2).selectExpr("id", "named_struct('cents', id * 100) AS total")
    rows.write.parquet(source)
    words = ["--bootstrap", broker.bootstrap_servers, "--topic", topic, "--value-format", "avro"]
    words += ["--value-schema-id", "7", "--schema-registry", registry.url]
    assert run(["load", source, "--create", "1", "--value", "id,total", *words], spark) == 0
    sent = sorted(one.value or b"" for one in broker.topic(topic).records())
    assert sent == [framed(7, b"\2\0\0"), framed(7, b"\2\2\xc8\1")]
    assert run(["dump", out, *words], spark) == 0
    found = [row["value"].asDict(recursive=True) for row in spark.read.parquet(out).collect()]
    assert sorted(found, key=str) == [{"id": n, "total": {"cents": n * 100}} for n in range(2)]


@pytest.mark.spark
def test_each_value_is_read_by_the_schema_that_it_was_written_with(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    registry: FakeRegistry,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    registry.avro(3, OLD)
    registry.avro(12, NEW)
    registry.json(5)
    values = [
        framed(3, written(OLD, {"id": 1})),
        framed(12, written(NEW, {"id": 2, "note": "n"})),
        framed(12, written(OLD, {"id": 2})),
        framed(99, b"whose?"),
        framed(5, b"{}"),
        b"\0\xff\xff\xff\xff\2",
        b"\0\0",
    ]
    produce(broker, topic, *values)
    out = str(tmp_path / "out")
    words = ["--topic", topic, "--value-format", "avro", "--value-schema-id", "any"]
    assert dump(spark, broker, out, *words, "--schema-registry", registry.url) == 0
    told = capsys.readouterr().out
    assert "values of schema 99 are not decoded: " in told
    assert "values of schema 5 are not decoded: schema 5 is of type JSON, not AVRO" in told
    rows = spark.read.parquet(out).orderBy("offset").collect()
    found = [row["value"] and row["value"].asDict() for row in rows]
    assert found == [{"id": 1, "note": "none"}, {"id": 2, "note": "n"}, *[None] * 5]
    kept = [row["_undecoded"] and bytes(row["_undecoded"]) for row in rows]
    assert kept == [None, None, *values[2:]]


@pytest.mark.spark
def test_so_many_schemas_are_refused(
    spark: SparkSession,
    registry: FakeRegistry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registered, "MAX_IDS", 2)
    rows = spark.createDataFrame([(framed(n, b""),) for n in (1, 2, 3)], "key BINARY")
    with pytest.raises(PipelineError, match="keys were written with more than 2 schemas"):
        registered.writers_of(rows, "key", registry.url)
    assert registry.asked == []
