"""A process that makes the lines of a journal, where there are more than a thread can make beside
a broker.

A request is a few microseconds of work, its line fifty; a thread takes them from the broker, as
only one of the two runs at a time. `journal_files` starts this process once there is much to tell,
hands it the file, and from then on no more than packs what happened, in batches, into its input.

What it was handed is written also when the broker is killed: the process ends with its input.
Between the two are bytes of `marshal`, of this Python for this Python, each message with its length
before it: the state of the files first, then batches of `Item`.
"""

from __future__ import annotations

import marshal
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final, cast

from mockbroker.journal.lines import line_of
from mockbroker.journal.replay import add_replay
from mockbroker.journal.request import SCHEMA, RequestServed
from mockbroker.server.journal_items import EVENT_FIELDS, LATER_FIELDS, LINE, NAME
from mockbroker.server.journal_lines import LineFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.journal.details import TopicName
    from mockbroker.server.journal_items import Item

NICENESS: Final = 5
"""The broker and its clients come first, where there are fewer processors than they all want."""
LENGTH_BYTES: Final = 4


class EncoderProcess:
    """The process, from the broker's side; a thread feeds it, as fast as it takes."""

    def __init__(self, files: LineFiles, names: Mapping[bytes, str]) -> None:
        """Start it; it goes on with these files, which are no longer to be written here."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(  # noqa: S603 -- ourselves
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the broker
        )
        self._messages: SimpleQueue[bytes | None] = SimpleQueue()
        self._problem: OSError | None = None
        self.bytes_in = 0
        self.bytes_out = 0
        """What was packed, and what the process has taken of it."""
        self._thread = threading.Thread(
            target=self._feed, name="mockbroker-journal-feed", daemon=True
        )
        self._thread.start()
        state = (files.directory, files.run, files.facts, files.started_wall_ms, files.file_bytes)
        self._put((state, files.number, files.written, dict(names)))

    def send(self, items: list[Item]) -> None:
        """Hand on a batch. OSError: the process has ended, and why."""
        if self._problem is not None:
            raise self._problem
        self._put(items)

    def stop(self) -> None:
        """Wait until all is written. OSError: it could not be."""
        self._messages.put(None)
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _put(self, message: object) -> None:
        data = marshal.dumps(cast("Any", message))
        self.bytes_in += len(data)
        self._messages.put(len(data).to_bytes(LENGTH_BYTES, "big") + data)

    def _feed(self) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError), stdin:  # what it says on its way out is the reason
            while (message := self._messages.get()) is not None:
                stdin.write(message)
                stdin.flush()
                self.bytes_out += len(message) - LENGTH_BYTES
        with stdout:
            said = stdout.read().decode().strip()
        if self._process.wait():
            self._problem = OSError(said or "the process that writes it has died")


# -- the process ------------------------------------------------------------------------------


def line_of_item(item: Item, topic_name: TopicName, *, replay: bool = False) -> dict[str, object]:
    """The line of what was handed over; `replay`: that of a request as to be run again."""
    if item[4] == LINE:
        return cast("dict[str, object]", item[5])
    names = EVENT_FIELDS.get(item[4])
    if names is not None:
        values = cast("tuple[object, ...]", item[5])
        return {"schema": SCHEMA, "kind": item[4], **dict(zip(names, values, strict=True))}
    fields, frame, answer = cast("tuple[tuple[Any, ...], bytes | None, bytes | None]", item[5])
    key, version, correlation_id, client_id, connection_id, arrived, completed, size = fields[:8]
    served = RequestServed(
        key,
        version,
        correlation_id,
        client_id,
        connection_id,
        arrived_ms=arrived,
        completed_ms=completed,
        request_bytes=size,
    )
    for name, value in zip(LATER_FIELDS, fields[8:-1], strict=True):
        setattr(served, name, value)
    served.frame = frame
    served.chunks = None if answer is None else [answer]
    line = line_of(served, topic_name)
    line["broker"] = fields[-1]
    if replay:
        add_replay(line, served.frame, served.chunks)
    return line


def encode(stream: IO[bytes]) -> None:
    """Write what comes, until it ends; OSError where that is not possible."""
    first = _read(stream)
    if first is None:
        return
    state, number, written, names = cast(
        "tuple[tuple[str, str, dict[str, object], int, int], int, int, dict[bytes, str | None]]",
        first,
    )
    files = LineFiles(*state)
    files.go_on(number, written)
    try:
        while (items := _read(stream)) is not None:
            _write(files, cast("list[Item]", items), names)
            files.flush()
    finally:
        files.close()


def _write(files: LineFiles, items: Iterable[Item], names: dict[bytes, str | None]) -> None:
    replay = bool(files.facts.get("replay"))
    for item in items:
        seq, at_ms, wall_ms, lost, kind, _ = item
        if kind == NAME:
            topic_id, name = cast("tuple[bytes, str | None]", item[5])
            names[topic_id] = name
            if name is None:
                del names[topic_id]
            continue
        if lost:
            files.write(files.dropped(lost, seq - 1, at_ms))
        line = line_of_item(item, names.get, replay=replay)
        files.write(files.placed(line, seq, at_ms, wall_ms))


def _read(stream: IO[bytes]) -> object | None:
    """The next message; None at the end, be it in the middle of one."""
    length = stream.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    data = stream.read(size)
    return None if len(data) < size else cast("object", marshal.loads(data))  # noqa: S302 -- ours


def main() -> int:
    """The process: 0 when all is written, else the reason is told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(NICENESS)
    try:
        encode(sys.stdin.buffer)
    except OSError as error:
        sys.stdout.write((error.strerror or str(error)).lower())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
