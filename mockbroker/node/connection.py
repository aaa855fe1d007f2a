"""One client connection without a socket: received frames, the request in work, chunks to send.

`broker` drives it. A connection works on one request at a time and answers in order, as Kafka
mutes a channel while it processes a request (SocketServer, KIP-74's "response order").

Invariants: frames leave `queue` in the order in which they arrived; while `in_work` is set no
further frame is taken; after `closing` nothing is queued or sent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from mockbroker.node.tls_session import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import RequestContext, ServedApis
    from mockbroker.clock import Timer, TimerTask
    from mockbroker.node.tls_session import TlsSession
    from mockbroker_protocol.frames import Frame, FrameBuffer
    from mockbroker_protocol.primitives import Buffer

QUEUED_BYTES_LIMIT: Final = 1 << 20
"""Frames waiting behind a parked request: past this the shell stops reading the socket."""
QUEUED_FRAMES_LIMIT: Final = 4096
OUT_BYTES_LIMIT: Final = 4 << 20
"""Answers made in one step: past this the rest of the queue waits until they are written."""


class Connection:
    """The state of one connection; all of it is changed by `broker` alone."""

    __slots__ = (
        "blocked",
        "client_id",
        "close_reason",
        "closing",
        "ended",
        "ending",
        "frames",
        "gate",
        "id",
        "in_work",
        "listener",
        "local_address",
        "muted",
        "opened_ms",
        "out",
        "out_bytes",
        "peer",
        "principal",
        "queue",
        "queued_bytes",
        "registry",
        "requests",
        "starved",
        "tls",
        "touched",
    )

    def __init__(
        self,
        connection_id: int,
        peer: str,
        local_address: tuple[str, int],
        listener: str,
        frames: FrameBuffer,
        opened_ms: float,
        registry: ServedApis,
    ) -> None:
        self.id = connection_id
        self.peer = peer
        self.local_address = local_address
        self.listener = listener
        self.principal = ANONYMOUS
        self.tls: TlsSession | None = None
        self.gate: Callable[[Frame], bool] | None = None
        """Whether a frame is a request to serve; there until its client is known (`sasl_gate`)."""
        self.client_id = ""
        self.frames = frames
        self.opened_ms = opened_ms
        self.registry = registry
        self.requests = 0
        self.queue: deque[Frame] = deque()
        self.queued_bytes = 0
        self.in_work: RequestContext | None = None
        self.blocked = False
        self.muted: TimerTask | None = None
        """Set while it is throttled: what ends it. Requests wait as long."""
        self.out: list[Buffer] = []
        self.out_bytes = 0
        self.touched = False
        self.starved = False
        """Whether there is no memory for what it sends (`memory_pool`): it is not read."""
        self.closing = False
        self.ended = False
        """Whether its client has closed, while what it had sent is still worked on."""
        self.close_reason: str | None = None
        self.ending: str | None = None
        """How a fault ends it: disconnect, reset or half_close."""

    def push(self, frames: list[Frame]) -> None:
        """Queue frames that arrived; nothing is queued any more once it is closing."""
        if self.closing:
            return
        self.queue.extend(frames)
        for frame in frames:
            self.queued_bytes += len(frame)

    def pop(self) -> Frame:
        """Take the next frame into work."""
        frame = self.queue.popleft()
        self.queued_bytes -= len(frame)
        return frame

    def send(self, chunks: list[Buffer], size_bytes: int) -> None:
        """Queue one whole framed answer."""
        self.out += chunks
        self.out_bytes += size_bytes

    @property
    def can_work(self) -> bool:
        """Whether the next queued frame may be taken."""
        return (
            bool(self.queue)
            and self.in_work is None
            and not self.blocked
            and self.muted is None
            and not self.closing
            and self.out_bytes < OUT_BYTES_LIMIT
        )

    @property
    def idle(self) -> bool:
        """Whether every whole frame that arrived has been answered."""
        return not self.queue and self.in_work is None

    @property
    def full(self) -> bool:
        """Whether the shell should stop reading: a client runs ahead of its answers."""
        return self.queued_bytes > QUEUED_BYTES_LIMIT or len(self.queue) > QUEUED_FRAMES_LIMIT

    def mute(self, timer: Timer, until_ms: float, work_on: Callable[[], None]) -> None:
        """Take nothing more until then: a client that is throttled may not know it (KIP-219)."""

        def unmute() -> None:
            self.muted = None
            work_on()

        self.muted = timer.schedule(until_ms, unmute)

    def close(self, reason: str | None) -> None:
        """Drop what waits; answers already queued are still sent before the close."""
        if self.muted is not None:
            self.muted.cancel()
            self.muted = None
        self.closing = True
        self.close_reason = reason
        self.queue.clear()
        self.queued_bytes = 0
