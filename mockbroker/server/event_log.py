"""Journal events as log lines through structlog: console for people, JSON for machines.

Used by `app`. By default one line an error; at debug two a connection and one a request. Of refused
requests so many in a while have a line of their own, and one line counts the others: a stranger
cannot fill the disk. Texts of clients are cut, and have nothing that a terminal would act upon.
structlog is imported at the first line, after the broker accepts connections: it would double
the time to start.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TextIO

from mockbroker.journal import (
    Authorization,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRefused,
    HandlerFailed,
    Login,
    LoopBlocked,
    MemoryLimitMet,
    RequestRefused,
    RequestServed,
)
from mockbroker.journal.lines import FIELD_NAMES
from mockbroker.journal.printable import MAX_CHARACTERS, printable, printable_lines
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.store import RESOURCE_BROKER_LOGGER, ROOT_LOGGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import EventDict, FilteringBoundLogger

    from mockbroker.journal import Event, Journal
    from mockbroker.journal.events import EventValues
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# The names that Kafka's loggers have for them.
_LOGGER_LEVELS: Final = {"debug": "DEBUG", "info": "INFO", "warning": "WARN", "error": "ERROR"}
_NUMBERS: Final = {"TRACE": 10, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 40}


_REFUSED: Final[dict[type, str]] = {
    RequestRefused: "request refused",
    ConnectionRefused: "connection refused",
    Login: "login failed",
}
REFUSALS: Final = 10
"""Refused requests that have a line of their own in each time of `REFUSALS_SECONDS`."""
DENIALS: Final = 1000
"""Different denials of which each has as many lines, in each such time."""
REFUSALS_SECONDS: Final = 10.0
MEMORY_SECONDS: Final = 10.0
"""So long no other line tells of segments that went because of the memory limit."""


class EventLog:
    """Writes a line an event to `stream` (standard error unless told).

    `now` gives seconds of a clock that does not jump.
    """

    def __init__(
        self,
        level: str,
        log_format: str,
        stream: TextIO | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._now = now
        self._refusals = 0
        self._refusals_until = 0.0
        self._denials: dict[tuple[str, str, str, str], int] = {}
        self._untold_denials = 0
        self._denials_until = 0.0
        self._memory_lines_from = -MEMORY_SECONDS
        self._level = LEVELS[level]
        self._stream = sys.stderr if stream is None else stream
        self._json = log_format == "json" or (log_format == "auto" and not self._stream.isatty())
        self._logger: FilteringBoundLogger | None = None
        # By broker and connection, until the client's id is known.
        self._opened: dict[tuple[int, int], ConnectionOpened] = {}

    def attach(self, journal: Journal) -> None:
        """Listen to `journal`; to each request only when the level asks for it."""
        debug = self._level <= LEVELS["debug"]
        journal.listen(self._tell, requests=debug, allowed=debug)

    def follow(self, journal: Journal, metadata: MetadataStore) -> None:
        """Listen, and go by the level of the node's root logger from now on, which begins as ours.

        Clients change it through IncrementalAlterConfigs of a BROKER_LOGGER.
        """
        self.attach(journal)
        node = str(metadata.config.node_id)
        level = next(name for name, number in LEVELS.items() if number == self._level)
        shown = {ROOT_LOGGER: _LOGGER_LEVELS[level]}
        metadata.apply(ConfigsChanged(RESOURCE_BROKER_LOGGER, node, shown))

        def on_change(change: Change) -> None:
            if isinstance(change, ConfigsChanged) and change.resource_type == (
                RESOURCE_BROKER_LOGGER
            ):
                self._level = _NUMBERS[change.configs[ROOT_LOGGER]]
                self._logger = None
                self._opened.clear()
                journal.unlisten(self._tell)
                self.attach(journal)

        metadata.subscribe(on_change)

    def logger(self) -> FilteringBoundLogger:
        """The structlog logger, made at first use."""
        if self._logger is None:
            self._logger = self._make_logger()
        return self._logger

    def warn(self, text: str, **facts: str | int) -> None:
        """One line that is no event of the broker."""
        if self._level <= LEVELS["warning"]:
            try:
                self.logger().warning(text, **facts)
            except OSError:
                pass  # nobody reads the stream, as in `_tell`

    def _make_logger(self) -> FilteringBoundLogger:
        import structlog

        renderer: structlog.typing.Processor = (
            structlog.processors.JSONRenderer()
            if self._json
            else structlog.dev.ConsoleRenderer(colors=self._stream.isatty())
        )
        logger: FilteringBoundLogger = structlog.wrap_logger(
            structlog.PrintLogger(self._stream),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                _cut_texts if self._json else _printable_texts,
                renderer,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(self._level),
            cache_logger_on_first_use=True,
        )
        return logger

    def _tell(self, event: Event) -> None:
        try:
            self._write(event)
        except OSError:
            pass  # nobody reads the stream any more, as with `2>&1 | head`; clients are served on

    def _write(self, event: Event) -> None:
        if isinstance(event, ConnectionOpened):
            if self._level <= LEVELS["debug"]:
                self._opened[event.broker_id, event.connection_id] = event
            return
        if self._refusals > REFUSALS or self._untold_denials:
            self.tell_refusals()
        if self._opened:
            self._tell_opened(event)
        if isinstance(event, RequestServed):
            self._request(event)
        elif isinstance(event, ConnectionClosed) and self._level <= LEVELS["debug"]:
            reason = event.reason or "closed by the client"
            rounded = {"reason": reason, "lifetime_ms": round(event.lifetime_ms)}
            self.logger().debug("connection closed", **{**_fields(event), **rounded})
        elif isinstance(event, (RequestRefused, ConnectionRefused, Login)):
            self._refused(event)
        elif isinstance(event, Authorization):
            self._authorization(event)
        elif isinstance(event, LoopBlocked):
            self.warn(
                "the loop was blocked: nobody else was served meanwhile",
                **{**_fields(event), "blocked_ms": round(event.blocked_ms)},
            )
        elif isinstance(event, MemoryLimitMet):
            self._memory_limit(event)
        elif isinstance(event, HandlerFailed):
            self.logger().error(
                "connection closed: the handler failed, this is a defect of mockbroker",
                exc_info=event.error,
                **_fields(event),
            )

    def _memory_limit(self, event: MemoryLimitMet) -> None:
        """One line in a while: where a limit is met once, it is met with each segment."""
        facts = _fields(event)
        del facts["event"]  # the name of a line's text
        if event.event == "full":
            told = "produce refused: the memory limit is met, and nothing may go"
            self.warn(told, **facts)
        elif self._now() >= self._memory_lines_from:
            self._memory_lines_from = self._now() + MEMORY_SECONDS
            self.warn("the memory limit is met: the oldest segments go", **facts)

    def _refused(self, event: RequestRefused | ConnectionRefused | Login) -> None:
        if isinstance(event, Login) and event.reason is None:
            if self._level <= LEVELS["debug"]:
                self.logger().debug("login", **_fields(event))
            return
        if self._now() >= self._refusals_until:
            self._refusals = 0
            self._refusals_until = self._now() + REFUSALS_SECONDS
        self._refusals += 1
        if self._refusals <= REFUSALS:
            self.logger().warning(f"connection closed: {_REFUSED[type(event)]}", **_fields(event))

    def _authorization(self, event: Authorization) -> None:
        """What Kafka's authorizer logger says, at its levels."""
        if event.allowed:
            self.logger().debug(event.message, broker=event.broker_id)
        elif self._level <= LEVELS["debug"] or (
            self._level <= LEVELS["info"] and self._has_line(event)
        ):
            self.logger().info(event.message, broker=event.broker_id)

    def _has_line(self, event: Authorization) -> bool:
        """Whether it has not been told too often lately; it is counted."""
        if self._now() >= self._denials_until:
            self._forget_denials()
            self._denials_until = self._now() + REFUSALS_SECONDS
        denial = (event.principal, event.operation, event.resource_type, event.resource_name)
        count = self._denials.get(denial, 0)
        if count >= REFUSALS or (not count and len(self._denials) >= DENIALS):
            self._untold_denials += 1
            return False
        self._denials[denial] = count + 1
        return True

    def _forget_denials(self) -> None:
        self._denials.clear()
        self._untold_denials = 0
        self._denials_until = 0.0

    def tell_refusals(self, *, now: bool = False) -> None:
        """Tell how many refusals and denials had no line, once their time is over, or `now`."""
        untold = self._refusals - REFUSALS
        if untold > 0 and (now or self._now() >= self._refusals_until):
            self._refusals = 0
            self._refusals_until = 0.0
            self.warn("connections closed: more requests refused", count=untold)
        untold = self._untold_denials
        if untold and (now or self._now() >= self._denials_until):
            self._forget_denials()
            self.logger().info("more authorizations denied", count=untold)

    def _tell_opened(self, event: Event) -> None:
        """The line of a connection, with its client's id, which its first request brings."""
        if not isinstance(event, (RequestServed, ConnectionClosed, RequestRefused, HandlerFailed)):
            return
        opened = self._opened.pop((event.broker_id, event.connection_id), None)
        if opened is not None:
            self.logger().debug(
                "connection opened",
                connection=opened.connection_id,
                peer=opened.peer,
                port=opened.peer_port,
                listener=opened.listener,
                client_id=event.client_id,
            )

    def _request(self, event: RequestServed) -> None:
        of_fetch: dict[str, str | int] = {}
        if event.fetch_class is not None:
            of_fetch["fetch_class"] = event.fetch_class
            of_fetch["request_bytes_saved"] = event.request_bytes_saved
            of_fetch["response_bytes_saved"] = event.response_bytes_saved
        if event.woken_by is not None:
            of_fetch["woken_by"] = event.woken_by
        self.logger().debug(
            "request",
            api=event.api_name,
            version=event.api_version,
            client_id=event.client_id,
            connection=event.connection_id,
            correlation_id=event.correlation_id,
            request_bytes=event.request_bytes,
            response_bytes=event.response_bytes,
            took_ms=round(event.completed_ms - event.arrived_ms, 3),
            parked=event.parked,
            **of_fetch,
        )


def _cut_texts(_logger: object, _method: str, line: EventDict) -> EventDict:
    """JSON escapes what is not to be printed by itself."""
    for name, value in line.items():
        if isinstance(value, str) and len(value) > MAX_CHARACTERS and name != "exception":
            line[name] = f"{value[:MAX_CHARACTERS]}…"
    return line


def _printable_texts(_logger: object, _method: str, line: EventDict) -> EventDict:
    for name, value in line.items():
        if isinstance(value, str):
            of_lines = name == "exception"
            line[name] = printable_lines(value) if of_lines else printable(value, MAX_CHARACTERS)
    return line


def _fields(event: EventValues) -> dict[str, Any]:
    """What an event tells, under the names that it has in the journal's lines."""
    return {
        FIELD_NAMES.get(name, name): value
        for name, value in event.values().items()
        if name not in ("broker_id", "error")
    }
