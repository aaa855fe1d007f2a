"""The journal in files: one JSON object a line, written by a thread of its own.

`launch` starts a `JournalWriter` when a directory was given. The broker's thread does no more than
append an event to a bounded queue; this thread decodes, writes, flushes twice a second and begins a
new file when one is large (`journal_lines`). Where there is much to tell it has a process decode
and write (`journal_encoder`), for good: a thread takes turns with the broker. What does not fit
into the queue is left out, and a line says how much. docs/journal.md is the schema.

Invariants: `seq` grows by one an event, so what was left out is a gap; after `stop` everything that
was taken is written and neither thread nor process is left. Where a file cannot be written, as on a
full disk, the journal ends there with a line on standard error; the broker goes on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from mockbroker.journal.lines import line_of
from mockbroker.journal.replay import add_replay
from mockbroker.journal.request import RequestServed
from mockbroker.metadata.changes import TopicCreated, TopicDeleted
from mockbroker.server import placements
from mockbroker.server.journal_encoder import EncoderProcess
from mockbroker.server.journal_items import event_item, line_item, name_item, request_item

if TYPE_CHECKING:
    from mockbroker.clock import Clock
    from mockbroker.journal import Event, Journal
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.server.journal_items import Item
    from mockbroker.server.journal_lines import LineFiles
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer

QUEUE_EVENTS: Final = 131_072
QUEUE_BYTES: Final = 128 << 20
"""Of the requests and answers in the queue, which are kept undecoded."""
FLUSH_SECONDS: Final = 0.5
BUSY_EVENTS: Final = 1000
"""So many in the time between two flushes are for a process: their lines take a tenth of it."""
PAGE: Final = "report.html"
BATCH_EVENTS: Final = 500
"""Packed at a time, within a millisecond."""


_Taken: TypeAlias = tuple[int, float, int, int, "Event", int, "Frame | None", "list[Buffer] | None"]
"""An event in the queue: its number and times, how many were lost before it; of a request the
bytes, which the ring may let go before it is written, and their number."""


class JournalWriter:
    """Writes one run's journal into a directory. `lines_dropped` counts what was left out."""

    def __init__(
        self,
        files: LineFiles,
        journal: Journal,
        clock: Clock,
        metadata: MetadataStore | None = None,
        *,
        queue_events: int = QUEUE_EVENTS,
        busy_events: int = BUSY_EVENTS,
        replay: bool = False,
    ) -> None:
        """`metadata` knows the names of topics, for the process, and where their partitions are.

        `replay`: all is written that it takes to run the fetches again.
        """
        self.lines_dropped = 0
        self.files = files
        self._journal = journal
        self._clock = clock
        self._metadata = metadata
        self._replay = replay
        self._queue_events = queue_events
        self._busy_events = busy_events
        self._queue: deque[_Taken] = deque()
        self._names: deque[Item] | None = None
        """What topics came and went, once the process wants to know."""
        self._encoder: EncoderProcess | None = None
        self._seq = 0
        self._lost = 0
        self._bytes_in = 0
        self._bytes_out = 0
        self._wake = threading.Event()
        self._wake_at = queue_events // 2
        self._stopping = False
        self.problem: str | None = None
        """Why it ended: nothing is written any more."""
        self._writing = threading.Thread(target=self._work, name="mockbroker-journal", daemon=True)

    @property
    def page(self) -> Path | None:
        """What `mockbroker pipeline analyze` made of the files, once it lies beside them."""
        page = Path(self.files.directory, PAGE)
        return page if page.is_file() else None

    def start(self) -> None:
        """Begin the first file. Raises OSError when the directory cannot be written."""
        Path(self.files.directory).mkdir(parents=True, exist_ok=True)
        self.files.begin()
        self._journal.listen(self._take, requests=True, high_watermarks=True, appends=self._replay)
        self._journal.stopwatch = time.perf_counter  # noqa: TID251 -- real time is what it tells
        if self._metadata is not None:
            self._metadata.subscribe(self._on_change)
            if self._replay:
                for event in placements.known(self._metadata):
                    self._take(event)
        self._writing.start()

    def stop(self) -> None:
        """Write what was taken, and end."""
        if self._stopping:
            return
        self._journal.unlisten(self._take)
        self._journal.stopwatch = None
        self._stopping = True
        self._wake.set()
        self._writing.join()
        self.files.close()

    # -- in the broker's thread ------------------------------------------------------------

    def _take(self, event: Event) -> None:
        self._seq += 1
        queue = self._queue
        length = len(queue)
        encoder = self._encoder
        held_bytes = self._bytes_in - self._bytes_out
        if encoder is not None:
            held_bytes += encoder.bytes_in - encoder.bytes_out
        if length >= self._queue_events or held_bytes > QUEUE_BYTES:
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
        queue.append((self._seq, now_ms, wall_ms, lost, event, size_bytes, frame, chunks))
        if length == self._wake_at:
            self._wake.set()

    def _on_change(self, change: Change) -> None:
        if self._replay and not self._stopping:
            event = placements.event_of(change)
            if event is not None:
                self._take(event)
        if self._names is None:
            return
        if isinstance(change, TopicCreated):
            self._names.append(name_item(change.topic_id, change.name))
        elif isinstance(change, TopicDeleted):
            self._names.append(name_item(change.topic_id, None))

    # -- in the thread of its own ----------------------------------------------------------

    def _work(self) -> None:
        try:
            while not self._stopping:
                self._wake.wait(FLUSH_SECONDS)
                self._wake.clear()
                self._write_queue()
            self._write_queue()
            self._end()
        except OSError as error:
            self._journal.unlisten(self._take)
            self._queue.clear()
            reason = self.problem = (error.strerror or str(error)).lower()
            with suppress(OSError, ValueError):  # that stream may be closed, or as full
                text = f"mockbroker: journal in {self.files.directory}: {reason}; it ends here\n"
                sys.stderr.write(text)

    def _write_queue(self) -> None:
        queue, files = self._queue, self.files
        if self._encoder is None and len(queue) >= self._busy_events and sys.executable:
            try:
                self._begin_encoder()
            except OSError:  # no process may be started here: the thread does it
                self._busy_events = sys.maxsize
        if self._encoder is not None:
            self._hand_on(self._encoder)
            return
        while queue:
            seq, at_ms, wall_ms, lost, event, size_bytes, frame, chunks = queue.popleft()
            if lost:
                files.write(files.dropped(lost, seq - 1, at_ms))
            files.write(files.placed(self._line(event, frame, chunks), seq, at_ms, wall_ms))
            self._bytes_out += size_bytes
        files.flush()

    def _line(
        self, event: Event, frame: Frame | None, chunks: list[Buffer] | None
    ) -> dict[str, object]:
        if not isinstance(event, RequestServed) or event.frame is not None:
            line = line_of(event, self._journal.topic_name)
        else:
            event.frame, event.chunks = frame, chunks
            line = line_of(event, self._journal.topic_name)
            event.frame = event.chunks = None
        if self._replay:
            add_replay(line, frame, chunks)
        return line

    def _begin_encoder(self) -> None:
        """Leave the lines from here on to a process."""
        self.files.flush()
        self._names = deque()
        known = () if self._metadata is None else list(self._metadata.topics_by_id.items())
        self._encoder = EncoderProcess(self.files, {each: topic.name for each, topic in known})
        self.files.close()
        self._wake_at = BATCH_EVENTS

    def _hand_on(self, encoder: EncoderProcess) -> None:
        queue, names = self._queue, self._names
        while queue or names:
            items: list[Item] = []
            while names:
                items.append(names.popleft())
            size_bytes = 0
            for _ in range(min(len(queue), BATCH_EVENTS)):
                seq, at_ms, wall_ms, lost, event, size, frame, chunks = queue.popleft()
                size_bytes += size
                if isinstance(event, RequestServed):
                    place = (seq, at_ms, wall_ms, lost)
                    items.append(request_item(event, frame, chunks, place))
                else:
                    items.append(event_item(event, seq, at_ms, wall_ms, lost))
            encoder.send(items)
            self._bytes_out += size_bytes

    def _end(self) -> None:
        files, lost = self.files, self._lost
        dropped = files.dropped(lost, self._seq, self._clock.now_ms) if lost else None
        if self._encoder is not None:
            if dropped is not None:
                wall_ms = files.started_wall_ms + int(self._clock.now_ms)
                at_ms = self._clock.now_ms
                self._encoder.send([line_item(dropped, self._seq, at_ms, wall_ms, 0)])
            self._encoder.stop()
            return
        if dropped is not None:
            files.write(dropped)
        files.flush()
