"""What happened, as values: kept in a ring, told to listeners, written down as lines.

Every room of the core may record here; `api`, `admin`, `event_log` and `journal_files` read. The
public form is docs/journal.md.
"""

from mockbroker.journal.events import (
    DATA,
    DISCONNECT,
    ERROR,
    FAULT,
    HIGH_WATERMARK,
    IMMEDIATE,
    LAST_STABLE_OFFSET,
    PEER,
    SHUTDOWN,
    TIMEOUT,
    ClockChanged,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    FaultChanged,
    HandlerFailed,
    HighWatermarkMoved,
    RequestRefused,
    RequestServed,
    SessionEvent,
    TransactionDecided,
)
from mockbroker.journal.ring import Journal

__all__ = (
    "DATA",
    "DISCONNECT",
    "ERROR",
    "FAULT",
    "HIGH_WATERMARK",
    "IMMEDIATE",
    "LAST_STABLE_OFFSET",
    "PEER",
    "SHUTDOWN",
    "TIMEOUT",
    "ClockChanged",
    "ConnectionClosed",
    "ConnectionOpened",
    "Event",
    "FaultChanged",
    "HandlerFailed",
    "HighWatermarkMoved",
    "Journal",
    "RequestRefused",
    "RequestServed",
    "SessionEvent",
    "TransactionDecided",
)
