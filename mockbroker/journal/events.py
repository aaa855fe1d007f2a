"""What happened, as values: connections, requests, sessions, refusals, and changes of time.

`broker` and the rooms below it make them, `journal.ring` keeps and tells them, `journal.lines`
writes them down; docs/journal.md is their public form. The context of a request becomes its own
record when it is over (`RequestServed`), so a request costs no second object.

Invariant: nothing here changes once it was recorded, but that a request's bytes may be let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.api_keys import API_SPECS

if TYPE_CHECKING:
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer

# What completed a request: it never waited, or what ended its wait.
IMMEDIATE: Final = "immediate"
DATA: Final = "data"
HIGH_WATERMARK: Final = "high_watermark"
LAST_STABLE_OFFSET: Final = "last_stable_offset"
ERROR: Final = "error"
TIMEOUT: Final = "timeout"
DISCONNECT: Final = "disconnect"
SHUTDOWN: Final = "shutdown"
PEER: Final = "peer"
"""Another request did it: the last member joined, the leader of a group synced."""
FAULT: Final = "fault"
"""A fault held the answer back until now."""


class ConnectionOpened:
    """A client connected."""

    __slots__ = ("broker_id", "connection_id", "listener", "peer")

    def __init__(self, connection_id: int, peer: str, listener: str, broker_id: int = -1) -> None:
        self.broker_id = broker_id
        self.connection_id = connection_id
        self.peer = peer
        self.listener = listener


class ConnectionClosed:
    """A connection ended; `reason` is None when its client closed it."""

    __slots__ = (
        "broker_id",
        "client_id",
        "connection_id",
        "lifetime_ms",
        "peer",
        "reason",
        "requests",
    )

    def __init__(
        self,
        connection_id: int,
        peer: str,
        client_id: str,
        requests: int,
        lifetime_ms: float,
        reason: str | None,
        broker_id: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.requests = requests
        self.lifetime_ms = lifetime_ms
        self.reason = reason


class RequestRefused:
    """Bytes or a request that this broker does not answer: the connection closes.

    `api_key` and `api_version` are None when not even a request header could be read.
    """

    __slots__ = (
        "api_key",
        "api_name",
        "api_version",
        "broker_id",
        "client_id",
        "connection_id",
        "peer",
        "reason",
    )

    def __init__(
        self,
        connection_id: int,
        peer: str,
        client_id: str,
        api_key: int | None,
        api_name: str,
        api_version: int | None,
        reason: str,
        broker_id: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.api_key = api_key
        self.api_name = api_name
        self.api_version = api_version
        self.reason = reason


class HandlerFailed:
    """A defect of ours: a handler raised. The connection closes; `error` has the traceback."""

    __slots__ = (
        "api_name",
        "api_version",
        "broker_id",
        "client_id",
        "connection_id",
        "error",
        "peer",
    )

    def __init__(
        self,
        connection_id: int,
        peer: str,
        client_id: str,
        api_name: str,
        api_version: int,
        error: Exception,
        broker_id: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.api_name = api_name
        self.api_version = api_version
        self.error = error


class RequestServed:
    """One request and what became of it. Times are on the core's clock, in milliseconds.

    `frame` is the request without its length, `chunks` the framed answer; both are undecoded, and
    None once the ring let them go. `answered` is False when nothing was sent. `fetch_class` is
    SESSIONLESS, FULL or INCREMENTAL for a fetch that came as far as its session, answered or not,
    else None; the bytes saved are what its session spared it (`fetch.savings`). `woken_by` is what
    ended the wait (DATA …), None: it never waited. `fault` holds the ids of the rules that fired.
    """

    __slots__ = (
        "api_key",
        "api_version",
        "arrived_ms",
        "chunks",
        "client_id",
        "completed_ms",
        "connection_id",
        "correlation_id",
        "fault",
        "fetch_class",
        "frame",
        "listener",
        "peer",
        "principal",
        "request_bytes",
        "request_bytes_saved",
        "response_bytes",
        "response_bytes_saved",
        "throttle_time_ms",
        "woken_by",
    )

    def __init__(
        self,
        api_key: int,
        api_version: int,
        correlation_id: int,
        client_id: str,
        connection_id: int,
        *,
        arrived_ms: float = 0.0,
        completed_ms: float = 0.0,
        request_bytes: int = 0,
        response_bytes: int = 0,
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.connection_id = connection_id
        self.peer = ""
        self.principal = ""
        self.listener = ""
        self.arrived_ms = arrived_ms
        self.completed_ms = completed_ms
        self.request_bytes = request_bytes
        self.response_bytes = response_bytes
        self.throttle_time_ms = 0
        self.frame: Frame | None = None
        self.chunks: list[Buffer] | None = None
        self.fetch_class: str | None = None
        self.request_bytes_saved = 0
        self.response_bytes_saved = 0
        self.woken_by: str | None = None
        self.fault: str | None = None

    @property
    def broker_id(self) -> int:
        """The node that served it; -1: not known."""
        return -1

    @property
    def api_name(self) -> str:
        """Kafka's name of the API."""
        return API_SPECS[self.api_key].name

    @property
    def parked(self) -> bool:
        """Whether its answer had to wait."""
        return self.woken_by is not None or self.completed_ms > self.arrived_ms

    @property
    def cause(self) -> str:
        """What completed it: IMMEDIATE, or what ended its wait."""
        return self.woken_by or (PEER if self.parked else IMMEDIATE)

    @property
    def answered(self) -> bool:
        """Whether an answer went out."""
        return self.response_bytes > 0

    @property
    def request(self) -> object | None:
        """The request message, decoded now; None once its bytes were let go."""
        from mockbroker.journal.decoding import decode_request

        return decode_request(self)

    @property
    def response(self) -> object | None:
        """The answer, decoded now; None when none was sent or its bytes were let go."""
        from mockbroker.journal.decoding import decode_response

        return decode_response(self)

    def line(self) -> dict[str, object]:
        """The object that a file would have, but for names of topics that it tells by id."""
        from mockbroker.journal.lines import request_line

        return request_line(self, lambda _topic_id: None)

    @property
    def error_codes(self) -> list[int]:
        """The distinct errors in the answer, ascending, without 0."""
        from mockbroker_protocol.subjects import errors_in

        return sorted(set(errors_in(self.response)) - {0})


