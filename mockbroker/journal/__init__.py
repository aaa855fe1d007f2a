"""What happened, as values: kept in a ring, told to listeners, written down as lines.

Every room of the core may record here; `testing`, `state`, `admin` and `server` read. The
public form is docs/journal.md.
"""

from mockbroker.journal.events import (
    Appended,
    Authorization,
    ClockChanged,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRefused,
    Event,
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
from mockbroker.journal.request import (
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
    RequestServed,
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
    "Appended",
    "Authorization",
    "ClockChanged",
    "ConnectionClosed",
    "ConnectionOpened",
    "ConnectionRefused",
    "Event",
    "FaultChanged",
    "HandlerFailed",
    "HighWatermarkMoved",
    "Journal",
    "Login",
    "LoopBlocked",
    "MemoryLimitMet",
    "RequestRefused",
    "RequestServed",
    "SessionEvent",
    "TopicPlaced",
    "TransactionDecided",
)
