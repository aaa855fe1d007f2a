"""The ring of what happened last, and those who listen to what happens next.

`broker` calls `served` once a request, everyone else `record`; neither looks into anything. The
ring is always there: a request costs it an append, its bytes stay undecoded until someone looks.
Bounds: RING_REQUESTS requests and RING_EVENTS other events; of the requests that are larger than
SMALL_BYTES only the last LARGE_BYTES keep their bytes. What followers fetch from their leaders is
left out unless `replication` is set: two fetches a second for each pair of brokers that idle would
soon be all that there is. One that met a fault rule is told.

Positions in the ring are cursors: how many requests were served before. A cursor stays good for
ever; what has left the ring since is simply no longer there.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from mockbroker.journal.events import ClockChanged, HandlerFailed, RequestRefused
from mockbroker_protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.journal.events import Event
    from mockbroker.journal.request import RequestServed

RING_REQUESTS: Final = 2048
RING_EVENTS: Final = 1024
RING_REFUSALS: Final = 100
RING_ADVANCES: Final = 1024
ADVANCE: Final = "advance"
SMALL_BYTES: Final = 4096
LARGE_BYTES: Final = 2 << 20
_FETCH: Final = int(ApiKey.FETCH)


def _no_name(_topic_id: bytes) -> str | None:
    return None


class Journal:
    """Where events go.

    `wants_requests` is False until someone asks to be told each request, `wants_high_watermarks`,
    `wants_appends` and `wants_allowed`, of what an authorizer allows, likewise; `topic_name` finds
    the name of a topic id, for those who decode. `stopwatch` tells real time in seconds, where
    someone wants to know how long the work on a request takes. `replication` says whether
    followers' fetches are requests like others.
    """

    __slots__ = (
        "_advances",
        "_append_listeners",
        "_events",
        "_large",
        "_large_bytes",
        "_listeners",
        "_requests",
        "began_ms",
        "count",
        "refusals",
        "replication",
        "stopwatch",
        "topic_name",
        "wants_allowed",
        "wants_appends",
        "wants_high_watermarks",
        "wants_requests",
    )

    def __init__(self, capacity: int = RING_REQUESTS) -> None:
        self._listeners: list[tuple[Callable[[Event], None], bool, bool, bool]] = []
        self._append_listeners: list[Callable[[Event], None]] = []
        self._requests: deque[RequestServed] = deque(maxlen=capacity)
        self._events: deque[Event] = deque(maxlen=RING_EVENTS)
        self._large: deque[tuple[int, RequestServed]] = deque()
        self._large_bytes = 0
        self._advances: deque[tuple[float, float]] = deque(maxlen=RING_ADVANCES)
        self.count = 0
        self.began_ms = 0.0
        """When the test began that looks at it, on the core's clock."""
        self.refusals: deque[RequestRefused | HandlerFailed] = deque(maxlen=RING_REFUSALS)
        """The last requests that closed their connection, and were not taken yet."""
        self.replication = False
        self.stopwatch: Callable[[], float] | None = None
        self.wants_requests = False
        self.wants_high_watermarks = False
        self.wants_appends = False
        self.wants_allowed = False
        self.topic_name: Callable[[bytes], str | None] = _no_name

    # -- telling ---------------------------------------------------------------------------

    def listen(
        self,
        listener: Callable[[Event], None],
        *,
        requests: bool = False,
        high_watermarks: bool = False,
        allowed: bool = False,
        appends: bool = False,
    ) -> None:
        """Call `listener` with each event from now on; with `requests`, each request too.

        High watermarks move with every append, and an authorizer allows something with every
        request: they are told to those who ask for them, as appends are.
        """
        if appends:
            self._append_listeners = [*self._append_listeners, listener]
        self._listeners = [*self._listeners, (listener, requests, high_watermarks, allowed)]
        self._weigh_wishes()

    def unlisten(self, listener: Callable[[Event], None]) -> None:
        """Tell `listener` nothing more; nothing happens when it does not listen."""
        self._listeners = [known for known in self._listeners if known[0] != listener]
        self._append_listeners = [known for known in self._append_listeners if known != listener]
        self._weigh_wishes()

    def _weigh_wishes(self) -> None:
        self.wants_requests = any(requests for _, requests, _, _ in self._listeners)
        self.wants_high_watermarks = any(moves for _, _, moves, _ in self._listeners)
        self.wants_appends = bool(self._append_listeners)
        self.wants_allowed = any(allowed for _, _, _, allowed in self._listeners)

    def record(self, event: Event) -> None:
        """Keep an event, and tell everyone who listens, in the order in which they came."""
        self._events.append(event)
        if isinstance(event, RequestRefused | HandlerFailed):
            self.refusals.append(event)
        elif isinstance(event, ClockChanged) and event.action == ADVANCE:
            self._advances.append((event.now_ms - (event.by_ms or 0.0), event.now_ms))
        for listener, _, _, _ in self._listeners:
            listener(event)

    def record_high_watermark(self, event: Event) -> None:
        """Tell those who asked for it; the ring has no room for so many."""
        for listener, _, wanted, _ in self._listeners:
            if wanted:
                listener(event)

    def record_append(self, event: Event) -> None:
        """Tell those who asked for it what was appended."""
        for listener in self._append_listeners:
            listener(event)

    def record_allowed(self, event: Event) -> None:
        """Tell those who asked for it what an authorizer allowed."""
        for listener, _, _, wanted in self._listeners:
            if wanted:
                listener(event)

    def served(self, request: RequestServed) -> None:
        """A request is over: keep it, and tell those who asked for requests."""
        if (
            request.connection_id
            < 0  # of a broker of this process, as `cluster.fabric` numbers them
            and request.api_key == _FETCH
            and not self.replication
            and request.fault is None
        ):
            return
        self.count += 1
        self._requests.append(request)
        size_bytes = request.request_bytes + request.response_bytes
        if size_bytes > SMALL_BYTES:
            self._keep_large(request, size_bytes)
        if self.wants_requests:
            for listener, wanted, _, _ in self._listeners:
                if wanted:
                    listener(request)

    def _keep_large(self, request: RequestServed, size_bytes: int) -> None:
        self._large.append((size_bytes, request))
        self._large_bytes += size_bytes
        while self._large_bytes > LARGE_BYTES:
            gone_bytes, gone = self._large.popleft()
            self._large_bytes -= gone_bytes
            gone.frame = gone.chunks = None

    # -- looking ---------------------------------------------------------------------------

    def since_began_ms(self, time_ms: float) -> float:
        """How long after the test began that was, without what `advance` passed over since."""
        passed_over = sum(
            min(end_ms, time_ms) - max(start_ms, self.began_ms)
            for start_ms, end_ms in self._advances
            if start_ms < time_ms and end_ms > self.began_ms
        )
        return time_ms - self.began_ms - passed_over

    def cursor(self) -> int:
        """Where the ring stands now: `requests(since=…)` gives what comes after."""
        return self.count

    def requests(self, since: int = 0) -> Iterator[RequestServed]:
        """The requests that are still in the ring, oldest first, from a cursor on.

        What is served while someone iterates is not part of it.
        """
        kept = list(self._requests)
        first = self.count - len(kept)
        yield from kept[max(0, since - first) :]

    def take_refusals(self) -> list[RequestRefused | HandlerFailed]:
        """The last requests that were refused, or failed, since this was asked before."""
        found = list(self.refusals)
        self.refusals.clear()
        return found

    def events(self) -> list[Event]:
        """The other events that are still in the ring, oldest first."""
        return list(self._events)
