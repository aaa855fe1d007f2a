"""Events as the objects of docs/journal.md: what a journal file has in a line.

Called by `journal_files`, in its own thread, and by those who want one event as plain data. A
field of an event is a field of its line, under the names below. Within a schema version fields are
only added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal.events import (
    Appended,
    Authorization,
    ClockChanged,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRefused,
    FaultChanged,
    HandlerFailed,
    Login,
    LoopBlocked,
    MemoryLimitMet,
    RequestRefused,
    SessionEvent,
    TopicPlaced,
    TransactionDecided,
)
from mockbroker.journal.high_watermark import HighWatermarkMoved
from mockbroker.journal.request import SCHEMA, RequestServed

if TYPE_CHECKING:
    from mockbroker.journal.details import Line, TopicName
    from mockbroker.journal.events import Event

KINDS: Final[dict[type, str]] = {
    RequestServed: "request",
    ConnectionOpened: "connection_opened",
    ConnectionClosed: "connection_closed",
    ConnectionRefused: "connection_refused",
    Login: "login",
    Authorization: "authorization",
    LoopBlocked: "loop_blocked",
    RequestRefused: "refused",
    HandlerFailed: "failed",
    SessionEvent: "session",
    HighWatermarkMoved: "high_watermark",
    Appended: "appended",
    TopicPlaced: "topic",
    MemoryLimitMet: "memory_limit",
    ClockChanged: "clock",
    FaultChanged: "fault",
    TransactionDecided: "transaction",
}
_CLASSES: Final = {name: kind for kind, name in KINDS.items()}
FIELD_NAMES: Final = {
    "api_name": "api",
    "api_version": "version",
    "broker_id": "broker",
    "connection_id": "connection",
    "fault_id": "id",
    "before": "from",
    "after": "to",
    "committed": "outcome",
    "error": "reason",
}
"""What a field of an event is called in its line, where that is another name."""


def line_of(event: Event, topic_name: TopicName) -> Line:
    """The object of one event, without the fields that only its place in a file gives it."""
    if isinstance(event, RequestServed):
        return event.line(topic_name)
    line: Line = {"schema": SCHEMA, "kind": KINDS[type(event)]}
    for name, value in event.values().items():
        line[FIELD_NAMES.get(name, name)] = _plain(name, value)
    return line


def event_of(line: Line) -> Event:
    """The event that a line tells; of an error, what it said. Not for requests."""
    kind = _CLASSES[str(line["kind"])]
    names = fields_of(kind)
    values = {name: line[FIELD_NAMES.get(name, name)] for name in names}
    if "committed" in values:
        values["committed"] = values["committed"] == "commit"
    event: Event = kind(**values)
    return event


def fields_of(kind: type) -> tuple[str, ...]:
    """What an event of that class tells, in the order of its line."""
    names: tuple[str, ...] | None = getattr(kind, "_fields", None)
    if names is None:
        code = kind.__init__.__code__  # type: ignore[misc]  # of each class of `events`
        names = tuple(code.co_varnames[1 : code.co_argcount])
    return names


def _plain(name: str, value: object) -> object:
    if name == "committed":
        return "commit" if value else "abort"
    if isinstance(value, Exception):
        return repr(value)
    return round(value, 3) if isinstance(value, float) and name.endswith("_ms") else value
