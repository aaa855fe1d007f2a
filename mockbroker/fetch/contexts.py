"""What a fetch concerns and how its answer is made: four contexts behind one protocol.

`FetchManager.new_context` picks the context by the session fields of the request, `apis.fetch`
drives it without knowing which it is (Kafka: FetchContext):

    resolve()      find the partitions; which of them cannot even be read (errors 3 and 100)
    read(reader)   read the others in their order; again when the fetch was parked
    wait(reader)   what to wait for when that was not enough
    respond()      the answer; only here a session is created or changes

Order of an answer: the partitions that could be read, in order, then those that resolve() refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from mockbroker.fetch.session import INVALID_SESSION_ID, CachedPartition
from mockbroker.replica.delayed_fetch import PartitionsWait
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.fetch.session import FetchSession
    from mockbroker.fetch.sessions import FetchSessions
    from mockbroker.replica.delayed_fetch import FetchWait, Reader
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.log_reader import LogReader
    from mockbroker_protocol.messages.fetch import FetchRequestTopic

Entry = TypeVar("Entry", bound=FetchEntry)

SESSIONLESS: Final = "SESSIONLESS"
FULL: Final = "FULL"
INCREMENTAL: Final = "INCREMENTAL"

IN_SLICES: Final = -1
"""What `resolve` says when there is more to be looked at than may be in one turn."""


class FetchContext(Protocol):
    """One fetch from its acceptance to its answer."""

    fetch_class: str
    """SESSIONLESS, FULL or INCREMENTAL, as the journal tells it."""

    @property
    def request_bytes_saved(self) -> int:
        """What its session spared it on the request (see `savings`)."""

    @property
    def response_bytes_saved(self) -> int:
        """The same for the answer, known after `respond`."""

    def resolve(self, params: FetchParams) -> int:
        """Find the partitions in the metadata; how many can be read, or IN_SLICES."""

    def read(self, reader: LogReader) -> None:
        """Read what `respond` will tell. A second read replaces the first."""

    def wait(self, reader: Reader) -> FetchWait:
        """What a fetch that is parked after `read` by this reader waits for."""

    def respond(self) -> FetchResponse:
        """Make the answer, called once."""

    def results(self) -> Iterable[tuple[FetchEntry, FetchResponsePartition]]:
        """What the last `read` found, for those who finish its records."""

    def throttled(self, throttle_time_ms: int) -> FetchResponse:
        """The empty answer in place of `respond` when a quota is exceeded."""


def rejection(index: int, error: int) -> FetchResponsePartition:
    """A partition that was not read at all (its aborted list is empty, not null)."""
    return FetchResponsePartition(index, error, -1, -1, -1, [], -1, b"")


def refusal_order(params: FetchParams) -> Callable[[tuple[FetchEntry, int]], bool]:
    """The sort key of refused partitions, with their errors, before they go into the answer.

    KafkaApis splits a consumer's partitions by whether their id is known, then by whether the
    metadata have them; a follower's only once.
    """
    if params.is_from_follower:
        return lambda _: False
    return lambda refused: refused[1] != ErrorCode.UNKNOWN_TOPIC_ID


class ResponseTopics:
    """Collects partitions in order; only adjacent ones of one topic share its entry."""

    __slots__ = ("_last", "_partitions", "topics")

    def __init__(self) -> None:
        self.topics: list[FetchResponseTopic] = []
        self._last: FetchTopic | None = None
        self._partitions: list[FetchResponsePartition] = []

    def add(self, topic: FetchTopic, data: FetchResponsePartition) -> None:
        if topic is not self._last:
            self._last = topic
            self._partitions = []
            self.topics.append(
                FetchResponseTopic(topic.name or "", topic.topic_id, self._partitions)
            )
        self._partitions.append(data)


class ListContext(Generic[Entry]):
    """What sessionless and full fetches share: a list of entries, all read, all answered."""

    __slots__ = ("data", "entries", "readable", "rejected", "sessions")

    request_bytes_saved = 0
    response_bytes_saved = 0

    def __init__(self, sessions: FetchSessions, entries: list[Entry]) -> None:
        self.sessions = sessions
        self.entries = entries
        self.readable = entries
        self.rejected: list[tuple[Entry, int]] = []
        self.data: list[FetchResponsePartition] = []

    def resolve(self, params: FetchParams) -> int:
        sessions = self.sessions
        rejected = self.rejected
        for entry in self.entries:
            error = sessions.resolve(entry)
            if error:
                rejected.append((entry, error))
        if rejected:
            rejected.sort(key=refusal_order(params))
            refused = {entry for entry, _ in rejected}
            self.readable = [entry for entry in self.entries if entry not in refused]
        return len(self.readable)

    def read(self, reader: LogReader) -> None:
        self.data = [reader.read(entry) for entry in self.readable]
        self.sessions.partitions_looked_at += len(self.data)

    def wait(self, reader: Reader) -> FetchWait:
        return PartitionsWait(self.readable, reader)

    def results(self) -> Iterable[tuple[FetchEntry, FetchResponsePartition]]:
        return zip(self.readable, self.data, strict=True)

    def throttled(self, throttle_time_ms: int) -> FetchResponse:
        return FetchResponse(throttle_time_ms, 0, INVALID_SESSION_ID, [])

    def topics(self) -> list[FetchResponseTopic]:
        """All partitions in the order of the answer."""
        if len(self.data) == 1 and not self.rejected:
            topic = self.readable[0].topic
            return [FetchResponseTopic(topic.name or "", topic.topic_id, self.data)]
        collected = ResponseTopics()
        for data, entry in zip(self.data, self.readable, strict=True):
            collected.add(entry.topic, data)
        for entry, error in self.rejected:
            collected.add(entry.topic, rejection(entry.index, error))
        return collected.topics


class SessionErrorContext(ListContext[FetchEntry]):
    """A session that is unknown or used wrongly: an answer without partitions, at once."""

    __slots__ = ("_error",)
    fetch_class = INCREMENTAL

    def __init__(self, sessions: FetchSessions, error: ErrorCode) -> None:
        super().__init__(sessions, [])
        self._error = error

    def respond(self) -> FetchResponse:
        return FetchResponse(0, self._error, INVALID_SESSION_ID, [])


class SessionlessFetchContext(ListContext[FetchEntry]):
    """A fetch without a session: every partition of the request (`entries_of`), every time."""

    __slots__ = ()
    fetch_class = SESSIONLESS

    def respond(self) -> FetchResponse:
        return FetchResponse(0, 0, INVALID_SESSION_ID, self.topics())


class FullFetchContext(ListContext[CachedPartition]):
    """A fetch that asks for a session: all partitions, and the session when the answer is made.

    The session is filled from the request and is nobody's until then.
    """

    __slots__ = ("_params", "session")
    fetch_class = FULL

    def __init__(
        self, sessions: FetchSessions, session: FetchSession, topics: list[FetchRequestTopic]
    ) -> None:
        session.update(topics, [])
        super().__init__(sessions, list(session.changed))
        self.session = session
        self._params: FetchParams | None = None

    def resolve(self, params: FetchParams) -> int:
        self._params = params
        self.sessions.note_rights(self.session)
        return super().resolve(params)

    def respond(self) -> FetchResponse:
        session = self.session
        if not self.sessions.try_create_session(session):
            return FetchResponse(0, 0, INVALID_SESSION_ID, self.topics())
        if self._params is not None:
            session.adopt_reader(self._params)
        if self.rejected:
            session.reorder([*self.readable, *(cached for cached, _ in self.rejected)])
        self.settle(self.readable, self.data)
        session.shrink_changed(len(self.data))
        return FetchResponse(0, 0, session.id, self.topics())

    def settle(self, readable: list[CachedPartition], found: list[FetchResponsePartition]) -> None:
        """Let the session know what its reader is told of these."""
        session = self.session
        for cached, data in zip(readable, found, strict=True):
            if cached.partition is not None:
                cached.partition.watch(cached)
            cached.has_news(data, 0)
            session.settle(cached, is_sticky(data))


def is_sticky(data: FetchResponsePartition) -> bool:
    """Whether an answer like this is given again as long as nothing changes."""
    return bool(
        data.error_code or data.preferred_read_replica != -1 or data.diverging_epoch is not None
    )


def entries_of(topics: list[FetchRequestTopic], by_id: bool) -> list[FetchEntry]:
    """The partitions of a request; one named twice keeps its place and takes the last values."""
    entries: list[FetchEntry] = []
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        requested = topics[0]
        topic = _topic_of(requested, by_id)
        entries.append(FetchEntry(topic, requested.partitions[0]))
        return entries
    found: dict[str | bytes, tuple[FetchTopic, dict[int, FetchEntry]]] = {}
    for requested in topics:
        key = requested.topic_id if by_id else requested.topic
        known = found.get(key)
        if known is None:
            known = found[key] = _topic_of(requested, by_id), {}
        topic, partitions = known
        for request in requested.partitions:
            entry = partitions.get(request.partition)
            if entry is None:
                entry = partitions[request.partition] = FetchEntry(topic, request)
                entries.append(entry)
            else:
                entry.update(request)
    return entries


def _topic_of(requested: FetchRequestTopic, by_id: bool) -> FetchTopic:
    if by_id:
        return FetchTopic(None, requested.topic_id)
    return FetchTopic(requested.topic, ZERO_UUID)
