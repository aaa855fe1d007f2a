"""What happened beside requests, as values: connections, sessions, refusals, changes of time.

The broker and the rooms below it make them, `journal.ring` keeps and tells them, `journal.lines`
writes them down; docs/journal.md is their public form, and names the fields.
"""

from __future__ import annotations

from typing import Final

from mockbroker.journal.high_watermark import HighWatermarkMoved
from mockbroker.journal.request import RequestServed
from mockbroker_protocol.named_tuple import NamedTuple


class EventValues:
    """What the events below share; they print and compare by their fields.

    They are plain classes: a named tuple takes a start of the broker ten times as long to make.
    """

    __slots__: tuple[str, ...] = ()

    def values(self) -> dict[str, object]:
        """The fields by their names, in the order of the constructor."""
        names = type(self).__init__.__code__.co_varnames[1 : len(self.__slots__) + 1]
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.values() == self.values()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.values().items())
        return f"{type(self).__name__}({fields})"


class ConnectionOpened(EventValues):
    """A client connected, from `peer_port` of its host (0: not over a socket).

    `principal` is who it is by then; `tls_version` and `tls_cipher` are None without TLS; `fault`
    is the id of the rule that had another certificate shown.
    """

    __slots__ = (
        "broker_id",
        "connection_id",
        "fault",
        "listener",
        "peer",
        "peer_port",
        "principal",
        "tls_cipher",
        "tls_version",
    )

    def __init__(
        self,
        connection_id: int,
        peer: str,
        listener: str,
        broker_id: int = -1,
        peer_port: int = 0,
        principal: str = "User:ANONYMOUS",
        tls_version: str | None = None,
        tls_cipher: str | None = None,
    ) -> None:
        self.connection_id = connection_id
        self.peer = peer
        self.listener = listener
        self.broker_id = broker_id
        self.peer_port = peer_port
        self.principal = principal
        self.tls_version = tls_version
        self.tls_cipher = tls_cipher
        self.fault: str | None = None

    def values(self) -> dict[str, object]:
        """The fields by their names."""
        return {**super().values(), "fault": self.fault}


class ConnectionClosed(EventValues):
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
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.requests = requests
        self.lifetime_ms = lifetime_ms
        self.reason = reason
        self.broker_id = broker_id


class Login(EventValues):
    """A client proved who it is, or failed to: then `reason` says why.

    `principal` is who the connection's client is now, None while that is not known; `renewed`:
    it was known before (KIP-368).
    """

    __slots__ = (
        "broker_id",
        "client_id",
        "connection_id",
        "mechanism",
        "peer",
        "principal",
        "reason",
        "renewed",
    )

    def __init__(
        self,
        connection_id: int,
        peer: str,
        client_id: str,
        mechanism: str | None,
        principal: str | None,
        renewed: bool,
        reason: str | None,
        broker_id: int = -1,
    ) -> None:
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.mechanism = mechanism
        self.principal = principal
        self.renewed = renewed
        self.reason = reason
        self.broker_id = broker_id


class Authorization(NamedTuple):
    """Whether a principal may do what a request asks for (Kafka: kafka.authorizer.logger).

    `resource_type` and `operation` are Kafka's names, "Topic" and "READ"; `resource_ref_count` is
    how often the request names the resource; `rule` is what decided.
    """

    connection_id: int
    peer: str
    client_id: str
    api_name: str
    principal: str
    allowed: bool
    operation: str
    resource_type: str
    resource_name: str
    resource_ref_count: int
    rule: str
    broker_id: int = -1

    def values(self) -> dict[str, object]:
        """The fields by their names, in their order."""
        return self._asdict()

    @property
    def message(self) -> str:
        """The line of Kafka's authorizer logger (StandardAuthorizerData.buildAuditMessage)."""
        return (
            f"Principal = {self.principal} is {'Allowed' if self.allowed else 'Denied'} "
            f"operation = {self.operation} from host = {self.peer.removeprefix('/')} "
            f"on resource = {self.resource_type}:LITERAL:{self.resource_name} "
            f"for request = {self.api_name} "
            f"with resourceRefCount = {self.resource_ref_count} based on rule {self.rule}"
        )


class ConnectionRefused(EventValues):
    """A client was sent away, or not accepted: `reason` names the limit."""

    __slots__ = ("broker_id", "listener", "peer", "reason")

    def __init__(self, peer: str, listener: str, reason: str, broker_id: int = -1) -> None:
        self.peer = peer
        self.listener = listener
        self.reason = reason
        self.broker_id = broker_id


class LoopBlocked(EventValues):
    """A step kept the loop from everybody else for `blocked_ms` of real time.

    The request is the one that was worked on last; without one it was something else, such as a
    test that acted on the broker.
    """

    __slots__ = ("api_name", "blocked_ms", "broker_id", "client_id", "request_bytes")

    def __init__(
        self,
        blocked_ms: float,
        api_name: str | None,
        client_id: str,
        request_bytes: int,
        broker_id: int = -1,
    ) -> None:
        self.blocked_ms = blocked_ms
        self.api_name = api_name
        self.client_id = client_id
        self.request_bytes = request_bytes
        self.broker_id = broker_id


