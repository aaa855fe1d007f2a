"""The session: which Java, which jars, whose settings win. No test here starts a JVM of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.session import (
    JARS_VARIABLE,
    SessionOptions,
    check_java,
    conf_for,
    connector_jars,
)

if TYPE_CHECKING:
    from pathlib import Path


def fake_java(home: Path, script: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_new_java_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_java(tmp_path, f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_java()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'openjdk version \"11.0.2\"' >&2", "is Java 11: Spark needs a JRE of 17"),
        ("echo 'java version \"1.8.0_292\"' >&2", "is Java 8: Spark needs a JRE of 17"),
        ("exit 3", "tells no version"),
    ],
)
def test_another_java_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    fake_java(tmp_path, script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match=told):
        check_java()


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match="no java on the PATH"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match="does not run"):
        check_java()


def test_jars_are_those_of_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.jar").touch()
    (tmp_path / "a.jar").touch()
    monkeypatch.setenv(JARS_VARIABLE, str(tmp_path))
    assert [jar.rpartition("/")[2] for jar in connector_jars(None)] == ["a.jar", "b.jar"]
    with pytest.raises(PipelineError, match="--jars: no jar in"):
        connector_jars(str(tmp_path / "none"))


def test_the_users_settings_win_and_spark_submits_master_stays() -> None:
    mine = conf_for(SessionOptions("t", conf={"spark.ui.enabled": "true"}), submitted=False)
    assert (mine["spark.master"], mine["spark.ui.enabled"]) == ("local[*]", "true")
    assert int(mine["spark.sql.shuffle.partitions"]) >= 8
    submitted = conf_for(SessionOptions("t"), submitted=True)
    assert "spark.master" not in submitted
    assert "spark.jars" not in submitted
    assert "spark.sql.shuffle.partitions" not in submitted
