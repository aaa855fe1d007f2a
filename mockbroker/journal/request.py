"""One request and what became of it: the record that the journal keeps, and its line.

The context of a request (`apis.context.RequestContext`) becomes its own record when it is over, so
a request costs no second object. Messages are decoded when someone looks, and not before.

Invariant: nothing changes once it was recorded, but that a request's bytes may be let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.api_keys import ALL_SPECS

if TYPE_CHECKING:
    from mockbroker.journal.details import Line, TopicName
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer

SCHEMA: Final = 1
"""The version of the lines' schema (docs/journal.md)."""
_LENGTH_BYTES: Final = 4

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


class RequestServed:
    """One request and what became of it. Times are on the core's clock, in milliseconds.

    `frame` is the request without its length, `chunks` the framed answer; both are undecoded, and
    None once the ring let them go. `answered` is False when nothing was sent. `fetch_class` is
    SESSIONLESS, FULL or INCREMENTAL for a fetch that came as far as its session, answered or not,
    else None; the bytes saved are what its session spared it (`fetch.savings`). `woken_by` is what
    ended the wait (DATA …), None: it never waited. `fault` holds the ids of the rules that fired.
    `service_ms` is the real time of the work on a request that never waited; below 0: nobody had a
    stopwatch, or it waited, or it was worked on in slices.
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
        "service_ms",
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
        self.response_bytes = 0
        self.throttle_time_ms = 0
        self.frame: Frame | None = None
        self.chunks: list[Buffer] | None = None
        self.fetch_class: str | None = None
        self.request_bytes_saved = 0
        self.response_bytes_saved = 0
        self.woken_by: str | None = None
        self.fault: str | None = None
        self.service_ms = -1.0

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.api_name} v{self.api_version} of {self.client_id!r},"
            f" connection {self.connection_id}, correlation id {self.correlation_id}>"
        )

    @property
    def broker_id(self) -> int:
        """The node that served it; -1: not known."""
        return -1

    @property
    def api_name(self) -> str:
        """Kafka's name of the API."""
        return ALL_SPECS[self.api_key].name

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

        return decode_request(self.api_key, self.api_version, self.frame)

    @property
    def response(self) -> object | None:
        """The answer, decoded now; None when none was sent or its bytes were let go."""
        from mockbroker.journal.decoding import decode_response

        return decode_response(self.api_key, self.api_version, self.chunks)

    @property
    def error_codes(self) -> list[int]:
        """The distinct errors in the answer, ascending, without 0."""
        from mockbroker_protocol.subjects import errors_in

        return sorted(set(errors_in(self.response)) - {0})

    def line(self, topic_name: TopicName | None = None) -> Line:
        """The object that a file would have, without `run` and `seq`.

        `topic_name` finds the name of a topic that the request gave by its id.
        """
        from mockbroker.journal.details import details_of
        from mockbroker_protocol.subjects import errors_in

        request, response = self.request, self.response
        errors = [code for code in errors_in(response) if code]
        arrived_ms, completed_ms = round(self.arrived_ms, 3), round(self.completed_ms, 3)
        line: Line = {
            "schema": SCHEMA,
            "kind": "request",
            "api": self.api_name,
            "api_key": self.api_key,
            "version": self.api_version,
            "correlation_id": self.correlation_id,
            "client_id": self.client_id,
            "connection": self.connection_id,
            "broker": self.broker_id,
            "listener": self.listener,
            "principal": self.principal,
            "request_bytes": self.request_bytes + _LENGTH_BYTES,
            "response_bytes": self.response_bytes,
            "arrived_ms": arrived_ms,
            "parked_ms": arrived_ms if self.parked else None,
            "completed_ms": completed_ms,
            "waited_ms": round(self.completed_ms - self.arrived_ms, 3),
            "service_ms": round(self.service_ms, 4) if self.service_ms >= 0 else None,
            "parked": self.parked,
            "cause": self.cause,
            "answered": self.answered,
            "throttle_ms": getattr(response, "throttle_time_ms", 0),
            "error": errors[0] if errors else 0,
            "errors": sorted(set(errors)),
            "fault": self.fault,
            "topics": [],
        }
        if request is not None:
            line.update(details_of(request, response, topic_name or _no_name))
            fetch = line.get("fetch")
            if isinstance(fetch, dict):
                fetch["class"] = self.fetch_class
                fetch["request_bytes_saved"] = self.request_bytes_saved
                fetch["response_bytes_saved"] = self.response_bytes_saved
        return line


def _no_name(_topic_id: bytes) -> str | None:
    return None
