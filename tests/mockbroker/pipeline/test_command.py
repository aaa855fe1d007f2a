"""The command line: quick help, one line and status 2 for each mistake before Spark starts."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.command import JOBS, run

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker import MockBroker


def test_each_job_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], *([name, "--help"] for name in JOBS)):
        with pytest.raises(SystemExit) as ended:
            run(words)
        assert ended.value.code == 0
        assert "example" in capsys.readouterr().out


def test_help_needs_no_pyspark() -> None:
    code = (
        "import sys\n"
        "from mockbroker.pipeline.command import build_parser\n"
        "build_parser().format_help()\n"
        "sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "required: JOB"),
        (["fly"], "invalid choice: 'fly'"),
        (["load", "a.csv"], "required: --topic"),
        (["load", "a.csv", "--topic", "t", "--rate", "0"], "--rate: '0' is no number above 0"),
        (["dump", "out"], "one of the arguments --topic --pattern is required"),
    ],
)
def test_a_mistake_in_the_words(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words)
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert told in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["load", "a.csv", "--topic", "nope"], "unknown topic nope"),
        (["dump", "out", "--topic", "nope"], "unknown topic nope"),
        (["load", "a", "--topic", "nope"], "a: its name tells no format"),
        (
            ["dump", "out", "--topic", "t", "--conf", "kafka.security.protocol=TLS"],
            (
                "--kafka: security.protocol=TLS is not spoken;"
                " allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"
            ),
        ),
    ],
)
def test_a_mistake_that_is_told_before_spark_starts(
    broker: MockBroker, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--bootstrap", broker.bootstrap_servers]) == 2
    assert capsys.readouterr().err == f"mockbroker: {told}" + (
        ": name it by --format\n" if "format" in told else "\n"
    )


def test_an_old_java_is_one_line_of_the_command(
    broker: MockBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    words = ["--bootstrap", broker.bootstrap_servers, "--topic", "t", "--create", "1"]
    assert run(["load", "a.csv", *words]) == 2
    assert "is Java 11: Spark needs a JRE of 17" in capsys.readouterr().err


@pytest.mark.spark
def test_an_error_that_spark_raises_is_one_line_of_the_process(
    broker: MockBroker, tmp_path: Path
) -> None:
    words = ["load", str(tmp_path / "no.csv"), "--bootstrap", broker.bootstrap_servers]
    done = subprocess.run(
        [sys.executable, "-m", "mockbroker", "pipeline", *words, "--topic", "t", "--create", "1"],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("mockbroker: no such file or folder: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
