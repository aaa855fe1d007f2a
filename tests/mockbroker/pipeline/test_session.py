"""The session: which Java, which jars, whose settings win. No test here starts a JVM of Spark."""

from __future__ import annotations

import re
import socket
from typing import IO, TYPE_CHECKING

import pytest

from mockbroker.pipeline import connector, session
from mockbroker.pipeline.connector import (
    CONNECTOR,
    JARS_VARIABLE,
    PACKAGES_CONF,
    an_earlier,
    packages,
)
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.session import (
    SessionOptions,
    check_java,
    conf_for,
    open_session,
    reach,
    reach_master,
    why_no_spark,
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


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ('IMPLEMENTOR="D"\nJAVA_VERSION="21.0.1"\n', None),
        ('JAVA_VERSION="1.8.0_292"\n', "is Java 8: Spark needs a JRE of 17"),
        ("nothing of the kind", "is Java 11"),
    ],
)
def test_a_jdks_own_file_tells_its_version_without_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, told: str | None
) -> None:
    fake_java(tmp_path, "echo 'openjdk version \"11.0.2\"' >&2")
    (tmp_path / "release").write_text(release)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(tmp_path / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'links'}:/usr/bin:/bin")
    if told is None:
        check_java()
        return
    with pytest.raises(PipelineError, match=told):
        check_java()


@pytest.mark.parametrize(
    ("pyspark", "version", "why"),
    [(None, "17", "PySpark is not installed"), ("it", "11.0.2", "is Java 11"), ("it", "17", None)],
)
def test_why_spark_cannot_run_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pyspark: str | None,
    version: str,
    why: str | None,
) -> None:
    fake_java(tmp_path, f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(session, "find_spec", lambda _: pyspark)
    found = why_no_spark()
    assert found is None if why is None else why in str(found)


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match="no java on the PATH"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match="does not run"):
        check_java()


def test_the_users_settings_win_and_spark_submits_master_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jar").touch()
    monkeypatch.setenv(JARS_VARIABLE, str(tmp_path))
    options = SessionOptions("t", conf={PACKAGES_CONF: "org:mine:1"})
    assert conf_for(options, submitted=False)[PACKAGES_CONF] == "org:mine:1"
    assert conf_for(options, submitted=False)["spark.jars"] == str(tmp_path / "a.jar")
    options = SessionOptions("t", conf={"spark.jars": "mine.jar"})
    assert conf_for(options, submitted=False)["spark.jars"] == f"{tmp_path / 'a.jar'},mine.jar"
    options = SessionOptions("t", conf={PACKAGES_CONF: f"o:{CONNECTOR}2.13:4.0.1"})
    assert "spark.jars" not in conf_for(options, submitted=False)
    mine = conf_for(SessionOptions("t", conf={"spark.ui.enabled": "true"}), submitted=False)
    assert (mine["spark.master"], mine["spark.ui.enabled"]) == ("local[*]", "true")
    assert int(mine["spark.sql.shuffle.partitions"]) >= 8
    submitted = conf_for(SessionOptions("t"), submitted=True)
    assert "spark.master" not in submitted
    assert "spark.jars" not in submitted
    assert "spark.sql.shuffle.partitions" not in submitted


@pytest.mark.parametrize("resolve", [True, False])
def test_a_connector_that_the_user_names_is_the_only_one(*, resolve: bool) -> None:
    named = f"org.apache.spark:{CONNECTOR}2.13:4.1.1"
    options = SessionOptions("t", conf={PACKAGES_CONF: named}, resolve=resolve)
    assert conf_for(options, submitted=False)[PACKAGES_CONF] == named


@pytest.mark.parametrize("remote", ["head:15002", "http://head:1", "sc://", "sc://h:x", "sc://h:0"])
def test_what_is_no_address_of_a_connect_server_is_refused(remote: str) -> None:
    with pytest.raises(PipelineError, match="is not sc://HOST:PORT"):
        reach(remote)


