"""What a journal tells of one broker, as what runs it again needs it.

`replay` makes one of the journal's lines of a broker (`Recording.add`, docs/journal.md), in any
order. The journal has to be recorded with the option `journal_replay`: `check_run` refuses another.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from mockbroker.journal.request import SHUTDOWN
from mockbroker.metadata.changes import PartitionState
from mockbroker.what_if.errors import WhatIfError
from mockbroker_protocol.fetch_codec import decode_fetch_request
from mockbroker_protocol.headers import decode_request_header

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker_protocol.messages.fetch import FetchRequest

    Line = Mapping[str, Any]

OPTION: Final = "--journal-replay"
KINDS: Final = frozenset({"request", "appended", "high_watermark", "session", "connection_closed"})
"""What is read of a broker's lines."""
SHARED_KINDS: Final = frozenset({"run", "topic", "dropped"})
"""What is of all brokers of a run."""
FETCH: Final = 1
_ID_CHARACTERS: Final = 22


@dataclass(slots=True)
class RecordedPoll:
    """A fetch as it was: `frame` is the request without its length.

    One that the end of the broker answered counts as one without an answer.

    `told` has topic (id or name), partition, the offset behind its records, and error, of the
    partitions of its answer that had records or an error.
    """

    arrived_ms: float
    completed_ms: float
    request_bytes: int
    response_bytes: int
    records_bytes: int
    named: int
    partitions_told: int
    timed_out: bool
    answered: bool
    session_id: int
    error: int
    told: list[tuple[bytes | str, int, int | None, int]]
    frame: bytes
    version: int

    def request(self) -> FetchRequest:
        """What was asked, decoded."""
        body = decode_request_header(self.frame).body_pos
        return decode_fetch_request(self.frame, body, self.version)


