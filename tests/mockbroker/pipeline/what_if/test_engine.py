"""The same tasks here and on Spark, and the code that executors are sent."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.pipeline.what_if import engine
from mockbroker.what_if.simulate import run_task
from mockbroker.what_if.topology import Topology

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SMALL = Topology(brokers=3, partitions=6, consumers=2, seconds=3.0, change_rate=1.0)


def tasks() -> list[dict[str, Any]]:
    values = SMALL.values()
    return [
        {"topology": values, "broker": broker, "scenarios": ["kip-227"]} for broker in (1, 2, 3)
    ]


def plain(results: list[Any]) -> list[tuple[object, ...]]:
    return [(told["broker"], told["followers"], told["readers"]) for (told,) in results]


def test_processes_give_what_this_one_gives_in_order() -> None:
    seen: list[tuple[int, int, int]] = []
    found = engine.run_here(tasks(), 2, lambda *told: seen.append(told))
    assert plain(found) == plain([run_task(task) for task in tasks()])
    assert [done for done, _, _ in seen] == [1, 2, 3]


@pytest.mark.spark
def test_spark_gives_what_this_process_gives(spark: SparkSession) -> None:
    found = engine.run_on_spark(spark, tasks())
    assert plain(found) == plain([run_task(task) for task in tasks()])


def test_the_code_runs_from_the_zip_that_executors_are_sent(tmp_path: Path) -> None:
    code = engine.write_code(tmp_path / "code.zip")
    script = (
        "import sys\n"
        f"sys.path.insert(0, {str(code)!r})\n"
        "from mockbroker.what_if import simulate\n"
        "from mockbroker.what_if.topology import Topology\n"
        f"assert simulate.__file__.startswith({str(code)!r}), simulate.__file__\n"
        "values = Topology(seconds=1.0).values()\n"
        "print(len(simulate.run_task("
        "{'topology': values, 'broker': 1, 'scenarios': ['kip-227']})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_code_that_runs_from_a_zip_is_sent_as_that_zip(tmp_path: Path) -> None:
    code = engine.write_code(tmp_path / "code.zip")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(code)!r})\n"
        "from mockbroker.pipeline.what_if import engine\n"
        f"sent = engine.write_code(Path({str(tmp_path / 'sent.zip')!r}))\n"
        "print(engine.__file__)\n"
    )
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith(str(code))
    assert (tmp_path / "sent.zip").read_bytes() == code.read_bytes()


@pytest.mark.parametrize(("why", "expected"), [("no java", "embedded"), (None, "spark")])
def test_spark_is_the_default_where_it_can_run(
    monkeypatch: pytest.MonkeyPatch, why: str | None, expected: str
) -> None:
    monkeypatch.setattr(engine, "why_no_spark", lambda: why)
    assert engine.default_engine("topology") == expected
