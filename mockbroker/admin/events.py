"""What happens, as it happens: the hub that event streams hang on.

A stream is a bounded queue that the broker's loop fills and an HTTP answer empties. Journal events
come from the journal; changes of topics and groups are found by comparing after each step, which
is done only while someone listens to them.

Invariants: a slow reader never holds up the broker: what its queue has no room for is counted and
told to it; the journal is listened to exactly while there is a stream.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from mockbroker.journal.lines import KINDS as LINE_KINDS
from mockbroker.journal.lines import line_of
from mockbroker.state.groups import describe_group, group_ids
from mockbroker.state.topics import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.admin.host import Host
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.journal.events import Event

QUEUE_EVENTS: Final = 1000
STATE_KINDS: Final = ("topic", "group")
JOURNAL_KINDS: Final = tuple(LINE_KINDS.values())
KINDS: Final = (*JOURNAL_KINDS, *STATE_KINDS)

Item = tuple[str, int, dict[str, Any]]
"""Kind, cursor of the journal, data."""


class Stream:
    """One reader of events. `next` gives them one by one, None at the end."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self._queue: asyncio.Queue[Item | None] = asyncio.Queue()
        self._dropped = 0
        self._ended = False

    def put(self, kind: str, cursor: int, data: dict[str, Any]) -> None:
        """Hand an event on, or count it where there is no room."""
        if self._queue.qsize() >= QUEUE_EVENTS:
            self._dropped += 1
            return
        if self._dropped:
            self._queue.put_nowait(("dropped", cursor, {"events": self._dropped}))
            self._dropped = 0
        self._queue.put_nowait((kind, cursor, data))

    def end(self) -> None:
        """Nothing more comes."""
        if not self._ended:
            self._ended = True
            self._queue.put_nowait(None)

    async def next(self) -> Item | None:
        """The next event."""
        return await self._queue.get()


class EventHub:
    """The streams of one broker."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._streams: list[Stream] = []
        self._unwatch: Callable[[], None] | None = None
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def open(self, kinds: frozenset[str], since: int | None) -> Stream:
        """A stream of these kinds; with `since`, first the requests from that cursor on."""
        stream = Stream(kinds)
        if "request" in kinds and since is not None:
            self._host.act(lambda cluster: self._replay(cluster, stream, since))
        self._streams.append(stream)
        self._adapt()
        return stream

    def close_stream(self, stream: Stream) -> None:
        """Its reader has gone."""
        stream.end()
        if stream in self._streams:
            self._streams.remove(stream)
            self._adapt()

    def close(self) -> None:
        """End all streams: the broker stops."""
        for stream in list(self._streams):
            self.close_stream(stream)

    def _adapt(self) -> None:
        """Listen to what some stream wants, and to nothing else."""
        journal = self._host.cluster.journal
        journal.unlisten(self._heard)
        wanted = frozenset().union(*(stream.kinds for stream in self._streams))
        if wanted & set(JOURNAL_KINDS):
            journal.listen(
                self._heard,
                requests="request" in wanted,
                high_watermarks="high_watermark" in wanted,
            )
        if wanted & set(STATE_KINDS) and self._unwatch is None:
            self._known = _state(self._host.cluster)
            self._unwatch = self._host.watch_steps(self._compare)
        elif not wanted & set(STATE_KINDS) and self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def _replay(self, cluster: Cluster, stream: Stream, since: int) -> None:
        journal = cluster.journal
        kept = list(journal.requests(since))
        first = journal.cursor() - len(kept)
        for index, served in enumerate(kept):
            stream.put("request", first + index + 1, line_of(served, journal.topic_name))

    def _heard(self, event: Event) -> None:
        journal = self._host.cluster.journal
        line = line_of(event, journal.topic_name)
        self._tell(str(line["kind"]), line)

    def _compare(self) -> None:
        """After a step: what appeared, changed or went."""
        now = _state(self._host.cluster)
        if now == self._known:
            return
        before, self._known = self._known, now
        for (kind, name), data in now.items():
            known = before.get((kind, name))
            if known != data:
                action = "appeared" if known is None else "changed"
                self._tell(kind, {"action": action, "name": name, **data})
        for kind, name in before.keys() - now.keys():
            self._tell(kind, {"action": "gone", "name": name})

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        cursor = self._host.cluster.journal.cursor()
        for stream in self._streams:
            if kind in stream.kinds:
                stream.put(kind, cursor, data)


def _state(cluster: Cluster) -> dict[tuple[str, str], dict[str, Any]]:
    """What topics and groups are like, without what changes with each record."""
    state: dict[tuple[str, str], dict[str, Any]] = {}
    topics = cluster.metadata.topics
    for name in names(cluster, internal=False):
        partitions = topics[name].partitions
        state["topic", name] = {
            "partitions": len(partitions),
            "leaders": [partition.leader for partition in partitions],
        }
    for group_id in group_ids(cluster):
        group = describe_group(cluster, group_id)
        state["group", group_id] = {
            "state": group.state,
            "generation_id": group.generation_id,
            "members": len(group.members),
        }
    return state
