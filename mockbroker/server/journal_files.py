"""The journal in files: one JSON object a line, written by a thread of its own.

`launch` starts a `JournalWriter` when a directory was given. The broker's thread does no more than
append an event to a bounded queue; this thread decodes, writes, flushes once a second and begins a
new file when one is large. What does not fit into the queue is left out, and a line says how much.
docs/journal.md is the schema.

Invariants: a file holds whole lines and begins with a `run` line; `seq` grows by one an event, so
what was left out is a gap; after `stop` everything that was taken is written and no thread is left.
Where a file cannot be written, as on a full disk, the journal ends there, whole lines still, with a
line on standard error; the broker goes on.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.journal.lines import line_of
from mockbroker.journal.request import SCHEMA, RequestServed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import FileIO

    from mockbroker.clock import Clock
    from mockbroker.journal import Event, Journal
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer

FILE_BYTES: Final = 64 << 20
QUEUE_EVENTS: Final = 65_536
QUEUE_BYTES: Final = 128 << 20
"""Of the requests and answers in the queue, which are kept undecoded."""
FLUSH_SECONDS: Final = 0.5
WRITE_BYTES: Final = 64 << 10


class _Taken(NamedTuple):
    """An event in the queue, with what the ring may let go before it is written."""

    seq: int
    at_ms: float
    wall_ms: int
    event: Event
    lost: int
    size_bytes: int
    frame: Frame | None
    chunks: list[Buffer] | None


class JournalWriter:
    """Writes one run's journal into a directory. `lines_dropped` counts what was left out."""

    def __init__(
        self,
        directory: str,
        journal: Journal,
        clock: Clock,
        run: str,
        facts: Mapping[str, object],
        *,
        file_bytes: int = FILE_BYTES,
        queue_events: int = QUEUE_EVENTS,
    ) -> None:
        """`run` names the run; `facts` are what its `run` lines tell beyond that."""
        self.directory = directory
        self.lines_dropped = 0
        self._journal = journal
        self._clock = clock
        self._run = run
        self._facts = dict(facts)
        self._file_bytes = file_bytes
        self._queue_events = queue_events
        self._queue: deque[_Taken] = deque()
        self._seq = 0
        self._lost = 0
        self._bytes_in = 0
        self._bytes_out = 0
        self._file: FileIO | None = None
        self._lines = bytearray()
        """What the file lacks."""
        self._files = 0
        self._written = 0
        self._started_wall_ms = clock.epoch_ms
        self._wake = threading.Event()
        self._stopping = False
        self.problem: str | None = None
        """Why it ended: nothing is written any more."""
        self._thread = threading.Thread(target=self._work, name="mockbroker-journal", daemon=True)

    def start(self) -> None:
        """Begin the first file. Raises OSError when the directory cannot be written."""
        Path(self.directory).mkdir(parents=True, exist_ok=True)
        self._begin_file()
        self._journal.listen(self._take, requests=True, high_watermarks=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what was taken, and end."""
        if self._stopping:
            return
        self._journal.unlisten(self._take)
        self._stopping = True
        self._wake.set()
        self._thread.join()
        self._close()

    # -- in the broker's thread ------------------------------------------------------------

    def _take(self, event: Event) -> None:
        self._seq += 1
        queue = self._queue
        length = len(queue)
        if length >= self._queue_events or self._bytes_in - self._bytes_out > QUEUE_BYTES:
            self._lost += 1
            self.lines_dropped += 1
            return
        lost, self._lost = self._lost, 0
        clock = self._clock
        size_bytes, frame, chunks = 0, None, None
        if isinstance(event, RequestServed):
            size_bytes = event.request_bytes + event.response_bytes
            frame, chunks = event.frame, event.chunks
        self._bytes_in += size_bytes
        now_ms, wall_ms = clock.now_ms, clock.wall_ms()
        queue.append(_Taken(self._seq, now_ms, wall_ms, event, lost, size_bytes, frame, chunks))
        if length * 2 == self._queue_events:
            self._wake.set()

    # -- in the thread of its own ----------------------------------------------------------

    def _work(self) -> None:
        try:
            while not self._stopping:
                self._wake.wait(FLUSH_SECONDS)
                self._wake.clear()
                self._write_queue()
            self._write_queue()
            if self._lost:
                self._write(self._dropped(self._lost, self._seq, self._clock.now_ms))
            self._flush()
        except OSError as error:
            self._journal.unlisten(self._take)
            self._queue.clear()
            reason = self.problem = (error.strerror or str(error)).lower()
            with suppress(OSError, ValueError):  # that stream may be closed, or as full
                text = f"mockbroker: journal in {self.directory}: {reason}; it ends here\n"
                sys.stderr.write(text)

    def _write_queue(self) -> None:
        queue = self._queue
        while queue:
            taken = queue.popleft()
            if taken.lost:
                self._write(self._dropped(taken.lost, taken.seq - 1, taken.at_ms))
            self._write(self._line(taken))
            self._bytes_out += taken.size_bytes
        self._flush()

    def _line(self, taken: _Taken) -> dict[str, object]:
        event = taken.event
        let_go = isinstance(event, RequestServed) and event.frame is None
        if isinstance(event, RequestServed) and let_go:
            event.frame, event.chunks = taken.frame, taken.chunks
        line = line_of(event, self._journal.topic_name)
        if isinstance(event, RequestServed) and let_go:
            event.frame = event.chunks = None
        return self._placed(line, taken.seq, taken.at_ms, taken.wall_ms)

    def _placed(
        self, line: dict[str, object], seq: int, at_ms: float, wall_ms: int
    ) -> dict[str, object]:
        place = {"run": self._run, "seq": seq, "at_ms": round(at_ms, 3), "wall_ms": wall_ms}
        return {"schema": SCHEMA, "kind": line["kind"], **place, **line}

    def _dropped(self, lines: int, seq: int, at_ms: float) -> dict[str, object]:
        dropped: dict[str, object] = {"kind": "dropped", "lines": lines}
        return self._placed(dropped, seq, at_ms, self._started_wall_ms + int(at_ms))

    def _write(self, line: dict[str, object]) -> None:
        if self._written >= self._file_bytes:
            self._begin_file()
        self._put(line)

    def _put(self, line: dict[str, object]) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        self._lines += data
        self._written += len(data)
        if len(self._lines) >= WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write what is pending; of what does not fit, the lines that do."""
        file, lines = self._file, self._lines
        if file is None or not lines:
            return
        self._lines = bytearray()
        at = 0
        try:
            while at < len(lines):
                at += file.write(lines[at:])
        except OSError:
            cut = at - (lines.rfind(b"\n", 0, at) + 1)
            with suppress(OSError):
                file.truncate(file.tell() - cut)
            raise
        if not os.fstat(file.fileno()).st_nlink and not Path(file.name).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))  # it was deleted

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # such as what a network's file system tells this late
                self._file.close()
            self._file = None

    def _begin_file(self) -> None:
        self._flush()
        self._close()
        name = f"journal-{self._run}-{self._files:06}.jsonl"
        self._file = Path(self.directory, name).open("xb", buffering=0)  # noqa: SIM115 -- closed
        self._written = 0
        run: dict[str, object] = {"kind": "run", **self._facts}
        run |= {"started_wall_ms": self._started_wall_ms, "file": self._files}
        self._files += 1
        self._put(self._placed(run, 0, 0.0, self._started_wall_ms))
        self._flush()
