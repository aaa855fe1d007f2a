"""The context of an incremental fetch: it meets what changed, and nothing else.

Made by `FetchManager` when a request continued a session in the right epoch. Its walk over the
session's CHANGED and READY partitions gives what a walk over all of them would give, in the same
order; the others could add nothing (`session` says why).
"""

from __future__ import annotations

from heapq import heappop
from itertools import repeat
from operator import attrgetter
from sys import maxsize
from typing import TYPE_CHECKING, Final

from mockbroker.fetch.contexts import (
    IN_SLICES,
    INCREMENTAL,
    ResponseTopics,
    is_sticky,
    refusal_order,
    rejection,
)
from mockbroker.fetch.session import QUIET, READY
from mockbroker.fetch.waiting import SessionWait
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.fetch.session import CachedPartition, FetchSession
    from mockbroker.fetch.sessions import FetchSessions
    from mockbroker.replica.delayed_fetch import FetchWait, Reader
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.log_reader import LogReader
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

MANY_READY: Final = 32
"""Meeting more READY partitions than this in vain is worth keeping their smallest batch."""

LONG: Final = 2000
"""A poll that has more partitions to look at is worked on in slices."""

by_stamp = attrgetter("stamp")


class IncrementalFetchContext:
    """One poll of a session (Kafka: IncrementalFetchContext).

    `_rejected` holds what the request's own look at the metadata refused; it stays refused in the
    answer even if the topic comes to be while the fetch is parked.
    """

    fetch_class = INCREMENTAL
    __slots__ = (
        "_epoch",
        "_found",
        "_met_all_ready",
        "_rejected",
        "_sessions",
        "request_bytes_saved",
        "response_bytes_saved",
        "session",
    )

    def __init__(
        self, sessions: FetchSessions, session: FetchSession, request_bytes_saved: int
    ) -> None:
        self.request_bytes_saved = request_bytes_saved
        self.response_bytes_saved = 0
        self._sessions = sessions
        self.session = session
        self._epoch = session.epoch
        self._rejected: dict[CachedPartition, int] = {}
        self._found: list[tuple[CachedPartition, FetchResponsePartition, int]] = []
        self._met_all_ready = False

    def resolve(self, params: FetchParams) -> int:
        session = self.session
        session.adopt_reader(params)
        if session.size > LONG and self._is_long():
            return IN_SLICES
        sessions = self._sessions
        if sessions.gate is not None:
            sessions.drop(sessions.refused_of(sessions.with_other_rights(session)))
            sessions.note_rights(session)
        for cached in session.changed:
            partition = cached.partition
            if partition is None or partition.deleted:
                self._find_again(cached)
        if len(self._rejected) > 1:
            self._order_rejected(params)
        return session.size - len(self._rejected)

    def _is_long(self) -> bool:
        """Whether much is to be looked at: also what its reader may have other rights to."""
        session = self.session
        known = len(session.changed) + len(session.ready)
        topics = self._sessions.with_other_rights(session)
        if known > LONG or len(topics) > LONG:
            return True
        return known + sum(len(topic.partitions) for topic in topics) > LONG

    def _find_again(self, cached: CachedPartition) -> None:
        error = self._sessions.resolve_again(cached)
        if error:
            self._rejected[cached] = error

    def _order_rejected(self, params: FetchParams) -> None:
        refused = [
            (cached, self._rejected[cached]) for cached in sorted(self._rejected, key=by_stamp)
        ]
        refused.sort(key=refusal_order(params))
        self._rejected = dict(refused)

    def read(self, reader: LogReader) -> None:
        session = self.session
        if not session.changed and not session.ready:
            self._found = []  # most polls of a quiet broker
            return
        changed = list(session.changed)
        if len(changed) > 1:
            changed.sort(key=by_stamp)
        if self._rejected:
            changed = [cached for cached in changed if cached not in self._rejected]
        if reader.budget < 0 and not self._is_first_in_line(changed):
            reader.budget = 0  # a quiet partition comes first, and it would have used it up
        if session.ready and self._next_ready(reader) is not None:
            self._found = []
            self._read_merged(changed, reader, [], 0, maxsize)
        else:
            read = reader.read
            self._found = [(cached, read(cached), reader.last_size_bytes) for cached in changed]
        self._sessions.partitions_looked_at += len(self._found)

    def quiet_session(self) -> FetchSession | None:
        """Its session, if an answer now would tell nothing; None: it may."""
        session = self.session
        if session.changed or session.ready or self._rejected or session.epoch != self._epoch:
            return None
        return session

    def wait(self, reader: Reader) -> FetchWait:
        return SessionWait(self.session, reader, self._rejected)

    def results(self) -> Iterable[tuple[FetchEntry, FetchResponsePartition]]:
        return [(cached, data) for cached, data, _ in self._found]

    def respond(self) -> FetchResponse:
        session = self.session
        if session.epoch != self._epoch:
            # A later request of the session was accepted while this one was parked.
            return FetchResponse(0, ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id, [])
        full = session.wire_size
        self.response_bytes_saved = full.response_bytes
        if not self._found and not self._rejected:
            return FetchResponse(0, 0, session.id, [])
        collected = ResponseTopics()
        if self._met_all_ready:
            session.measure_ready(True)
        for cached, data, size_bytes in self._found:
            if cached.has_news(data, size_bytes):
                collected.add(cached.topic, data)
                if size_bytes:
                    session.move_to_back(cached)
            session.settle(cached, is_sticky(data))
        session.shrink_changed(len(self._found))
        if self._rejected:
            self._tell_rejected(collected)
        topics = collected.topics
        if topics:
            self.response_bytes_saved -= full.listed_bytes(topics)
        return FetchResponse(0, 0, session.id, topics)

    def _tell_rejected(self, collected: ResponseTopics) -> None:
        for cached, error in self._rejected.items():
            data = rejection(cached.index, error)
            cached.has_news(data, 0)
            collected.add(cached.topic, data)

    def throttled(self, throttle_time_ms: int) -> FetchResponse:
        session = self.session
        error = 0 if session.epoch == self._epoch else ErrorCode.INVALID_FETCH_SESSION_EPOCH
        return FetchResponse(throttle_time_ms, error, session.id, [])

    # -- the walk --------------------------------------------------------------------------

    def _read_one(self, cached: CachedPartition, reader: LogReader) -> None:
        data = reader.read(cached)
        self._found.append((cached, data, reader.last_size_bytes))

    def _read_merged(
        self,
        changed: list[CachedPartition],
        reader: LogReader,
        met: list[CachedPartition],
        position: int,
        most: int,
    ) -> int:
        """Read `changed`, from a position on, and what is READY in the order of stamps.

        READY ones are read for as long as the budget may still give them something; `met` has
        those that were. When `most` were read there may be more: from the position returned.
        """
        session = self.session
        if session.measures_ready and len(session.ready) <= MANY_READY:
            session.measure_ready(False)
        for _ in repeat(None, most):
            ready = self._next_ready(reader)
            if position < len(changed) and (ready is None or changed[position].stamp < ready.stamp):
                self._read_one(changed[position], reader)
                position += 1
            elif ready is not None:
                heappop(session.ready)
                ready.in_heap = False
                met.append(ready)
                self._read_one(ready, reader)
            else:
                break
        else:
            return position
        self._met_all_ready = len(met) > MANY_READY and not session.ready
        for cached in met:
            # Still READY under its stamp until the answer says otherwise.
            session.push_ready(cached)
        return -1

    def _next_ready(self, reader: LogReader) -> CachedPartition | None:
        """The READY partition that comes first, left in the heap; None: no more are wanted."""
        session = self.session
        if 0 <= reader.budget < session.smallest_ready_bytes and not reader.min_one:
            return None
        ready = session.ready
        while ready:
            stamp, cached = ready[0]
            if cached.stamp == stamp:
                if cached.state == READY:
                    return cached
                cached.in_heap = False
            heappop(ready)
        return None

    def _is_first_in_line(self, changed: list[CachedPartition]) -> bool:
        """Whether the walk begins with a partition that it would look at.

        Only a request with a negative limit asks this, which Kafka's walk applies to whatever
        partition comes first; the question is worth a pass over the session then.
        """
        first = min(
            (cached for cached in self.session.partitions() if cached not in self._rejected),
            key=by_stamp,
            default=None,
        )
        return first is not None and (first.state != QUIET or first in changed)
