"""What becomes of fetch sessions, for the journal: opened, ended and why, used wrongly and how.

`FetchManager` tells it at each turn of a session; polls that go well are none. It remembers how the
last MAX_REMEMBERED sessions ended, so that "no such session" can be explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal import SessionEvent

if TYPE_CHECKING:
    from mockbroker.clock import Clock
    from mockbroker.fetch.session import FetchSession
    from mockbroker.journal import Journal

MAX_REMEMBERED: Final = 1024
UNKNOWN: Final = "unknown"


class SessionLog:
    """The sessions of one node, as events. Without a journal it only remembers."""

    __slots__ = ("_clock", "_ended", "broker_id", "journal")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended: dict[int, str] = {}
        self.journal: Journal | None = None
        self.broker_id = -1

    def opened(self, session: FetchSession) -> None:
        """A full fetch got a session."""
        self._ended.pop(session.id, None)
        self._record(SessionEvent(self.broker_id, "opened", session.id, partitions=session.size))

    def refused(self, session: FetchSession) -> None:
        """A full fetch got none: there was no slot."""
        self._record(SessionEvent(self.broker_id, "refused", 0, partitions=session.size))

    def ended(self, session: FetchSession, event: str, rule: str | None = None) -> None:
        """A session is gone: closed, emptied or evicted by a rule."""
        ended = self._ended
        ended[session.id] = event
        if len(ended) > MAX_REMEMBERED:
            del ended[next(iter(ended))]
        now_ms = int(self._clock.now_ms)
        self._record(
            SessionEvent(
                self.broker_id,
                event,
                session.id,
                partitions=session.size,
                rule=rule,
                age_ms=float(now_ms - session.created_ms),
                idle_ms=float(now_ms - session.last_used_ms),
            )
        )

    def not_found(self, session_id: int, epoch: int) -> None:
        """Error 70."""
        why = self._ended.get(session_id, UNKNOWN)
        self._record(SessionEvent(self.broker_id, "not_found", session_id, why=why, epoch=epoch))

    def wrong_epoch(self, session: FetchSession, epoch: int) -> None:
        """Error 71."""
        expected = session.epoch
        why = "ahead" if epoch > expected else "repeated" if epoch == expected - 1 else "behind"
        self._record(
            SessionEvent(
                self.broker_id,
                "wrong_epoch",
                session.id,
                partitions=session.size,
                why=why,
                epoch=epoch,
                expected_epoch=expected,
            )
        )

    def mixed_ids(self, session: FetchSession) -> None:
        """Error 106."""
        self._record(SessionEvent(self.broker_id, "mixed_ids", session.id, partitions=session.size))

    def _record(self, event: SessionEvent) -> None:
        if self.journal is not None:
            self.journal.record(event)
