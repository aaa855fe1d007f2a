"""dump: ranges, decodings, and a stream that takes only what is new."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.command import run
from mockbroker.pipeline.dump import avro_schema, ddl_of_variant
from mockbroker.pipeline.errors import PipelineError
from tests.support import whole_topics
from tests.support.fake_registry import framed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

AVRO = '{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'


def produce(broker: MockBroker, topic: str, *values: bytes, partitions: int = 1) -> None:
    with BrokerClient(broker.bootstrap_servers) as client:
        client.create_topic(topic, partitions)
    for number, value in enumerate(values):
        whole_topics.produce(
            broker.bootstrap_servers,
            topic,
            [value],
            keys=[b"k%d" % number],
            partition=number % partitions,
            timestamps=[1000 * (number + 1)],
            headers=[("h", b"1")],
        )


def dump(spark: SparkSession, broker: MockBroker, *words: str) -> int:
    return run(["dump", "--bootstrap", broker.bootstrap_servers, *words], spark)


@pytest.mark.spark
def test_records_are_dumped_as_they_are(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    produce(broker, topic, b"a", b"\xff", b"c", partitions=2)
    out = str(tmp_path / "out")
    assert dump(spark, broker, out, "--topic", topic) == 0
    rows = spark.read.parquet(out).orderBy("key").collect()
    assert [bytes(row["value"]) for row in rows] == [b"a", b"\xff", b"c"]
    assert [(row["partition"], row["offset"]) for row in rows] == [(0, 0), (1, 0), (0, 1)]
    assert [row["timestamp"].second for row in rows] == [1, 2, 3]
    assert [(h["key"], bytes(h["value"])) for h in rows[0]["headers"]] == [("h", b"1")]


@pytest.mark.spark
def test_ranges_by_offset_and_time(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    produce(broker, topic, *(b"%d" % n for n in range(5)))

    def values(*words: str) -> list[str]:
        out = str(tmp_path / "out")
        words = ("--topic", topic, "--value-format", "string", "--overwrite", *words)
        assert dump(spark, broker, out, *words) == 0
        return sorted(row["value"] for row in spark.read.parquet(out).collect())

    assert values("--from", "offset:1", "--to", "offset:3") == ["1", "2"]
    assert values("--from", "1970-01-01T00:00:03Z") == ["2", "3", "4"]
    assert values("--to", "1970-01-01T00:00:03Z") == ["0", "1"]
    assert values("--from", json.dumps({topic: {"0": 4}})) == ["4"]


@pytest.mark.spark
def test_json_is_decoded_by_an_inferred_schema_and_poison_is_kept(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    produce(broker, topic, b'{"a": 1, "b": {"c": 1.5}}', b'{"a": 2, "d": "x"}', b"{poison")
    out = str(tmp_path / "out")
    words = ["--topic", topic, "--value-format", "json", "--value-schema", "infer"]
    assert dump(spark, broker, out, *words) == 0
    one, two, bad = spark.read.parquet(out).orderBy("offset").collect()
    assert (one["value"]["a"], one["value"]["b"]["c"], one["value"]["d"]) == (1, 1.5, None)
    assert (two["value"]["a"], two["value"]["d"]) == (2, "x")
    assert (bad["value"], bytes(bad["_undecoded"])) == (None, b"{poison")
    assert one["_undecoded"] is None


@pytest.mark.spark
def test_a_schema_is_inferred_behind_a_prefix(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    produce(broker, topic, *(framed(7, b'{"a": %d}' % n) for n in range(2)), framed(8, b"other"))
    out = str(tmp_path / "out")
    words = ["--value-format", "json", "--value-schema", "infer", "--value-schema-id", "7"]
    assert dump(spark, broker, out, "--topic", topic, *words) == 0
    rows = spark.read.parquet(out).orderBy("offset").collect()
    assert [row["value"] and row["value"]["a"] for row in rows] == [0, 1, None]


@pytest.mark.spark
def test_avro_goes_in_and_comes_out(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    source, out = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    spark.range(3).write.parquet(source)
    (tmp_path / "r.avsc").write_text(AVRO)
    words = ["--bootstrap", broker.bootstrap_servers, "--topic", topic]
    words += ["--value-format", "avro", "--value-schema", f"@{tmp_path / 'r.avsc'}"]
    assert run(["load", source, "--create", "1", *words], spark) == 0
    assert run(["dump", out, *words], spark) == 0
    rows = spark.read.parquet(out).collect()
    assert sorted(row["value"]["id"] for row in rows) == [0, 1, 2]


@pytest.mark.spark
@pytest.mark.parametrize("schema", ["a INT", "STRUCT<a: INT>"])
def test_what_is_no_json_of_the_schema_is_kept(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path, schema: str
) -> None:
    whole = [b'{"a": 1}', b'{"b": 2}', b"{}"]
    in_part = [b'{"a": "no"}', b'{"a": 99999999999}']
    other = [b"5", b"[1]", b'"x"', b'[{"a": 1}]', b"{", b""]
    produce(broker, topic, *whole, *in_part, *other)
    out = str(tmp_path / "out")
    words = ["--topic", topic, "--value-format", "json", "--value-schema", schema]
    assert dump(spark, broker, out, *words) == 0
    rows = spark.read.parquet(out).orderBy("offset").collect()
    found = [row["value"] and tuple(row["value"]) for row in rows]
    assert found == [(1,), *[(None,)] * 4, *[None] * 6]
    kept = [None if row["_undecoded"] is None else bytes(row["_undecoded"]) for row in rows]
    assert kept == [*[None] * 3, *in_part, *other]


@pytest.mark.spark
@pytest.mark.parametrize(("schema", "first"), [("ARRAY<INT>", [1]), ("MAP<STRING, INT>", None)])
def test_lists_and_maps_are_decoded_too(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    schema: str,
    first: list[int] | None,
) -> None:
    produce(broker, topic, b"[1]", b"5")
    out = str(tmp_path / "out")
    words = ["--topic", topic, "--value-format", "json", "--value-schema", schema]
    assert dump(spark, broker, out, *words) == 0
    rows = spark.read.parquet(out).orderBy("offset").collect()
    assert [row["value"] for row in rows] == [first, None]
    assert rows[1]["_undecoded"] == b"5"


@pytest.mark.spark
def test_what_is_no_avro_of_the_schema_is_kept(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    values = [b"\2", b"\xff\xff", b"", b"\4"]
    produce(broker, topic, *values)
    out = str(tmp_path / "out")
    words = ["--topic", topic, "--value-format", "avro", "--value-schema", AVRO]
    assert dump(spark, broker, out, *words) == 0
    rows = spark.read.parquet(out).orderBy("offset").collect()
    assert [row["value"] and row["value"]["id"] for row in rows] == [1, None, None, 2]
    kept = [row["_undecoded"] and bytes(row["_undecoded"]) for row in rows]
    assert kept == [None, b"\xff\xff", b"", None]


@pytest.mark.spark
def test_a_checkpoint_makes_each_run_take_what_is_new(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    words = [out, "--topic", topic, "--checkpoint", state, "--value-format", "string"]
    counts = []
    for values in ((b"a", b"b"), (b"c",), ()):
        produce(broker, topic, *values)
        assert dump(spark, broker, *words, "--json") == 0
        counts.append(json.loads(capsys.readouterr().out)["rows"])
    assert counts == [2, 1, 0]
    assert sorted(row["value"] for row in spark.read.parquet(out).collect()) == ["a", "b", "c"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--value-format", "json"], "--value-format json needs --value-schema"),
        (["--value-format", "json", "--value-schema", "a NOTYPE"], "cannot be parsed"),
        (["--value-format", "json", "--value-schema", "infer"], "are no JSON objects of one kind"),
        (["--value-format", "avro", "--value-schema", "{"], "--value-schema: no JSON"),
        (["--checkpoint", "x", "--to", "offset:1"], "--to: with --checkpoint"),
        (["--from", "soon"], "--from: 'soon' is none of"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    produce(broker, topic, b"no json")
    assert dump(spark, broker, str(tmp_path / "out"), "--topic", topic, *words) == 2
    line = capsys.readouterr().err
    assert told in line
    assert line.count("\n") == 1


def test_a_variants_type_as_ddl() -> None:
    found = "OBJECT<a: BIGINT, b: ARRAY<VARIANT>, c: DECIMAL(3,1), d: OBJECT<e: VOID>>"
    assert ddl_of_variant(found) == (
        "STRUCT<a: BIGINT, b: ARRAY<STRING>, c: DOUBLE, d: STRUCT<e: STRING>>"
    )


def test_an_avro_schema_is_json() -> None:
    assert avro_schema("value", AVRO) == AVRO
    with pytest.raises(PipelineError, match="--value-schema: no JSON"):
        avro_schema("value", "record")


@pytest.mark.spark
@pytest.mark.parametrize("name", ["csv", "avro", "orc", "json"])
def test_each_format_with_a_folder_for_each_value(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path, name: str
) -> None:
    produce(broker, topic, b"a", b"\xff", partitions=2)
    out = tmp_path / "out"
    words = ["--topic", topic, "--format", name, "--partition-by", "date,partition"]
    assert dump(spark, broker, str(out), *words) == 0
    assert sorted(folder.name for folder in (out / "date=1970-01-01").iterdir()) == [
        "partition=0",
        "partition=1",
    ]
    reader = spark.read.option("header", "true") if name == "csv" else spark.read
    values = [
        row["value"] for row in reader.format(name).load(str(out)).orderBy("offset").collect()
    ]
    as_text = name in {"csv", "json"}
    assert sorted(values) == (["/w==", "YQ=="] if as_text else [b"a", b"\xff"])


@pytest.mark.spark
def test_times_in_parquet_are_microseconds(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    produce(broker, topic, b"a")
    assert dump(spark, broker, str(tmp_path / "out"), "--topic", topic) == 0
    (file,) = (tmp_path / "out").glob("*.parquet")
    assert "isAdjustedToUTC=true, timeUnit=microseconds" in str(
        parquet.ParquetFile(file).schema.column(3).logical_type
    )


@pytest.mark.spark
def test_confluents_framing_goes_in_and_comes_out(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    source, out = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    spark.range(3).write.parquet(source)
    (tmp_path / "r.avsc").write_text(AVRO)
    words = ["--bootstrap", broker.bootstrap_servers, "--topic", topic]
    words += ["--value-format", "avro", "--value-schema", f"@{tmp_path / 'r.avsc'}"]
    sending = ["load", source, *words, "--value", "id", "--create", "1"]
    assert run([*sending, "--value-schema-id", "7"], spark) == 0
    assert run([*sending, "--value-schema-id", "8"], spark) == 0
    (first, *_) = whole_topics.consume(broker.bootstrap_servers, topic)
    assert (first.value or b"")[:5] == b"\0\0\0\0\x07"

    def ids(schema_id: str) -> list[int | None]:
        more = ["--value-schema-id", schema_id, "--overwrite"]
        assert run(["dump", out, *words, *more], spark) == 0
        rows = spark.read.parquet(out).orderBy("offset").collect()
        assert all((row["value"] is None) == (row["_undecoded"] is not None) for row in rows)
        found = [None if row["value"] is None else row["value"]["id"] for row in rows]
        return sorted(found[:3], key=str) + sorted(found[3:], key=str)

    assert ids("7") == [0, 1, 2, None, None, None]
    assert ids("any") == [0, 1, 2] * 2


def test_what_follows_needs_a_place_to_go_on_from(
    broker: MockBroker, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    produce(broker, topic, b"a")
    words = ["dump", str(tmp_path), "--bootstrap", broker.bootstrap_servers, "--topic", topic]
    assert run([*words, "--follow"]) == 2
    assert "--follow needs --checkpoint DIR" in capsys.readouterr().err


@pytest.mark.spark
def test_a_column_to_partition_by_that_is_not_there(
    spark: SparkSession, broker: MockBroker, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    produce(broker, topic, b"a")
    assert dump(spark, broker, "out", "--topic", topic, "--partition-by", "country") == 2
    assert "--partition-by: no column 'country': there are topic," in capsys.readouterr().err