class RequestRefused(EventValues):
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
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.api_key = api_key
        self.api_name = api_name
        self.api_version = api_version
        self.reason = reason
        self.broker_id = broker_id


class HandlerFailed(EventValues):
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
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.api_name = api_name
        self.api_version = api_version
        self.error = error
        self.broker_id = broker_id


class SessionEvent(NamedTuple):
    """A fetch session (KIP-227) came, went or was used wrongly; docs/journal.md has the words.

    `event` is one of opened, closed, emptied, evicted, refused, not_found, wrong_epoch and
    mixed_ids; `rule` says why it was evicted, `why` what was wrong.
    """

    broker_id: int
    event: str
    session_id: int
    partitions: int = 0
    rule: str | None = None
    why: str | None = None
    epoch: int | None = None
    expected_epoch: int | None = None
    age_ms: float | None = None
    idle_ms: float | None = None

    def values(self) -> dict[str, object]:
        """The fields by their names, in their order."""
        return self._asdict()


class MemoryLimitMet(EventValues):
    """A broker's logs hold as much as they may.

    `event` is `deleted`: the oldest segments of a partition went, `size_bytes` in all, and its log
    start moved; or `full`: nothing may go, and an append of `size_bytes` was refused, as others
    may be until there is room (no partition then). `held_bytes` is what all logs hold now.
    """

    __slots__ = (
        "after",
        "before",
        "broker_id",
        "event",
        "held_bytes",
        "partition",
        "size_bytes",
        "topic",
    )

    def __init__(
        self,
        broker_id: int,
        event: str,
        topic: str | None,
        partition: int | None,
        before: int,
        after: int,
        size_bytes: int,
        held_bytes: int,
    ) -> None:
        self.broker_id = broker_id
        self.event = event
        self.topic = topic
        self.partition = partition
        self.before = before
        self.after = after
        self.size_bytes = size_bytes
        self.held_bytes = held_bytes


class ClockChanged(EventValues):
    """Someone changed the time: `action` is freeze, unfreeze, advance, jump or rate.

    `now_ms` is the core's time behind the change; `skipped_rounds` are those among brokers in which
    nothing could change, and which were not played therefore.
    """

    __slots__ = ("action", "by_ms", "frozen", "now_ms", "rate", "skipped_rounds")

    def __init__(
        self,
        action: str,
        by_ms: float | None,
        rate: float,
        frozen: bool,
        now_ms: float = 0.0,
        skipped_rounds: int = 0,
    ) -> None:
        self.action = action
        self.by_ms = by_ms
        self.rate = rate
        self.frozen = frozen
        self.skipped_rounds = skipped_rounds
        self.now_ms = now_ms
        self.skipped_rounds = skipped_rounds


class FaultChanged(EventValues):
    """A fault rule was added, removed, released or is exhausted; all were cleared or restored."""

    __slots__ = ("action", "fault_id", "hits", "rule")

    def __init__(
        self, action: str, fault_id: str, hits: int, rule: dict[str, object] | None = None
    ) -> None:
        self.action = action
        self.fault_id = fault_id
        self.hits = hits
        self.rule = rule


# Who decided how a transaction ends.
class Appended(EventValues):
    """A leader appended a batch; told to those who ask for it, as appends are many.

    `size_bytes` is the whole batch's, `batch` in base64 its header, of a control batch all of it.
    """

    __slots__ = ("base_offset", "batch", "broker_id", "partition", "size_bytes", "topic")

    def __init__(
        self,
        broker_id: int,
        topic: str,
        partition: int,
        base_offset: int,
        size_bytes: int,
        batch: str,
    ) -> None:
        self.broker_id = broker_id
        self.topic = topic
        self.partition = partition
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.batch = batch


CREATED: Final = "created"
GROWN: Final = "grown"
MOVED: Final = "moved"
DELETED: Final = "deleted"


class TopicPlaced(EventValues):
    """Where partitions of a topic are: it was CREATED, has GROWN, one has MOVED, or it is DELETED.

    `partitions` holds leader, leader epoch, replicas and in-sync replicas of each, from index
    `first` on; `topic_id` is Kafka's text of it.
    """

    __slots__ = ("action", "configs", "first", "partitions", "topic", "topic_id")

    def __init__(
        self,
        action: str,
        topic: str,
        topic_id: str,
        first: int,
        partitions: list[list[object]],
        configs: dict[str, str],
    ) -> None:
        self.action = action
        self.topic = topic
        self.topic_id = topic_id
        self.first = first
        self.partitions = partitions
        self.configs = configs


BY_CLIENT: Final = "client"
BY_TIMEOUT: Final = "timeout"
BY_FENCING: Final = "fenced"
BY_REMOVAL: Final = "removed"


class TransactionDecided(EventValues):
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
    | ConnectionRefused
    | Login
    | Authorization
    | LoopBlocked
    | RequestRefused
    | HandlerFailed
    | RequestServed
    | SessionEvent
    | HighWatermarkMoved
    | Appended
    | TopicPlaced
    | MemoryLimitMet
    | ClockChanged
    | FaultChanged
    | TransactionDecided
)
