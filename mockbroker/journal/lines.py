"""Events as the objects of docs/journal.md: what a journal file has in a line.

Called by `journal_files`, in its own thread, and by those who want one request as plain data.
Within a schema version fields are only added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal.details import MAX_LISTED, details_of, names_of
from mockbroker.journal.events import (
    ClockChanged,
    ConnectionClosed,
    ConnectionOpened,
    FaultChanged,
    HandlerFailed,
    HighWatermarkMoved,
    RequestRefused,
    RequestServed,
    SessionEvent,
    TransactionDecided,
)
from mockbroker_protocol.subjects import errors_in, subjects_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.journal.events import Event

SCHEMA: Final = 1
_LENGTH_BYTES: Final = 4

Line = dict[str, object]


def line_of(event: Event, topic_name: Callable[[bytes], str | None]) -> Line:
    """The object of one event, without the fields that only its place in a file gives it."""
    if isinstance(event, RequestServed):
        return request_line(event, topic_name)
    kind, of_kind = _KINDS[type(event)]
    return {"schema": SCHEMA, "kind": kind, **of_kind(event)}


def request_line(served: RequestServed, topic_name: Callable[[bytes], str | None]) -> Line:
    """The object of one request."""
    request, response = served.request, served.response
    errors = [code for code in errors_in(response) if code]
    line: Line = {
        "schema": SCHEMA,
        "kind": "request",
        "api": served.api_name,
        "api_key": served.api_key,
        "version": served.api_version,
        "correlation_id": served.correlation_id,
        "client_id": served.client_id,
        "connection": served.connection_id,
        "broker": served.broker_id,
        "listener": served.listener,
        "principal": served.principal,
        "request_bytes": served.request_bytes + _LENGTH_BYTES,
        "response_bytes": served.response_bytes,
        "arrived_ms": round(served.arrived_ms, 3),
        "parked_ms": round(served.arrived_ms, 3) if served.parked else None,
        "completed_ms": round(served.completed_ms, 3),
        "waited_ms": round(served.completed_ms - served.arrived_ms, 3),
        "parked": served.parked,
        "cause": served.cause,
        "answered": served.answered,
        "throttle_ms": getattr(response, "throttle_time_ms", 0),
        "error": errors[0] if errors else 0,
        "errors": sorted(set(errors)),
        "fault": served.fault,
        "topics": [],
    }
    if request is not None:
        subjects = subjects_of(request)
        line["topics"] = names_of(subjects.topics, topic_name)[:MAX_LISTED]
        line.update(details_of(served, request, response, topic_name))
    return line


def _connection_opened(event: ConnectionOpened) -> Line:
    return {
        "broker": event.broker_id,
        "connection": event.connection_id,
        "peer": event.peer,
        "listener": event.listener,
    }


def _connection_closed(event: ConnectionClosed) -> Line:
    return {
        "broker": event.broker_id,
        "connection": event.connection_id,
        "peer": event.peer,
        "client_id": event.client_id,
        "requests": event.requests,
        "lifetime_ms": round(event.lifetime_ms, 3),
        "reason": event.reason,
    }


def _refused(event: RequestRefused) -> Line:
    return {
        "broker": event.broker_id,
        "connection": event.connection_id,
        "peer": event.peer,
        "client_id": event.client_id,
        "api": event.api_name,
        "version": event.api_version,
        "reason": event.reason,
    }


def _failed(event: HandlerFailed) -> Line:
    return {
        "broker": event.broker_id,
        "connection": event.connection_id,
        "peer": event.peer,
        "client_id": event.client_id,
        "api": event.api_name,
        "version": event.api_version,
        "reason": repr(event.error),
    }


def _session(event: SessionEvent) -> Line:
    return {
        "broker": event.broker_id,
        "event": event.event,
        "session_id": event.session_id,
        "rule": event.rule,
        "why": event.why,
        "epoch": event.epoch,
        "expected_epoch": event.expected_epoch,
        "partitions": event.partitions,
        "age_ms": event.age_ms,
        "idle_ms": event.idle_ms,
    }


def _high_watermark(event: HighWatermarkMoved) -> Line:
    return {
        "broker": event.broker_id,
        "topic": event.topic,
        "partition": event.partition,
        "from": event.before,
        "to": event.after,
        "log_end_offset": event.log_end_offset,
    }


def _clock(event: ClockChanged) -> Line:
    return {
        "action": event.action,
        "by_ms": event.by_ms,
        "rate": event.rate,
        "frozen": event.frozen,
    }


def _fault(event: FaultChanged) -> Line:
    return {
        "action": event.action,
        "id": event.fault_id,
        "hits": event.hits,
        "rule": event.rule,
    }


def _transaction(event: TransactionDecided) -> Line:
    return {
        "broker": event.broker_id,
        "transactional_id": event.transactional_id,
        "producer_id": event.producer_id,
        "producer_epoch": event.producer_epoch,
        "outcome": "commit" if event.committed else "abort",
        "by": event.by,
        "open_ms": event.open_ms,
        "partitions": event.partitions,
    }


_KINDS: Final[dict[type, tuple[str, Callable[..., Line]]]] = {
    ConnectionOpened: ("connection_opened", _connection_opened),
    ConnectionClosed: ("connection_closed", _connection_closed),
    RequestRefused: ("refused", _refused),
    HandlerFailed: ("failed", _failed),
    SessionEvent: ("session", _session),
    HighWatermarkMoved: ("high_watermark", _high_watermark),
    ClockChanged: ("clock", _clock),
    FaultChanged: ("fault", _fault),
    TransactionDecided: ("transaction", _transaction),
}
