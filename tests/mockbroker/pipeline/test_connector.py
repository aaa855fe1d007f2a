"""Where the connector's jars are looked for, and what Spark is told to get where there are none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.pipeline import connector
from mockbroker.pipeline.connector import JARS_VARIABLE, PACKAGES_CONF, connector_conf, run_jars
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pathlib import Path

PARTS = ("spark-sql-kafka-0-10", "spark-avro")
KAFKA = "spark-sql-kafka-0-10_2.13-4.0.0.jar"


@pytest.fixture(autouse=True)
def no_jars_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JARS_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setattr(connector, "_CLONE", tmp_path / "clone")
    monkeypatch.setattr(connector, "spark_version", lambda: "4.0.0")


def jar(folder: Path, name: str = KAFKA) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"PK")
    return str(folder / name)


def test_the_folder_that_is_named_wins_over_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, told = jar(tmp_path / "named"), jar(tmp_path / "told")
    monkeypatch.setenv(JARS_VARIABLE, str(tmp_path / "told"))
    assert connector_conf(None) == {"spark.jars": told}
    assert connector_conf(str(tmp_path / "named")) == {"spark.jars": named}


@pytest.mark.parametrize("by_option", [True, False])
def test_a_named_folder_without_jars_is_refused_with_all_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    none = str(tmp_path / "none")
    monkeypatch.setenv(JARS_VARIABLE, none)
    name = "--jars" if by_option else JARS_VARIABLE
    with pytest.raises(PipelineError, match=f"^{name}: no jar in .*mockbroker pipeline jars --to"):
        connector_conf(none if by_option else None)


def test_a_spark_that_has_the_connector_is_told_nothing(tmp_path: Path) -> None:
    jar(tmp_path / "spark" / "jars")
    assert connector_conf(None) == {}


def test_what_jars_has_put_away_comes_before_the_clones(tmp_path: Path) -> None:
    clones = jar(tmp_path / "clone" / ".tools" / "spark-4.0.0" / "jars")
    assert connector_conf(None) == {"spark.jars": clones}
    kept = jar(connector.default_folder())
    assert connector_conf(None) == {"spark.jars": kept}


@pytest.mark.parametrize(("spark", "scala"), [("3.5.9", "2.12"), ("4.0.0", "2.13")])
def test_where_there_is_none_spark_is_to_get_those_of_its_own_version(
    monkeypatch: pytest.MonkeyPatch, spark: str, scala: str
) -> None:
    monkeypatch.setattr(connector, "spark_version", lambda: spark)
    names = [f"org.apache.spark:{name}_{scala}:{spark}" for name in PARTS]
    assert connector_conf(None) == {PACKAGES_CONF: ",".join(names)}


def session_with(*jars: str) -> Any:
    conf = {"spark.jars": ",".join(jars)}
    return SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: conf))


def test_jars_keeps_what_spark_itself_lacks(tmp_path: Path) -> None:
    jar(tmp_path / "spark" / "jars", "hadoop-client-api-3.4.1.jar")
    jar(tmp_path / "spark" / "jars", "scala-parallel-collections_2.13-1.1.0.jar")
    got = [
        "file:" + jar(tmp_path / "ivy", name)
        for name in (
            f"org.apache.spark_{KAFKA}",
            "org.apache.hadoop_hadoop-client-api-3.4.1.jar",
            "commons-logging_commons-logging-1.1.3.jar",
            "org.scala-lang.modules_scala-parallel-collections_2.13-1.2.0.jar",
        )
    ]
    summary = run_jars(session_with(*got), str(tmp_path / "to"))
    kept = ["commons-logging-1.1.3.jar", KAFKA]
    assert sorted(jar.name for jar in (tmp_path / "to").iterdir()) == kept
    assert (summary.rows, summary.bytes) == (2, 4)
    paths = ",".join(str(tmp_path / "to" / name) for name in kept)
    assert connector_conf(str(tmp_path / "to")) == {"spark.jars": paths}


def test_jars_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="resolved no jar"):
        run_jars(session_with(), None)
    (tmp_path / "file").touch()
    got = jar(tmp_path / "ivy", f"org.apache.spark_{KAFKA}")
    with pytest.raises(PipelineError, match=r"^--to .*/file/to: "):
        run_jars(session_with(got), str(tmp_path / "file" / "to"))
