"""Files of whole lines, each readable alone; what cannot be kept up with is counted and said."""

from __future__ import annotations

import io
import json
import shutil
import sys
from io import FileIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockBroker
from mockbroker.clock import Clock
from mockbroker.journal import ConnectionOpened, Journal, RequestServed
from mockbroker.server.journal_files import JournalWriter
from mockbroker.server.journal_lines import FILE_BYTES, LineFiles
from mockbroker.server.values import SettingsError
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.blocking import BlockingConnection
from tests.support.core import Core

if TYPE_CHECKING:
    from pathlib import Path

OPENED = ConnectionOpened(1, "/127.0.0.1", "PLAINTEXT", 0)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def files_in(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def writer(
    directory: Path, journal: Journal, file_bytes: int = FILE_BYTES, **limits: Any
) -> JournalWriter:
    files = LineFiles(str(directory), "ab", {"cluster_id": "c"}, 1_000, file_bytes)
    made = JournalWriter(files, journal, Clock(1_000), None, **limits)
    made.start()
    return made


def test_every_event_is_a_line_behind_the_run_s(tmp_path: Path) -> None:
    core = Core()
    client = core.client("app")
    written = writer(tmp_path / "new", core.cluster.journal)
    client.call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    client.disconnect()
    written.stop()
    (file,) = files_in(tmp_path / "new")
    run, request, closed = lines_of(file)
    assert file.name == "journal-ab-000000.jsonl"
    assert (run["kind"], run["schema"], run["seq"], run["cluster_id"]) == ("run", 1, 0, "c")
    assert (request["kind"], request["api"], request["error"]) == ("request", "Heartbeat", 25)
    assert (request["seq"], request["run"], request["wall_ms"]) == (1, "ab", 1_000)
    assert (closed["kind"], closed["seq"], closed["client_id"]) == ("connection_closed", 2, "app")
    core.client().call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    assert len(lines_of(file)) == 3
    written.stop()


def test_a_full_file_is_followed_by_another_that_tells_of_the_run_too(tmp_path: Path) -> None:
    journal = Journal()
    written = writer(tmp_path, journal, file_bytes=400)
    for _ in range(10):
        journal.record(OPENED)
    written.stop()
    files = [lines_of(path) for path in files_in(tmp_path)]
    assert len(files) > 2
    assert [lines[0]["kind"] for lines in files] == ["run"] * len(files)
    assert [lines[0]["file"] for lines in files] == list(range(len(files)))
    numbers = [line["seq"] for lines in files for line in lines[1:]]
    assert numbers == list(range(1, 11))


def test_what_does_not_fit_is_counted_and_said(tmp_path: Path) -> None:
    journal = Journal()
    written = writer(tmp_path, journal, queue_events=4)
    lock = written._wake  # the thread sleeps until it is woken, or for half a second
    lock.clear()
    for _ in range(3000):
        journal.record(OPENED)
    written.stop()
    lines = [line for path in files_in(tmp_path) for line in lines_of(path)][1:]
    kept = [line for line in lines if line["kind"] == "connection_opened"]
    dropped = sum(line["lines"] for line in lines if line["kind"] == "dropped")
    assert dropped == written.lines_dropped > 0
    assert len(kept) + dropped == 3000
    # A gap in the numbers is what the line between says.
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        if line["kind"] == "dropped":
            assert after["seq"] - before["seq"] - 1 == line["lines"]


def test_bytes_that_the_ring_let_go_are_written_all_the_same(tmp_path: Path) -> None:
    core = Core()
    core.client("app").call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    (served,) = core.cluster.journal.requests()
    journal = Journal()
    written = writer(tmp_path, journal)
    journal.served(served)
    served.frame = served.chunks = None
    written.stop()
    (_, line) = lines_of(files_in(tmp_path)[0])
    assert line["group"]["group"] == "g"


class SmallDisk(FileIO):
    """A file of which only so much is written, as where a disk fills."""

    room = 0

    def write(self, data: Any) -> int:
        taken = super().write(data[: self.room])
        self.room -= taken
        if not taken:
            raise OSError(28, "No space left on device")
        return taken


@pytest.mark.parametrize("room", [0, 1, 500, 700])
def test_a_disk_that_takes_no_more_ends_the_journal_and_not_the_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    journal = Journal()
    written = writer(tmp_path, journal)
    assert written.files.file is not None
    written.files.file.close()
    (path,) = files_in(tmp_path)
    written.files.file = disk = SmallDisk(path, "a")
    disk.room = room
    for _ in range(10):
        journal.record(OPENED)
    written._wake.set()
    written._writing.join(20)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no space left on device; it ends here" in error
    assert written.problem == "no space left on device"
    journal.served(RequestServed(18, 3, 1, "app", 1))
    written.stop()
    assert path.read_bytes().endswith(b"\n")
    line = len(path.read_bytes().splitlines(keepends=True)[-1])
    assert len(lines_of(path)) == 1 + (room // line if room > 1 else 0)


@pytest.mark.parametrize("file_bytes", [400, 1 << 20])
def test_a_folder_that_was_deleted_ends_the_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file_bytes: int
) -> None:
    folder = tmp_path / "journal"
    journal = Journal()
    written = writer(folder, journal, file_bytes=file_bytes)
    shutil.rmtree(folder)
    for _ in range(10):
        journal.record(OPENED)
    written.stop()
    assert capsys.readouterr().err == (
        f"mockbroker: journal in {folder}: no such file or directory; it ends here\n"
    )


def test_a_journal_that_can_tell_nobody_ends_without_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "journal"
    journal = Journal()
    written = writer(folder, journal, file_bytes=400)
    shutil.rmtree(folder)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    for _ in range(10):
        journal.record(OPENED)
    written.stop()  # an error in the thread would fail this test: pytest tells of it


def test_a_broker_writes_its_journal_and_stops_with_the_last_line(tmp_path: Path) -> None:
    with (
        MockBroker(journal=tmp_path, seed=5, topics=["orders"]) as broker,
        BlockingConnection(broker.bootstrap_servers) as client,
    ):
        for _ in range(3):
            client.send(HeartbeatRequest("g", 1, "m"), 4)
            client.receive(HeartbeatResponse)
        broker.clock.advance(1_000)
    (file,) = files_in(tmp_path)
    lines = lines_of(file)
    kinds = [line["kind"] for line in lines]
    assert kinds == [
        "run", "connection_opened", *["request"] * 3, "clock", "connection_closed",
    ]  # fmt: skip
    assert (lines[0]["seed"], lines[0]["nodes"]) == ("5", [1])
    assert all(line["service_ms"] >= 0 for line in lines if line["kind"] == "request")
    assert all(earlier["seq"] < later["seq"] for earlier, later in pairwise(lines))


def test_the_page_of_analyze_is_known_once_it_is_there(tmp_path: Path) -> None:
    written = writer(tmp_path, Journal())
    found = [written.page]
    (tmp_path / "report.html").touch()
    found.append(written.page)
    assert found == [None, tmp_path / "report.html"]
    written.stop()


def test_a_directory_that_cannot_be_written_is_told_by_its_option(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SettingsError, match=r"journal: .*file.*cannot be written"):
        MockBroker(journal=file).start()
