"""Files in and out: the format by the name, and one clear error for what is wrong in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.errors import BrokenInputError, PipelineError, explain
from mockbroker.pipeline.sources import format_of, line_of, read_dataset, write_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.parquet", "parquet"),
        ("s3a://bucket/a.JSONL.gz", "json"),
        ("dir.csv/", "csv"),
        ("/x/a.orc", "orc"),
        ("hdfs://h/a.b.avro", "avro"),
    ],
)
def test_the_name_tells_the_format(path: str, name: str) -> None:
    assert format_of([path]) == name


def test_a_folder_is_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-0.csv").touch()
    assert format_of([str(tmp_path)]) == "csv"
    (tmp_path / "part-1.json").touch()
    with pytest.raises(PipelineError, match="tells no format: name it by --format"):
        format_of([str(tmp_path)])


def test_names_that_do_not_agree() -> None:
    with pytest.raises(PipelineError, match="several formats"):
        format_of(["a.csv", "b.json"])
    with pytest.raises(PipelineError, match="tells no format"):
        format_of(["a.csv", "b"])


@pytest.mark.spark
@pytest.mark.parametrize("name", ["parquet", "json", "csv", "avro", "orc"])
def test_each_format_is_read(spark: SparkSession, tmp_path: Path, name: str) -> None:
    out = str(tmp_path / f"out.{name}")
    rows = spark.range(3).selectExpr("id", "concat('n', id) as name")
    writer = rows.write.format(name)
    (writer.option("header", "true") if name == "csv" else writer).save(out)
    found = read_dataset(spark, [out], schema="id BIGINT, name STRING")
    assert sorted((row["id"], row["name"]) for row in found.collect()) == [
        (0, "n0"),
        (1, "n1"),
        (2, "n2"),
    ]


@pytest.mark.spark
def test_a_file_that_is_broken_is_told_by_name(spark: SparkSession, tmp_path: Path) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is not one PAR1")
    (tmp_path / "bad.json").write_text('{"a": 1}\n{"a": \n')
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    lines = {}
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises((PySparkException, Py4JError)) as raised:
            read_dataset(spark, [str(path)], schema="a BIGINT, b BIGINT").write.format("noop").mode(
                "overwrite"
            ).save()
        lines[path.name] = explain(raised.value)
    for name, line in lines.items():
        assert name in line, line
        assert "\n" not in line


@pytest.mark.spark
def test_files_whose_schemas_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    spark.range(1).selectExpr("id as a").write.parquet(str(tmp_path / "one.parquet"))
    spark.range(1).selectExpr("'x' as a").write.parquet(str(tmp_path / "two.parquet"))
    both = [str(tmp_path / "one.parquet"), str(tmp_path / "two.parquet")]
    with pytest.raises((PySparkException, Py4JError)) as raised:
        read_dataset(spark, both)
    assert "schemas differ" in explain(raised.value)


@pytest.mark.spark
def test_an_output_is_replaced_only_when_told(spark: SparkSession, tmp_path: Path) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    out = str(tmp_path / "out")
    write_dataset(spark.range(3), out, "parquet", overwrite=False)
    with pytest.raises((PySparkException, Py4JError)) as raised:
        write_dataset(spark.range(4), out, "parquet", overwrite=False)
    assert explain(raised.value).startswith("the output exists already")
    write_dataset(spark.range(5), out, "parquet", overwrite=True)
    assert spark.read.parquet(out).count() == 5
    with pytest.raises(PipelineError, match="--format: 'xml'"):
        read_dataset(spark, [out], "xml")


@pytest.mark.spark
def test_the_line_that_a_reader_refuses(spark: SparkSession, tmp_path: Path) -> None:
    bad, csv = tmp_path / "bad.json", tmp_path / "bad.csv"
    bad.write_text('{"a": 1}\n\n{"a": "x"}\n{"a"\n')
    csv.write_text("a;b\n1;2\n3\n")
    rows = spark.createDataFrame([], "a BIGINT, b BIGINT")
    assert line_of(rows, str(bad), "json") == 3
    assert line_of(rows, str(bad), "json", {"multiLine": "true"}) is None
    assert line_of(rows, str(csv), "csv", {"sep": ";"}) == 3
    assert line_of(rows, str(csv), "parquet") is None
    with pytest.raises(BrokenInputError, match=r"bad\.json, line 4$"):
        read_dataset(spark, [str(bad)])
    whole = tmp_path / "whole.json"
    whole.write_text('{"a":\n 1\n')
    with pytest.raises(BrokenInputError, match=r"stopped at \S+whole\.json$"):
        read_dataset(spark, [str(whole)], options={"multiLine": "true"})
    csv.write_text("a,b\n1,2\n")
    assert line_of(rows, str(csv), "csv") is None