@dataclass(slots=True)
class RecordedConnection:
    """One connection's fetches, in the order in which they came; `closed_ms`: when it ended.

    `replica` is the broker that asks; -1: none, but a consumer.
    """

    number: int
    client_id: str
    listener: str
    principal: str
    polls: list[RecordedPoll] = field(default_factory=list)
    closed_ms: float | None = None
    replica: int = -1

    @property
    def is_follower(self) -> bool:
        """Whether a broker of the same cluster asks."""
        return self.replica >= 0


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A batch that was appended here: its header, or all of a control batch, and its size."""

    at_ms: float
    seq: int
    topic: str
    partition: int
    base_offset: int
    size_bytes: int
    told: bytes


@dataclass(frozen=True, slots=True)
class RecordedMove:
    """A high watermark that moved."""

    at_ms: float
    seq: int
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class RecordedTopic:
    """A topic that came, grew, moved or went; the state of its partitions from `first` on."""

    at_ms: float
    seq: int
    action: str
    name: str
    topic_id: bytes
    first: int
    states: list[PartitionState]
    configs: dict[str, str]


@dataclass(slots=True)
class Recording:
    """All that a journal tells of one broker. `ends_ms` is when its last line was written."""

    broker: int
    settings: dict[str, str] = field(default_factory=dict)
    connections: dict[int, RecordedConnection] = field(default_factory=dict)
    topics: list[RecordedTopic] = field(default_factory=list)
    batches: list[RecordedBatch] = field(default_factory=list)
    moves: list[RecordedMove] = field(default_factory=list)
    session_events: dict[str, int] = field(default_factory=dict)
    dropped: int = 0
    ends_ms: float = 0.0

    @property
    def has_followers(self) -> bool:
        """Whether the fetches of all followers are there."""
        nodes = {
            node
            for topic in self.topics
            for state in topic.states
            if state.leader == self.broker
            for node in state.replicas
        }
        asking = {each.replica for each in self.connections.values()}
        followers = nodes - {self.broker}
        return bool(followers) and followers <= asking

    def readers(self) -> list[RecordedConnection]:
        """Those that can be run again: followers only where all of them are there."""
        replicated = self.has_followers
        return [
            each
            for each in self.connections.values()
            if each.polls and (replicated or not each.is_follower)
        ]

    def add(self, line: Line) -> None:
        """Take in a line, if it is of those that count."""
        match line["kind"]:
            case "run":
                self.settings.update(line.get("settings") or {})
                return
            case "topic":
                self._topic(line)
            case "request":
                self._request(line)
            case "connection_closed":
                self._connection(line).closed_ms = line["at_ms"]
            case "appended":
                self._appended(line)
            case "high_watermark":
                self._moved(line)
            case "session":
                self._session(line)
            case "dropped":
                self.dropped += line["lines"]
        self.ends_ms = max(self.ends_ms, float(line["at_ms"]))

    def sort(self) -> None:
        """Once all lines are there: everything in its order."""
        for connection in self.connections.values():
            connection.polls.sort(key=attrgetter("arrived_ms", "completed_ms"))
        for events in (self.topics, self.batches, self.moves):
            events.sort(key=attrgetter("at_ms", "seq"))

    def _topic(self, line: Line) -> None:
        states = [
            PartitionState(leader, list(replicas), list(in_sync), epoch)
            for leader, epoch, replicas, in_sync in line["partitions"]
        ]
        self.topics.append(
            RecordedTopic(
                line["at_ms"],
                line["seq"],
                line["action"],
                line["topic"],
                id_of(line["topic_id"]),
                line["first"],
                states,
                line["configs"],
            )
        )

    def _request(self, line: Line) -> None:
        if line["api_key"] != FETCH or "replay" not in (line.get("fetch") or {}):
            return
        connection = self._connection(line)
        fetch = line["fetch"]
        replay = fetch["replay"]
        connection.replica = max(connection.replica, fetch["replica_id"])
        connection.polls.append(
            RecordedPoll(
                line["arrived_ms"],
                line["completed_ms"],
                line["request_bytes"],
                line["response_bytes"],
                fetch["records_bytes"],
                fetch["partitions_requested"],
                fetch["partitions_answered"],
                line["cause"] == "timeout",
                line["answered"] and line["cause"] != SHUTDOWN,
                fetch["answered_session_id"] or 0,
                replay["error"],
                [(_ref(each[0], line["version"]), *each[1:]) for each in replay["told"]],
                b64decode(replay["frame"]),
                line["version"],
            )
        )

    def _connection(self, line: Line) -> RecordedConnection:
        number = line["connection"]
        known = self.connections.get(number)
        if known is None:
            known = self.connections[number] = RecordedConnection(
                number, line["client_id"] or "", "", ""
            )
        if not known.client_id:
            known.client_id = line["client_id"] or ""
        known.listener = known.listener or line.get("listener") or ""
        known.principal = known.principal or line.get("principal") or ""
        return known

    def _appended(self, line: Line) -> None:
        self.batches.append(
            RecordedBatch(
                line["at_ms"],
                line["seq"],
                line["topic"],
                line["partition"],
                line["base_offset"],
                line["size_bytes"],
                b64decode(line["batch"]),
            )
        )

    def _moved(self, line: Line) -> None:
        self.moves.append(
            RecordedMove(line["at_ms"], line["seq"], line["topic"], line["partition"], line["to"])
        )

    def _session(self, line: Line) -> None:
        rule = line.get("rule")
        name = line["event"] + ("" if rule is None else f" {rule}")
        self.session_events[name] = self.session_events.get(name, 0) + 1


def recording_of(broker: int, lines: Iterable[Line]) -> Recording:
    """What these lines tell of that broker."""
    recording = Recording(broker)
    for line in lines:
        recording.add(line)
    recording.sort()
    return recording


def check_run(line: Line, where: str) -> None:
    """Refuse a journal, by its `run` line, that cannot be run again. Raises WhatIfError."""
    if not line.get("replay"):
        raise WhatIfError(
            f"{where} has not what it takes to be run again:"
            f" record it with {OPTION}, for followers with --journal-replication too"
        )


def id_of(text: str) -> bytes:
    """A topic's id, from the 22 characters that Kafka shows."""
    return urlsafe_b64decode(text + "==")


def _ref(text: str, version: int) -> bytes | str:
    """How a fetch of that version names a topic."""
    return id_of(text) if version >= 13 and len(text) == _ID_CHARACTERS else text
