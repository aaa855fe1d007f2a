"""Lines come to the brokers that they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.what_if.replay_lines import check_files, tasks_of

RUN = {"schema": 1, "kind": "run", "run": "ab", "seq": 0, "replay": True}


def line(kind: str, seq: int, **fields: Any) -> dict[str, Any]:
    return {"schema": 1, "kind": kind, "run": "ab", "seq": seq, "at_ms": 1.0, **fields}


def written(path: Path, *lines: dict[str, Any], end: str = "", spaces: bool = False) -> str:
    separators = None if spaces else (",", ":")
    text = "".join(json.dumps(each, separators=separators) + "\n" for each in lines)
    path.write_text(text + end, "utf-8")
    return str(path)


LINES = (
    RUN,
    line("topic", 1, topic="orders"),
    line("request", 2, api="Fetch", api_key=1, broker=1),
    line("request", 3, api="Produce", api_key=0, broker=1),
    line("connection_closed", 4, client_id='"broker":9', broker=2),
    line("dropped", 5, lines=3),
    line("clock", 6, broker=1),
)


@pytest.mark.parametrize("spaces", [False, True])
def test_fetches_and_logs_go_to_their_broker_and_topics_to_all(
    tmp_path: Path, spaces: bool
) -> None:
    file = written(tmp_path / "a.jsonl", *LINES, spaces=spaces)
    folder = tmp_path / "sorted"
    folder.mkdir()
    tasks = tasks_of([file], folder, {"slots": 1})
    assert [(task["run"], task["broker"]) for task in tasks] == [("ab", 1), ("ab", 2)]
    paths = [Path(task["file"]) for task in tasks]
    kept = [[json.loads(text)["seq"] for text in path.read_text().splitlines()] for path in paths]
    assert kept == [[2], [4]]
    for task in tasks:
        assert [each["seq"] for each in task["shared"]] == [0, 1, 5]
        assert task["settings"] == {"slots": 1}


def test_a_line_that_is_being_written_is_passed_over(tmp_path: Path) -> None:
    cut = json.dumps(line("appended", 7, broker=3), separators=(",", ":"))
    file = written(tmp_path / "a.jsonl", *LINES[:3], end=cut)
    tasks = tasks_of([file], tmp_path, {})
    assert [task["broker"] for task in tasks] == [1]


def test_each_file_is_asked_whether_it_can_be_run_again(tmp_path: Path) -> None:
    good = written(tmp_path / "a.jsonl", RUN)
    old = written(tmp_path / "b.jsonl", {**RUN, "replay": False})
    check_files([good, "s3://elsewhere"])
    with pytest.raises(PipelineError, match=r"^JOURNALS: .*b\.jsonl has not"):
        check_files([good, old])
