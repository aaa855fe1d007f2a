"""What happened beside requests, as values: connections, sessions, refusals, changes of time.

The broker and the rooms below it make them, `journal.ring` keeps and tells them, `journal.lines`
writes them down; docs/journal.md is their public form, and names the fields.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mockbroker.journal.request import RequestServed


class ConnectionOpened(NamedTuple):
    """A client connected, from `peer_port` of its host (0: not over a socket)."""

    connection_id: int
    peer: str
    listener: str
    broker_id: int = -1
    peer_port: int = 0


class ConnectionClosed(NamedTuple):
    """A connection ended; `reason` is None when its client closed it."""

    connection_id: int
    peer: str
    client_id: str
    requests: int
    lifetime_ms: float
    reason: str | None
    broker_id: int = -1


class RequestRefused(NamedTuple):
    """Bytes or a request that this broker does not answer: the connection closes.

    `api_key` and `api_version` are None when not even a request header could be read.
    """

    connection_id: int
    peer: str
    client_id: str
    api_key: int | None
    api_name: str
    api_version: int | None
    reason: str
    broker_id: int = -1


class HandlerFailed(NamedTuple):
    """A defect of ours: a handler raised. The connection closes; `error` has the traceback."""

    connection_id: int
    peer: str
    client_id: str
    api_name: str
    api_version: int
    error: Exception
    broker_id: int = -1


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


class HighWatermarkMoved(NamedTuple):
    """The high watermark of a partition went from one offset to another."""

    broker_id: int
    topic: str
    partition: int
    before: int
    after: int
    log_end_offset: int


class ClockChanged(NamedTuple):
    """Someone changed the time: `action` is freeze, unfreeze, advance, jump or rate."""

    action: str
    by_ms: float | None
    rate: float
    frozen: bool


class FaultChanged(NamedTuple):
    """A fault rule was added, removed, cleared, released or is exhausted."""

    action: str
    fault_id: str
    hits: int
    rule: dict[str, object] | None = None


# Who decided how a transaction ends.
BY_CLIENT: Final = "client"
BY_TIMEOUT: Final = "timeout"
BY_FENCING: Final = "fenced"
BY_REMOVAL: Final = "removed"


class TransactionDecided(NamedTuple):
    """A coordinator decided how an open transaction ends; its markers follow.

    Producer id and epoch are those of its records; `by` is BY_CLIENT (EndTxn), BY_TIMEOUT (it was
    open for too long), BY_FENCING (InitProducerId of the same id) or BY_REMOVAL (a test took its
    id away).
    """

    broker_id: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    by: str
    open_ms: int
    partitions: int


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
