"""Contexts of fetches that concern so many partitions that they are worked on in slices.

Each slice does with some of the partitions what an ordinary context does with all of them, and
`respond` gives an answer whose topics `tell_in_slices` puts in. What changes meanwhile is seen as
it is when its turn comes, as by Kafka's threads; `_Walk` hears of it: a partition that changed
after it was read is looked at by the next poll, whatever was told of it.

Invariant: a session that is not opened is let go of by its partitions, whatever becomes of the
fetch (`let_go`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from mockbroker.fetch.contexts import (
    FULL,
    SESSIONLESS,
    FetchContext,
    FullFetchContext,
    ListContext,
    refusal_order,
)
from mockbroker.fetch.incremental import IncrementalFetchContext, by_stamp
from mockbroker.fetch.session import SessionListener
from mockbroker.fetch.waiting import SessionWait
from mockbroker_protocol.messages.fetch import (
    FetchRequestForgottenTopic,
    FetchRequestTopic,
    FetchResponse,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from mockbroker.fetch.session import CachedPartition, FetchSession
    from mockbroker.fetch.sessions import FetchSessions
    from mockbroker.replica.delayed_fetch import FetchWait, Reader
    from mockbroker.replica.fetch_entry import FetchTopic
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.log_reader import LogReader
    from mockbroker_protocol.messages.fetch import FetchResponseTopic

SLICE: Final = 500
"""Partitions that are looked at in one slice."""

T = TypeVar("T")
Topic = TypeVar("Topic", FetchRequestTopic, FetchRequestForgottenTopic)


class LongContext(FetchContext, Protocol):
    """A context that does its work in slices."""

    session: FetchSession

    def take_in_slices(
        self, topics: list[FetchRequestTopic], forgotten: list[FetchRequestForgottenTopic]
    ) -> Generator[None, None, None]:
        """Take in what the request names, once."""

    def resolve_in_slices(self, params: FetchParams) -> Generator[None, None, int]:
        """As `resolve`."""

    def read_in_slices(self, reader: LogReader) -> Generator[None, None, None]:
        """As `read`."""

    def tell_in_slices(self) -> Generator[None, None, None]:
        """Put the topics into the answer that `respond` gave; nothing if it was not asked to."""

    def let_go(self) -> None:
        """The fetch was answered or given up."""


class _Walk(SessionListener):
    """Hears what changes while a session is looked through."""

    __slots__ = ("changed",)

    def __init__(self, session: FetchSession) -> None:
        self.changed: set[CachedPartition] = set()
        session.waits.append(self)

    def note(self, cached: CachedPartition) -> None:
        self.changed.add(cached)

    def note_rolled(self, cached: CachedPartition, left_segment: int) -> None:
        """Where the reader stands is no matter before it waits."""

    def mark_again(self, told: Iterable[CachedPartition]) -> None:
        """Have the next poll look at those of them that changed: they were settled just now."""
        if self.changed:
            for cached in told:
                if cached in self.changed:
                    cached.mark()


class _Topics:
    """Puts the topics of partial answers into one; a topic that was cut is one again."""

    def __init__(self, into: list[FetchResponseTopic]) -> None:
        self.into = into
        self._last: FetchTopic | None = None

    def add(self, topics: list[FetchResponseTopic], told: Sequence[CachedPartition]) -> None:
        """`told`: the partitions in them, which are in the order of the answer."""
        if told[0].topic is self._last:
            self.into[-1].partitions += topics[0].partitions
            topics = topics[1:]
        self.into += topics
        self._last = told[-1].topic


class LongListContext(FullFetchContext):
    """A full fetch, or a sessionless one: that has a session too, which is never opened."""

    __slots__ = ("_response", "_walk", "fetch_class")

    def __init__(self, sessions: FetchSessions, session: FetchSession, *, opens: bool) -> None:
        super().__init__(sessions, session, [])
        self.fetch_class = FULL if opens else SESSIONLESS
        self._walk = _Walk(session)
        self._response: FetchResponse | None = None

    def take_in_slices(
        self,
        topics: list[FetchRequestTopic],
        forgotten: list[FetchRequestForgottenTopic],  # noqa: ARG002 -- nothing is there to be
    ) -> Generator[None, None, None]:
        for some in _parts(topics):
            self.session.update(some, [])
            yield
        self.entries = list(self.session.changed)

    def resolve_in_slices(self, params: FetchParams) -> Generator[None, None, int]:
        self._params = params
        self.sessions.note_rights(self.session)
        self.readable, self.rejected = [], []
        for some in _chunks(self.entries):
            part = ListContext(self.sessions, some)
            part.resolve(params)
            for cached in part.readable:
                if cached.partition is not None:
                    cached.partition.watch(cached)
            self.readable += part.readable
            self.rejected += part.rejected
            yield
        self.rejected.sort(key=refusal_order(params))
        yield
        return len(self.readable)

    def read_in_slices(self, reader: LogReader) -> Generator[None, None, None]:
        self._walk.changed.clear()
        self.data = []
        for some in _chunks(self.readable):
            part = ListContext(self.sessions, some)
            part.read(reader)
            self.data += part.data
            yield

    def wait(self, reader: Reader) -> FetchWait:
        if not reader.told_by_marks:
            return super().wait(reader)
        return SessionWait(self.session, reader, dict(self.rejected))

    def respond(self) -> FetchResponse:
        session = self.session
        if self.fetch_class is FULL and self.sessions.try_create_session(session):
            assert self._params is not None
            session.adopt_reader(self._params)
            if self.rejected:
                session.reorder([*self.readable, *(cached for cached, _ in self.rejected)])
        self._response = FetchResponse(0, 0, session.id, [])
        return self._response

    def tell_in_slices(self) -> Generator[None, None, None]:
        if self._response is None:
            return
        collected = _Topics(self._response.responses)
        first = 0
        for some in _chunks(self.readable):
            part = ListContext(self.sessions, some)
            part.data = self.data[first : first + len(some)]
            first += len(some)
            if self.session.id:
                self.settle(some, part.data)
                self._walk.mark_again(some)
            collected.add(part.topics(), some)
            yield
        if self.session.id:
            self.session.shrink_changed(first)
        for refused in _chunks(self.rejected):
            part = ListContext(self.sessions, [])
            part.rejected = refused
            collected.add(part.topics(), [cached for cached, _ in refused])
            yield

    def let_go(self) -> None:
        session = self.session
        if not session.id:
            session.close()
        if self._walk in session.waits:
            session.end_wait(self._walk)


class LongIncrementalContext(IncrementalFetchContext):
    """One poll of a session, of which much is to be looked at."""

    __slots__ = ("_response", "_walk")

    def __init__(
        self, sessions: FetchSessions, session: FetchSession, request_bytes_saved: int
    ) -> None:
        super().__init__(sessions, session, request_bytes_saved)
        self._walk = _Walk(session)
        self._response: FetchResponse | None = None

    def take_in_slices(
        self, topics: list[FetchRequestTopic], forgotten: list[FetchRequestForgottenTopic]
    ) -> Generator[None, None, None]:
        for some in _parts(topics):
            self.session.update(some, [])
            yield
        for gone in _parts(forgotten):
            self.session.update([], gone)
            yield

    def resolve_in_slices(self, params: FetchParams) -> Generator[None, None, int]:
        session = self.session
        session.adopt_reader(params)
        sessions = self._sessions
        for topics in _chunks(list(sessions.with_other_rights(session))):
            for refused in _chunks(sessions.refused_of(topics)):
                sessions.drop(refused)
                yield
            yield
        sessions.note_rights(session)
        changed = sorted(session.changed, key=by_stamp)
        yield
        for some in _chunks(changed):
            for cached in some:
                partition = cached.partition
                if partition is None or partition.deleted:
                    self._find_again(cached)
            yield
        if len(set(self._rejected.values())) > 1:  # else they are in order
            yield
            self._order_rejected(params)
            yield
        return session.size - len(self._rejected)

    def read_in_slices(self, reader: LogReader) -> Generator[None, None, None]:
        self._walk.changed.clear()
        self._found = []
        changed = sorted(self.session.changed, key=by_stamp)
        if self._rejected:
            changed = [cached for cached in changed if cached not in self._rejected]
        if reader.budget < 0 and not self._is_first_in_line(changed):
            reader.budget = 0
        yield
        met: list[CachedPartition] = []
        position = read = 0
        while position >= 0:
            position = self._read_merged(changed, reader, met, position, SLICE)
            self._sessions.partitions_looked_at += len(self._found) - read
            read = len(self._found)
            yield

    def respond(self) -> FetchResponse:
        if self.session.epoch != self._epoch:
            return super().respond()
        self._response = FetchResponse(0, 0, self.session.id, [])
        return self._response

    def tell_in_slices(self) -> Generator[None, None, None]:
        if self._response is None:
            return
        response, found, rejected = self._response, self._found, self._rejected
        # Each slice is the answer that it would be if there were no more.
        for some in _chunks(found):
            self._found, self._rejected = some, {}
            if not self._tell(response):
                return
            self._met_all_ready = False
            self._walk.mark_again([cached for cached, _, _ in some])
            yield
        for refused in _chunks(list(rejected.items())):
            self._found, self._rejected = [], dict(refused)
            if not self._tell(response):
                return
            yield
        self.session.shrink_changed(len(found))
        full = self.session.wire_size
        self.response_bytes_saved = full.response_bytes - full.listed_bytes(response.responses)

    def _tell(self, response: FetchResponse) -> bool:
        """Add what is told of some; False when a later request of the session was accepted."""
        part = super().respond()
        response.error_code = part.error_code
        if part.error_code:
            response.responses = []
            return False
        topics, more = response.responses, part.responses
        if topics and more and _same_topic(topics[-1], more[0]):
            topics[-1].partitions += more[0].partitions
            more = more[1:]
        topics += more
        return True

    def let_go(self) -> None:
        if self._walk in self.session.waits:
            self.session.end_wait(self._walk)


def _same_topic(one: FetchResponseTopic, other: FetchResponseTopic) -> bool:
    return one.topic_id == other.topic_id and one.topic == other.topic


def _chunks(items: list[T]) -> Iterator[list[T]]:
    return (items[first : first + SLICE] for first in range(0, len(items), SLICE))


def _parts(topics: list[Topic]) -> Iterator[list[Topic]]:
    """Topics of a request with at most `SLICE` partitions together; large ones are cut."""
    part: list[Topic] = []
    room = SLICE
    for topic in topics:
        partitions: list[Any] = topic.partitions
        for some in _chunks(partitions) if partitions else [partitions]:
            if len(some) >= room and part:
                yield part
                part, room = [], SLICE
            cut = type(topic)(topic.topic, topic.topic_id, some)
            part.append(cut)
            room -= len(some) + 1
    if part:
        yield part
