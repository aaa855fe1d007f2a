"""load: columns become records, equal ones are counted, and a killed run loses and doubles none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.command import run
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.load import LoadSpec, hashed_columns, missing_records, to_records
from tests.support.whole_topics import consume, produce

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

pytestmark = pytest.mark.spark


def load(spark: SparkSession, broker: MockBroker, *words: str) -> int:
    return run(["load", "--bootstrap", broker.bootstrap_servers, *words], spark)


def test_columns_become_key_value_headers_timestamp_and_partition(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "in.parquet")
    spark.range(6).selectExpr(
        "concat('k', id) as k",
        "id",
        "timestamp_millis(1700000000000 + id) as at",
        "cast(id % 2 as int) as p",
        "concat('h', id) as note",
    ).write.parquet(out)
    words = "--key k --value id --value-format json --header note=note --timestamp at --partition p"
    assert load(spark, broker, out, "--topic", topic, "--create", "2", *words.split()) == 0
    found = sorted(consume(broker.bootstrap_servers, topic), key=lambda record: str(record.key))
    assert [record.key for record in found] == [b"k%d" % n for n in range(6)]
    assert [json.loads(record.value or b"") for record in found] == [{"id": n} for n in range(6)]
    assert [record.headers for record in found] == [[("note", b"h%d" % n)] for n in range(6)]
    assert [record.timestamp for record in found] == [1700000000000 + n for n in range(6)]
    assert [record.partition for record in found] == [n % 2 for n in range(6)]


def test_without_a_partition_column_keys_go_where_kafka_puts_them(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "in.csv")
    spark.range(50).selectExpr("concat('k', id) as k").write.option("header", "true").csv(out)
    assert load(spark, broker, out, "--topic", topic, "--create", "5", "--key", "k") == 0
    ours = {record.key: record.partition for record in consume(broker.bootstrap_servers, topic)}
    keys = [key for key in ours if key is not None]
    assert len(keys) == 50
    produce(broker.bootstrap_servers, topic, [b"librdkafka"] * 50, keys=keys)
    records = consume(broker.bootstrap_servers, topic)
    assert ours == {r.key: r.partition for r in records if r.value == b"librdkafka"}


def test_the_order_within_a_key_is_the_one_asked_for(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "in.parquet")
    spark.range(2000).selectExpr("concat('k', id % 7) as k", "2000 - id as n").write.parquet(out)
    words = "--create 3 --key k --value n --order-by n"
    assert load(spark, broker, out, "--topic", topic, *words.split()) == 0
    by_key: dict[bytes | None, list[int]] = {}
    for record in consume(broker.bootstrap_servers, topic):
        by_key.setdefault(record.key, []).append(int(record.value or b""))
    assert len(by_key) == 7
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert sum(map(len, by_key.values())) == 2000


def test_the_files_own_order_within_a_key(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    source = tmp_path / "in.csv"
    lines = [f"k{n % 3},{n * 7919 % 1000}" for n in range(1000)]
    source.write_text("\n".join(["k,n", *lines]) + "\n")
    words = "--create 2 --key k --value n --keep-order"
    assert load(spark, broker, str(source), "--topic", topic, *words.split()) == 0
    for key in ("k0", "k1", "k2"):
        sent = [
            (r.value or b"").decode()
            for r in consume(broker.bootstrap_servers, topic)
            if r.key == key.encode()
        ]
        assert sent == [line.split(",")[1] for line in lines if line.startswith(f"{key},")]


def test_what_is_missing_is_the_dataset_less_the_topic_as_multisets(spark: SparkSession) -> None:
    spec = LoadSpec(key=("k",), value=("v",), value_format="raw", order_by=("n",))
    rows = spark.createDataFrame(
        [("a", "x", 1), ("a", "x", 2), ("a", "x", 3), ("b", "y", 4), (None, "z", 5)],
        "k STRING, v STRING, n INT",
    )
    sent = spark.createDataFrame(
        [(b"a", b"x", None), (b"a", b"x", None), (None, b"z", None), (b"c", b"c", None)],
        "key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>",
    )
    rest = missing_records(to_records(rows, spec), sent, hashed_columns(spec))
    left = [(bytes(r["key"]), bytes(r["value"]), r["_order"]["n"]) for r in rest.collect()]
    assert sorted(left) == [(b"a", b"x", 3), (b"b", b"y", 4)]


def test_a_load_that_is_done_is_not_done_again(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = str(tmp_path / "in.parquet")
    spark.range(10).write.parquet(out)
    words = ["--topic", topic, "--create", "1", "--checkpoint", str(tmp_path / "state")]
    assert load(spark, broker, out, *words) == 0
    assert load(spark, broker, out, *words) == 0
    assert "all was loaded before" in capsys.readouterr().out
    assert len(consume(broker.bootstrap_servers, topic)) == 10
    assert load(spark, broker, out, out, *words) == 2
    assert "--checkpoint belongs to a load with another source" in capsys.readouterr().err
    assert load(spark, broker, out, *words, "--key", "id") == 2
    assert "--checkpoint belongs to a load with another key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (LoadSpec(key=("nope",)), "no column 'nope': there are id, s"),
        (LoadSpec(value=("id", "s"), value_format="raw"), "--value-format raw takes one column"),
        (LoadSpec(value=("s",), value_format="raw"), "--value: column s is struct<a:int>"),
        (LoadSpec(order_by=("x",)), "no column 'x'"),
    ],
)
def test_columns_that_do_not_fit(spark: SparkSession, spec: LoadSpec, told: str) -> None:
    rows = spark.range(1).selectExpr("id", "struct(1 as a) as s")
    with pytest.raises(PipelineError, match=told):
        to_records(rows, spec)


def test_null_timestamps_are_the_producers_own(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "in.parquet")
    spark.range(1).selectExpr("id", "cast(null as timestamp) as at").write.parquet(out)
    words = ["--topic", topic, "--create", "1", "--timestamp", "at"]
    before = datetime.now(UTC).timestamp() * 1000 - 1
    assert load(spark, broker, out, *words) == 0
    (record,) = consume(broker.bootstrap_servers, topic)
    assert record.timestamp >= before
    assert record.headers == []


def test_a_load_that_fails_says_where_how_much_is_there_and_how_to_go_on(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "zbad.json"
    good.write_text('{"id": 1}\n')
    bad.write_text('{"id": 2}\n\n{"id": \n{"id": 3}\n')
    words = [str(good), str(bad), "--schema", "id BIGINT", "--topic", topic, "--create", "1"]
    assert load(spark, broker, *words) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert "zbad.json, line 3; " in line
    assert f"rows of this run are in {topic}; without --checkpoint DIR it cannot be" in line
    there = len(consume(broker.bootstrap_servers, topic))
    assert f"; {there} rows of this run" in line
    words += ["--checkpoint", str(tmp_path / "state")]
    assert load(spark, broker, *words) == 2
    assert "once that is mended, the same command sends the rest" in capsys.readouterr().err
    bad.write_text('{"id": 2}\n{"id": 3}\n')
    assert load(spark, broker, *words) == 0
    assert len(consume(broker.bootstrap_servers, topic)) - there == 3


@pytest.mark.parametrize("schema", [[], ["--schema", "id BIGINT", "--partition", "id"]])
def test_json_that_is_broken_where_nothing_was_sent_yet(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    schema: list[str],
) -> None:
    """While the schema is inferred, and while partitions are looked through."""
    good, bad = tmp_path / "good.json", tmp_path / "zbad.json"
    good.write_text('{"id": 0}\n')
    bad.write_text('{"id": 0}\n\n{"id": \n{"id": 0}\n{"i\n')
    words = [str(good), str(bad), *schema, "--topic", topic, "--create", "1"]
    assert load(spark, broker, *words) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith(
        "/zbad.json, line 3; this run sent nothing; once that is mended, the same command does it"
    )
    with BrokerClient(broker.bootstrap_servers) as client:
        assert topic not in client.topics()
    bad.write_text('{"id": 0}\n')
    assert load(spark, broker, *words) == 0
    assert len(consume(broker.bootstrap_servers, topic)) == 2


@pytest.mark.parametrize(("partition", "created"), [(2, False), (-1, True)])
def test_a_partition_that_the_topic_has_not_is_refused_before_anything_is_sent(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    partition: int,
    created: bool,
) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"id,p\n1,0\n2,{partition}\n")
    with BrokerClient(broker.bootstrap_servers) as client:
        if created:
            client.create_topic(topic, 2)
        words = [str(source), "--topic", topic, "--create", "2", "--partition", "p"]
        assert load(spark, broker, *words) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert f"--partition: column p holds {partition}: {topic} has partitions 0 to 1" in line
        assert (topic in client.topics()) is created


def test_an_input_without_anything_is_refused_and_one_without_rows_is_told(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "in.json").touch()
    assert load(spark, broker, str(tmp_path / "in.json"), "--topic", topic, "--create", "1") == 2
    assert "the input is empty" in capsys.readouterr().err
    with BrokerClient(broker.bootstrap_servers) as client:
        assert topic not in client.topics()
    (tmp_path / "in.csv").write_text("a,b\n")
    assert load(spark, broker, str(tmp_path / "in.csv"), "--topic", topic, "--create", "1") == 0
    assert "the dataset has no row" in capsys.readouterr().out