def test_a_connect_server_that_nobody_runs_is_one_line_at_once() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        # Bound, and nobody listens.
        with pytest.raises(PipelineError, match=rf"^--remote sc://127.0.0.1:{port}/;a=b: "):
            reach(f"sc://127.0.0.1:{port}/;a=b")
        listener.listen()
        reach(f"sc://127.0.0.1:{port}/;a=b")


@pytest.mark.parametrize("master", ["spark://head", "spark://:7077", "spark://head:x"])
def test_what_is_no_address_of_a_master_is_refused(master: str) -> None:
    with pytest.raises(PipelineError, match="is not spark://HOST:PORT"):
        reach_master(master)


def test_one_master_of_several_is_enough() -> None:
    with socket.socket() as first, socket.socket() as second:
        for listener in (first, second):
            listener.bind(("127.0.0.1", 0))
        master = "spark://" + ",".join(
            f"127.0.0.1:{listener.getsockname()[1]}" for listener in (first, second)
        )
        with pytest.raises(PipelineError, match=f"^--master {master}: "):
            reach_master(master)
        second.listen()
        reach_master(master)


def test_jars_with_most_classes_stand_first_unless_the_user_has_a_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    for name in ("avro-1.jar", "scala-library-2.jar", "spark-catalyst_2.13-4.jar"):
        (tmp_path / "jars" / name).touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    first = ":".join(
        str(tmp_path / "jars" / name)
        for name in ("spark-catalyst_2.13-4.jar", "scala-library-2.jar")
    )
    options = SessionOptions("t", connector=False)
    assert conf_for(options, submitted=False)["spark.driver.extraClassPath"] == first
    mine = SessionOptions("t", connector=False, conf={"spark.driver.extraClassPath": "mine.jar"})
    assert conf_for(mine, submitted=False)["spark.driver.extraClassPath"] == "mine.jar"
    assert "spark.driver.extraClassPath" not in conf_for(options, submitted=True)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "elsewhere"))
    assert "spark.driver.extraClassPath" not in conf_for(options, submitted=False)


LACKING = "unresolved dependency: org.apache.spark#spark-sql-kafka-0-10_2.13;4.1.2: not found"
UNREACHED = "Host mirror.example not found. url=https://mirror.example/org/apache/spark"
GONE = "Host repos.spark-packages.org not found. url=https://repos.spark-packages.org/org/apache"


@pytest.mark.parametrize(
    ("told", "patches"), [(f"{GONE}\n{LACKING}", "210"), (f"{UNREACHED}\n{LACKING}", "2")]
)
def test_a_connector_that_repositories_lack_is_looked_for_in_the_releases_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: str, patches: str
) -> None:
    pyspark = pytest.importorskip("pyspark")

    def launch(_conf: object, kwargs: dict[str, IO[bytes]]) -> None:
        kwargs["stderr"].write(f"RuntimeException: [{told}]\n".encode())
        kwargs["stderr"].flush()
        raise pyspark.errors.PySparkRuntimeError("JAVA_GATEWAY_EXITED", {})

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch)
    monkeypatch.setattr(session, "check_java", lambda: None)
    monkeypatch.setattr(connector, "spark_version", lambda: "4.1.2")
    with pytest.raises(PipelineError, match="cannot get its Kafka connector"):
        open_session(SessionOptions("t", resolve=True))
    asked = re.findall(r"getting .*avro_2.13:4\.1\.(\d)\n", capsys.readouterr().err)
    assert asked == list(patches)
    with pytest.raises(PipelineError, match="cannot get"):
        open_session(SessionOptions("t", conf={PACKAGES_CONF: connector.packages()}))
    assert capsys.readouterr().err.count("getting") == 1


def test_the_release_before_replaces_the_connector_alone() -> None:
    assert an_earlier(f"{packages('4.1.2')},o:mine:4.1.2") == f"{packages('4.1.1')},o:mine:4.1.2"
    assert an_earlier(packages("3.5.10")) == packages("3.5.9")
    assert an_earlier(packages("4.1.0")) == an_earlier("o:mine:4.1.2") == ""
