"""synth: the same rows for a seed on any number of tasks, with the shares that were asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.command import run
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.records import fingerprint
from mockbroker.pipeline.synth import SynthSpec, spec_from, start_ms, synthetic_rows
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
    # The share of [1, 2) in x^-1.2 over [1, 51).
    hottest = (2**-0.2 - 1) / (51**-0.2 - 1)
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
