"""What happened, as values: connections, requests and refusals.

`broker` records an event at each turn; the shell listens and writes log lines. An event is only
made when someone listens to its kind, so a journal that no one reads costs a request one test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# What ends the wait of a parked fetch: what happened to a partition that it waits for, or the end.
DATA: Final = "data"
HIGH_WATERMARK: Final = "high_watermark"
LAST_STABLE_OFFSET: Final = "last_stable_offset"
ERROR: Final = "error"
TIMEOUT: Final = "timeout"
DISCONNECT: Final = "disconnect"
SHUTDOWN: Final = "shutdown"


class ConnectionOpened:
    """A client connected."""

    __slots__ = ("connection_id", "listener", "peer")

    def __init__(self, connection_id: int, peer: str, listener: str) -> None:
        self.connection_id = connection_id
        self.peer = peer
        self.listener = listener


class ConnectionClosed:
    """A connection ended; `reason` is None when its client closed it."""

    __slots__ = ("client_id", "connection_id", "lifetime_ms", "peer", "reason", "requests")

    def __init__(
        self,
        connection_id: int,
        peer: str,
        client_id: str,
        requests: int,
        lifetime_ms: float,
        reason: str | None,
    ) -> None:
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
    ) -> None:
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.api_key = api_key
        self.api_name = api_name
        self.api_version = api_version
        self.reason = reason


class HandlerFailed:
    """A defect of ours: a handler raised. The connection closes; `error` has the traceback."""

    __slots__ = ("api_name", "api_version", "client_id", "connection_id", "error", "peer")

    def __init__(
        self,
        connection_id: int,
        peer: str,
        client_id: str,
        api_name: str,
        api_version: int,
        error: Exception,
    ) -> None:
        self.connection_id = connection_id
        self.peer = peer
        self.client_id = client_id
        self.api_name = api_name
        self.api_version = api_version
        self.error = error


class RequestServed:
    """One request and its answer. Times are on the core's clock, in milliseconds.

    `fetch_class` is SESSIONLESS, FULL or INCREMENTAL for an answered fetch, else None; the bytes
    saved are what its session spared it (`fetch.savings`). `parked` says whether the answer had to
    wait, `woken_by` what ended the wait of a fetch: records were appended (data), the high
    watermark moved without, a transaction ended (last_stable_offset), the partition was lost
    (error), its time was over, or the broker stops.
    """

    __slots__ = (
        "api_name",
        "api_version",
        "arrived_ms",
        "client_id",
        "completed_ms",
        "connection_id",
        "correlation_id",
        "fetch_class",
        "parked",
        "request_bytes",
        "request_bytes_saved",
        "response_bytes",
        "response_bytes_saved",
        "woken_by",
    )

    def __init__(
        self,
        connection_id: int,
        client_id: str,
        api_name: str,
        api_version: int,
        correlation_id: int,
        request_bytes: int,
        response_bytes: int,
        arrived_ms: float,
        completed_ms: float,
        parked: bool,
        fetch_class: str | None = None,
        request_bytes_saved: int = 0,
        response_bytes_saved: int = 0,
        woken_by: str | None = None,
    ) -> None:
        self.connection_id = connection_id
        self.client_id = client_id
        self.api_name = api_name
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.request_bytes = request_bytes
        self.response_bytes = response_bytes
        self.arrived_ms = arrived_ms
        self.completed_ms = completed_ms
        self.parked = parked
        self.fetch_class = fetch_class
        self.request_bytes_saved = request_bytes_saved
        self.response_bytes_saved = response_bytes_saved
        self.woken_by = woken_by


Event = ConnectionOpened | ConnectionClosed | RequestRefused | HandlerFailed | RequestServed


class Journal:
    """Where events go. `wants_requests` is False until someone asks for each request."""

    __slots__ = ("_listeners", "wants_requests")

    def __init__(self) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self.wants_requests = False

    def listen(self, listener: Callable[[Event], None], *, requests: bool = False) -> None:
        """Call `listener` with each event from now on; with `requests`, each request too."""
        self._listeners.append(listener)
        self.wants_requests = self.wants_requests or requests

    def record(self, event: Event) -> None:
        """Tell everyone who listens, in the order in which they came."""
        for listener in self._listeners:
            listener(event)