class SessionEvent:
    """A fetch session came, went or was used wrongly; see docs/journal.md for the words.

    `event` is one of opened, closed, emptied, evicted, refused, not_found, wrong_epoch and
    mixed_ids; `rule` says why it was evicted, `why` what was wrong.
    """

    __slots__ = (
        "age_ms",
        "broker_id",
        "epoch",
        "event",
        "expected_epoch",
        "idle_ms",
        "partitions",
        "rule",
        "session_id",
        "why",
    )

    def __init__(
        self,
        broker_id: int,
        event: str,
        session_id: int,
        *,
        partitions: int = 0,
        rule: str | None = None,
        why: str | None = None,
        epoch: int | None = None,
        expected_epoch: int | None = None,
        age_ms: float | None = None,
        idle_ms: float | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.event = event
        self.session_id = session_id
        self.partitions = partitions
        self.rule = rule
        self.why = why
        self.epoch = epoch
        self.expected_epoch = expected_epoch
        self.age_ms = age_ms
        self.idle_ms = idle_ms


class HighWatermarkMoved:
    """The high watermark of a partition went from one offset to another."""

    __slots__ = ("after", "before", "broker_id", "log_end_offset", "partition", "topic")

    def __init__(
        self,
        broker_id: int,
        topic: str,
        partition: int,
        before: int,
        after: int,
        log_end_offset: int,
    ) -> None:
        self.broker_id = broker_id
        self.topic = topic
        self.partition = partition
        self.before = before
        self.after = after
        self.log_end_offset = log_end_offset


class ClockChanged:
    """Someone changed the time: `action` is freeze, unfreeze, advance, jump or rate."""

    __slots__ = ("action", "by_ms", "frozen", "rate")

    def __init__(self, action: str, by_ms: float | None, rate: float, frozen: bool) -> None:
        self.action = action
        self.by_ms = by_ms
        self.rate = rate
        self.frozen = frozen


class FaultChanged:
    """A fault rule was added, removed, cleared, released or is exhausted."""

    __slots__ = ("action", "fault_id", "hits", "rule")

    def __init__(
        self, action: str, fault_id: str, hits: int, rule: dict[str, object] | None = None
    ) -> None:
        self.action = action
        self.fault_id = fault_id
        self.hits = hits
        self.rule = rule


# Who decided how a transaction ends.
BY_CLIENT: Final = "client"
BY_TIMEOUT: Final = "timeout"
BY_FENCING: Final = "fenced"
BY_REMOVAL: Final = "removed"


class TransactionDecided:
    """A coordinator decided how an open transaction ends; its markers follow.

    Producer id and epoch are those of its records; `by` is BY_CLIENT (EndTxn), BY_TIMEOUT (it was
    open for too long), BY_FENCING (InitProducerId of the same id) or BY_REMOVAL (a test took its
    id away).
    """

    __slots__ = (
        "broker_id",
        "by",
        "committed",
        "open_ms",
        "partitions",
        "producer_epoch",
        "producer_id",
        "transactional_id",
    )

    def __init__(
        self,
        broker_id: int,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        committed: bool,
        by: str,
        open_ms: int,
        partitions: int,
    ) -> None:
        self.broker_id = broker_id
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
        self.by = by
        self.open_ms = open_ms
        self.partitions = partitions


Event = (
    ConnectionOpened
    | ConnectionClosed
    | RequestRefused
    | HandlerFailed
    | RequestServed
    | SessionEvent
    | HighWatermarkMoved
    | ClockChanged
    | FaultChanged
    | TransactionDecided
)
