"""A process makes the lines of a busy broker: the same ones, in their order, to the last."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.journal import ClockChanged
from mockbroker.journal.lines import line_of
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.server.journal_encoder import encode
from mockbroker.server.journal_files import JournalWriter
from mockbroker.server.journal_items import line_item, name_item
from mockbroker.server.journal_lines import LineFiles
from tests.support.core import Core
from tests.support.journal_items import nobody, packed, poll

if TYPE_CHECKING:
    from pathlib import Path


def lines_in(directory: Path) -> list[dict[str, Any]]:
    paths = sorted(directory.iterdir())
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def files(directory: Path) -> LineFiles:
    return LineFiles(str(directory), "ab", {"nodes": [1]}, 1_000, 20_000)


def test_a_broker_that_is_killed_leaves_what_was_handed_on(tmp_path: Path) -> None:
    first = files(tmp_path)
    first.begin()
    first.close()
    state = (first.directory, first.run, first.facts, first.started_wall_ms, first.file_bytes)
    line = line_of(ClockChanged("freeze", None, 1.0, True), nobody)
    batches: list[object] = [
        (state, first.number, first.written, {}),
        [line_item(line, 1, 2.5, 1_002, 0), name_item(b"i" * 16, "t"), name_item(b"i" * 16, None)],
        [line_item(line, 4, 3.5, 1_003, 2)],
    ]
    sent = b"".join(len(packed(one)).to_bytes(4, "big") + packed(one) for one in batches)
    encode(io.BytesIO(sent + b"\0\0\1\0 in the middle of one"))
    told = [(line["kind"], line["seq"]) for line in lines_in(tmp_path)]
    assert told == [("run", 0), ("clock", 1), ("dropped", 3), ("clock", 4)]


def test_a_busy_broker_has_a_process_write_and_nothing_is_lost(tmp_path: Path) -> None:
    core = Core(topics={"orders": 1})
    cluster = core.cluster
    written = JournalWriter(
        files(tmp_path), cluster.journal, cluster.clock, cluster.metadata, busy_events=10
    )
    expected: list[dict[str, object]] = []
    cluster.journal.listen(
        lambda event: expected.append(line_of(event, cluster.metadata.topic_name)), requests=True
    )
    written.start()
    client = core.client("app")
    for _ in range(60):
        poll(core, client, "orders")
    written.stop()
    run, *others = lines_in(tmp_path)
    lines = [line for line in others if line["kind"] != "run"]
    requests = [line for line in lines if line["kind"] == "request"]
    assert run["nodes"] == [1]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    told = [{name: line[name] for name in expected[-1]} for line in requests]
    assert told == [line for line in expected if line["kind"] == "request"]
    assert told[0]["topics"] == ["orders"]
    assert written.problem is None
    assert written._encoder is not None, "it was busy"


def test_topics_that_come_and_go_are_known_by_name(tmp_path: Path) -> None:
    core = Core(topics={"orders": 1, "gone": 1})
    cluster = core.cluster
    gone_id = cluster.metadata.topics["gone"].id
    written = JournalWriter(files(tmp_path), cluster.journal, cluster.clock, cluster.metadata)
    cluster.metadata.subscribe(written._on_change)
    written.files.begin()
    cluster.controller.create_topics([NewTopic("before", 1, 1)])
    written._begin_encoder()
    cluster.controller.create_topics([NewTopic("late", 1, 1)])
    cluster.controller.delete_topics([TopicReference("gone")])
    assert written._names is not None
    told = [item[5] for item in written._names]
    assert told == [(cluster.metadata.topics["late"].id, "late"), (gone_id, None)]
    written._end()


def test_a_process_that_cannot_write_says_why_and_the_journal_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "journal"
    core = Core()
    cluster = core.cluster
    written = JournalWriter(
        files(folder), cluster.journal, cluster.clock, cluster.metadata, busy_events=1
    )
    written.start()
    shutil.rmtree(folder)
    core.client().disconnect()
    written.stop()
    assert written.problem == "no such file or directory"
    assert capsys.readouterr().err == (
        f"mockbroker: journal in {folder}: no such file or directory; it ends here\n"
    )


def test_where_no_process_can_be_started_the_thread_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    core = Core()
    written = JournalWriter(
        files(tmp_path), core.cluster.journal, core.cluster.clock, busy_events=1
    )
    written.start()
    core.client().disconnect()
    written.stop()
    assert [line["kind"] for line in lines_in(tmp_path)] == [
        "run",
        "connection_opened",
        "connection_closed",
    ]
    assert written.problem is None
