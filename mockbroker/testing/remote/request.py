"""A request in the journal of a broker elsewhere, as its line tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mockbroker.journal.request import RequestServed

if TYPE_CHECKING:
    from mockbroker.journal.details import Line, TopicName

__tracebackhide__ = True

_LENGTH_BYTES = 4


class RemoteRequest(RequestServed):
    """A request as the journal of a broker elsewhere tells it; the messages stayed there."""

    __slots__ = ("_line",)

    def __init__(self, line: Line) -> None:
        fields = cast("dict[str, Any]", line)
        super().__init__(
            fields["api_key"],
            fields["version"],
            fields["correlation_id"],
            fields["client_id"],
            fields["connection"],
            arrived_ms=fields["arrived_ms"],
            completed_ms=fields["completed_ms"],
            request_bytes=fields["request_bytes"] - _LENGTH_BYTES,
        )
        self._line = line
        self.principal = fields["principal"]
        self.listener = fields["listener"]
        self.response_bytes = fields["response_bytes"]
        self.throttle_time_ms = fields["throttle_ms"]
        self.fault = fields["fault"]
        self.woken_by = fields["cause"] if fields["parked"] else None
        fetch = fields.get("fetch")
        if fetch is not None:
            self.fetch_class = fetch["class"]
            self.request_bytes_saved = fetch["request_bytes_saved"]
            self.response_bytes_saved = fetch["response_bytes_saved"]

    @property
    def broker_id(self) -> int:
        return int(cast("int", self._line["broker"]))

    @property
    def request(self) -> None:
        """None: its bytes stayed at the broker."""

    @property
    def response(self) -> None:
        """None: its bytes stayed at the broker."""

    @property
    def error_codes(self) -> list[int]:
        return list(cast("list[int]", self._line["errors"]))

    def line(self, topic_name: TopicName | None = None) -> Line:  # noqa: ARG002 -- it has names
        return {name: value for name, value in self._line.items() if name != "number"}
