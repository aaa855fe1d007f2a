"""synth: the same rows for a seed on any number of tasks, with the shares that were asked for."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.command import run
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.records import fingerprint
from mockbroker.pipeline.synth import (
    SynthSpec,
    spec_from,
    start_ms,
    synthetic_rows,
    with_event_time,
)
from tests.support.whole_topics import consume

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

SPEC = SynthSpec(
    rows=20_000,
    seed=7,
    keys=50,
    skew=1.2,
    size="lognormal:120:0.5",
    late=0.1,
    jitter_ms=20,
    poison=0.05,
)


def test_fields_from_text_and_toml() -> None:
    spec = spec_from({"rows": "5", "late-ms": 10, "skew": "1.5", "size": "50-200"})
    assert spec == SynthSpec(rows=5, late_ms=10, skew=1.5, size="50-200")
    assert start_ms(SynthSpec(start="1970-01-01T00:00:01")) == 1000


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"speed": 1}, "unknown field 'speed'"),
        ({"rows": "many"}, "rows: 'many' is no int"),
        ({"rows": 0}, "rows: allowed is at least 1"),
        ({"late": 1.5}, "late: allowed is a share"),
        ({"skew": -1}, "skew: allowed is 0 or more"),
        ({"daily": 1}, "daily: allowed is 0 or more and below 1"),
        ({"burst_every": 1}, "burst_every: allowed is above 1"),
        ({"tombstones": 2}, "tombstones: allowed is a share"),
        ({"size": "9-1"}, "size: allowed is"),
        ({"size": "big"}, "size: allowed is"),
        ({"start": "soon"}, "start: 'soon' is no time"),
    ],
)
def test_a_field_that_makes_no_sense(values: dict[str, object], told: str) -> None:
    with pytest.raises(PipelineError, match=told):
        spec_from(values)


@pytest.mark.spark
def test_rows_do_not_depend_on_who_makes_them(spark: SparkSession) -> None:
    columns = ("id", "key", "value", "timestamp")
    prints = {
        tuple(fingerprint(synthetic_rows(spark, SPEC, tasks), *columns).collect()[0])
        for tasks in (1, 3, 8)
    }
    assert len(prints) == 1
    other = SynthSpec(rows=20_000, seed=8, keys=50, skew=1.2)
    assert tuple(fingerprint(synthetic_rows(spark, other), *columns).collect()[0]) not in prints


@pytest.mark.spark
def test_shares_skew_sizes_and_times_are_as_asked(spark: SparkSession) -> None:
    rows = synthetic_rows(spark, SPEC, 2)
    rows.createOrReplaceTempView("made")
    (found,) = spark.sql(
        """
        SELECT avg(int(key = 'key-0')) AS hottest, count(DISTINCT key) AS keys,
               median(length(value)) AS median,
               avg(int(try_parse_json(cast(value AS STRING)) IS NULL)) AS poison,
               avg(int(unix_millis(timestamp) < 1767225600000 + id - 20)) AS late,
               min(unix_millis(timestamp) - (1767225600000 + id)) AS latest
        FROM made
        """
    ).collect()
    hottest = 1 / sum(n**-1.2 for n in range(1, 51))
    assert found["hottest"] == pytest.approx(hottest, abs=0.015)
    assert found["keys"] == 50
    assert found["median"] == pytest.approx(120, abs=4)
    assert found["poison"] == pytest.approx(0.05, abs=0.01)
    assert found["late"] == pytest.approx(0.1, abs=0.01)
    assert -60_021 <= found["latest"] < -59_000


@pytest.mark.spark
@pytest.mark.parametrize(("size", "low", "high"), [("100", 100, 100), ("80-90", 80, 90)])
def test_a_value_is_as_long_as_it_was_said(
    spark: SparkSession, size: str, low: int, high: int
) -> None:
    rows = synthetic_rows(spark, SynthSpec(rows=500, size=size), 1).collect()
    lengths = [len(row["value"]) for row in rows]
    assert (min(lengths), max(lengths)) == (low, high)


@pytest.mark.spark
def test_into_a_topic_in_order_and_into_files(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    toml = tmp_path / "stream.toml"
    toml.write_text('rows = 300\nkeys = 5\nstart = "2020-01-01T00:00:00Z"\n')
    words = ["synth", "--spec", str(toml), "--bootstrap", broker.bootstrap_servers]
    assert run([*words, "--topic", topic, "--create", "3", "--ordered"], spark) == 0
    by_key: dict[bytes | None, list[int]] = {}
    for record in consume(broker.bootstrap_servers, topic):
        event = json.loads(record.value or b"")
        assert event["key"].encode() == record.key
        assert event["at"] == record.timestamp
        by_key.setdefault(record.key, []).append(event["id"])
    assert sum(map(len, by_key.values())) == 300
    assert all(ids == sorted(ids) for ids in by_key.values())
    out = str(tmp_path / "out")
    assert run([*words, "--output", out], spark) == 0
    assert spark.read.parquet(out).count() == 300


@pytest.mark.spark
@pytest.mark.parametrize("skew", [0.8, 1.0, 1.4])
def test_keys_are_drawn_by_zipfs_law_also_behind_the_first_ones(
    spark: SparkSession, skew: float
) -> None:
    spec = SynthSpec(rows=100_000, keys=1000, skew=skew)
    rows = synthetic_rows(spark, spec, 1).selectExpr("int(substring(key, 5)) AS k")
    counts = {
        row["k"]: row["n"] for row in rows.groupBy("k").agg({"*": "count"}).toDF("k", "n").collect()
    }
    whole = sum(n**-skew for n in range(1, 1001))
    for low, high in ((0, 1), (1, 10), (10, 128), (128, 140), (140, 500), (500, 1000)):
        expected = sum((n + 1) ** -skew for n in range(low, high)) / whole
        found = sum(counts.get(n, 0) for n in range(low, high)) / 100_000
        assert found == pytest.approx(expected, abs=0.006)
    assert set(counts) <= set(range(1000))


@pytest.mark.spark
def test_a_day_swings_bursts_press_and_time_never_goes_back(spark: SparkSession) -> None:
    spec = SynthSpec(rows=86_400, rate=1.0, daily=0.8, burst=0.5, burst_every=600)
    times = with_event_time(spark.range(0, spec.rows, 1, 1), spec)
    at = [(row["at"] - start_ms(spec)) / 1000 for row in times.orderBy("id").collect()]
    assert at == sorted(at)
    assert at[0] >= 0
    assert at[-1] == pytest.approx(86_400, abs=600)
    night = sum(moment < 3600 for moment in at)
    noon = sum(12 * 3600 <= moment < 13 * 3600 for moment in at)
    assert night / 3600 == pytest.approx(0.21, abs=0.1)
    assert noon / 3600 == pytest.approx(1.79, abs=0.2)
    seconds = Counter(int(moment) for moment in at)
    (_, most) = seconds.most_common(1)[0]
    assert most >= 150


@pytest.mark.spark
def test_tombstones_headers_and_keys_with_a_life(
    spark: SparkSession, broker: MockBroker, topic: str
) -> None:
    words = "--rows 2000 --rate 100 --keys 4 --key-life 5 --tombstones 0.2 --headers 2 --create 2"
    where = ["--bootstrap", broker.bootstrap_servers, "--topic", topic]
    assert run(["synth", *where, *words.split()], spark) == 0
    records = consume(broker.bootstrap_servers, topic)
    assert sum(record.value is None for record in records) / 2000 == pytest.approx(0.2, abs=0.04)
    assert {name for record in records for name, _ in record.headers} == {"h1", "h2"}
    assert all(len(value or b"") == 16 for record in records for _, value in record.headers)
    lives = {(record.key or b"").decode().rpartition("-")[::2] for record in records}
    assert len(lives) in range(16, 25)
