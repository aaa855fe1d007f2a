"""What the process that makes a journal's lines is handed: tuples of what `marshal` knows.

`journal_files` packs them in its thread, at each request of a busy broker; `journal_encoder` makes
lines of them. A request is as it came and as it was answered, undecoded.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mockbroker.journal.events import Appended
from mockbroker.journal.high_watermark import HighWatermarkMoved
from mockbroker.journal.lines import FIELD_NAMES, KINDS, fields_of, line_of

if TYPE_CHECKING:
    from mockbroker.journal import Event
    from mockbroker.journal.request import RequestServed
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer

NAME: Final = "name"
LINE: Final = "line"
REQUEST: Final = "request"
LATER_FIELDS: Final = (
    "peer",
    "principal",
    "listener",
    "response_bytes",
    "throttle_time_ms",
    "fetch_class",
    "request_bytes_saved",
    "response_bytes_saved",
    "woken_by",
    "fault",
    "service_ms",
)
"""Of a request, what follows on what its constructor takes, and comes before its broker."""
_HIGH_WATERMARK: Final = KINDS[HighWatermarkMoved]
_APPENDED: Final = KINDS[Appended]
_appended_fields: Final[attrgetter[Any]] = attrgetter(*fields_of(Appended))
EVENT_FIELDS: Final = {
    KINDS[kind]: tuple(FIELD_NAMES.get(name, name) for name in fields_of(kind))
    for kind in (HighWatermarkMoved, Appended)
}
"""Of what comes with each append, by its kind."""

Item: TypeAlias = tuple[int, float, int, int, str, object]
"""Number, time, wall time, how many were lost before it, what it is, and that."""


def name_item(topic_id: bytes, name: str | None) -> Item:
    """From now on the topic of this id has that name; None: there is no such topic any more."""
    return (0, 0.0, 0, 0, NAME, (topic_id, name))


def line_item(line: dict[str, object], seq: int, at_ms: float, wall_ms: int, lost: int) -> Item:
    """A line that is made already."""
    return (seq, at_ms, wall_ms, lost, LINE, line)


def event_item(event: Event, seq: int, at_ms: float, wall_ms: int, lost: int) -> Item:
    """What happened and is no request. The broker makes no line of what comes with each append."""
    if isinstance(event, HighWatermarkMoved):
        return (seq, at_ms, wall_ms, lost, _HIGH_WATERMARK, event.packed())
    if isinstance(event, Appended):
        return (seq, at_ms, wall_ms, lost, _APPENDED, _appended_fields(event))
    return line_item(line_of(event, _nobody), seq, at_ms, wall_ms, lost)


def _nobody(_topic_id: bytes) -> None:
    """Events that are no requests name topics by name."""


def request_item(
    served: RequestServed,
    frame: Frame | None,
    chunks: list[Buffer] | None,
    place: tuple[int, float, int, int],
) -> Item:
    """A request, undecoded; its place is number, time, wall time, and how many were lost."""
    fields = (
        served.api_key,
        served.api_version,
        served.correlation_id,
        served.client_id,
        served.connection_id,
        served.arrived_ms,
        served.completed_ms,
        served.request_bytes,
        served.peer,
        served.principal,
        served.listener,
        served.response_bytes,
        served.throttle_time_ms,
        served.fetch_class,
        served.request_bytes_saved,
        served.response_bytes_saved,
        served.woken_by,
        served.fault,
        served.service_ms,
        served.broker_id,
    )
    bytes_of = None if frame is None else bytes(frame)
    seq, at_ms, wall_ms, lost = place
    answer = b"".join(chunks) if chunks else None
    return (seq, at_ms, wall_ms, lost, REQUEST, (fields, bytes_of, answer))
