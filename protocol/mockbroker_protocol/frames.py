"""Bytes of a stream into frames, without I/O.

A connection owns one FrameBuffer. A shell that reads into buffers calls `get_buffer`, fills a part
of what it got, and calls `buffer_updated` with the count before it asks again; others call `feed`.
Both return the frames that are now whole, without their int32 length prefix.

Invariants:
- A frame is bytes or a bytearray that nobody writes to again, so views of it may be kept.
- Between calls nothing of this connection is in the shared buffer: one buffer may serve all
  connections of a thread, and an idle connection holds none.
- A frame whose rest is large is received straight into its own bytearray, which grows with what
  arrives: a length alone, however large, costs little memory.
- Work is linear in the bytes received, however they are cut.
Limits mirror NetworkReceive and socket.request.max.bytes; Kafka also refuses a length of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.primitives import Buffer

Frame = bytes | bytearray

SHARED_BYTES: Final = 64 * 1024
MAX_FRAME_BYTES: Final = 104_857_600
_FIRST_ALLOCATION_BYTES: Final = SHARED_BYTES
"""For a frame whose length alone is known: its buffer grows with what arrives."""
_GROWTH: Final = 4
"""A full buffer becomes so many times as large: of a frame a third is copied at the most."""
_MOST_GROWTH_BYTES: Final = 8 << 20
"""But grows by no more at once: that takes milliseconds, and Linux moves a large one uncopied."""
_unpack_length: Final[Callable[..., tuple[int]]] = Struct(">i").unpack_from


class FrameBuffer:
    """The receiving half of one connection.

    `shared` is the buffer that small reads go through: pass the same memoryview to every
    connection of a thread. Without it the buffer makes its own on first use.
    """

    __slots__ = ("_filled", "_head", "_partial", "_shared", "_size", "error", "max_frame_bytes")

    def __init__(
        self,
        shared: memoryview | bytearray | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        self.max_frame_bytes = max_frame_bytes
        self.error: ProtocolError | None = None
        """Set when frames came before a bad length: handle those, then close."""
        self._shared = memoryview(shared) if isinstance(shared, bytearray) else shared
        self._head = b""  # the first bytes of a length prefix, fewer than four
        self._partial: bytearray | None = None  # a frame whose length is known
        self._size = 0  # of that frame
        self._filled = 0  # of its bytes, how many are here

    @property
    def buffered_bytes(self) -> int:
        """How much has arrived of a frame that is not whole yet."""
        return len(self._head) + self._filled

    @property
    def announced_bytes(self) -> int:
        """The size of that frame, once its length is known."""
        return 0 if self._partial is None else self._size

    def get_buffer(self, hint: int = -1) -> memoryview:  # noqa: ARG002  # asyncio passes a hint
        """Where the next bytes go; valid until `buffer_updated`."""
        partial = self._partial
        if partial is not None and self._size - self._filled >= SHARED_BYTES // 2:
            return memoryview(self._grow(partial))[self._filled :]
        shared = self._shared
        if shared is None:
            shared = self._shared = memoryview(bytearray(SHARED_BYTES))
        return shared

    def buffer_updated(self, count: int) -> list[Frame]:
        """Frames completed by `count` bytes, written where `get_buffer` said."""
        partial = self._partial
        if partial is not None and self._size - self._filled >= SHARED_BYTES // 2:
            self._filled += count
            if self._filled < self._size:
                return []
            self._partial = None
            self._filled = 0
            return [partial]
        shared = self._shared
        assert shared is not None
        if partial is None and count > 4 and not self._head:
            size = _unpack_length(shared)[0]
            if size == count - 4 and size <= self.max_frame_bytes and self.error is None:
                return [shared[4:count].tobytes()]
        return self.feed(shared[:count].tobytes())

    def feed(self, data: Buffer) -> list[Frame]:
        """Frames completed by `data`; ProtocolError on a length that is not allowed.

        When whole frames precede the bad length they are returned, `error` is set, and the next
        call raises it: those requests came from a peer that was still in step.
        """
        if self.error is not None:
            raise self.error
        if type(data) is not bytes:
            data = bytes(data)
        if self._head:
            data = self._head + data
            self._head = b""
        elif self._partial is None and len(data) > 4:
            whole = _unpack_length(data)[0]
            if whole == len(data) - 4 and whole <= self.max_frame_bytes:
                return [data[4:]]  # one frame, as it was sent
        pos = 0
        frames: list[Frame] = []
        if self._partial is not None:
            pos = self._fill(data, frames)
        end = len(data)
        unpack_from, max_bytes = _unpack_length, self.max_frame_bytes
        while end - pos >= 4:
            size = unpack_from(data, pos)[0]
            if size <= 0 or size > max_bytes:
                return self._refuse(size, frames)
            start = pos + 4
            pos = start + size
            if pos > end:
                self._begin(size, data[start:])
                return frames
            frames.append(data[start:pos])
        if pos < end:
            self._head = data[pos:]
        return frames

    def _refuse(self, size: int, frames: list[Frame]) -> list[Frame]:
        if size > 0:
            message = f"frame of {size} bytes is larger than {self.max_frame_bytes}"
        else:
            message = f"frame length {size} is not positive"
        self.error = ProtocolError(message)
        if not frames:
            raise self.error
        return frames

    def _begin(self, size: int, start: bytes) -> None:
        """A frame is cut: keep what is here, in a buffer of its own."""
        partial = bytearray(min(size, max(_FIRST_ALLOCATION_BYTES, 2 * len(start))))
        partial[: len(start)] = start
        self._partial, self._size, self._filled = partial, size, len(start)

    def _fill(self, data: bytes, frames: list[Frame]) -> int:
        """Move the rest of the cut frame, or as much as is here; how far that went in `data`."""
        partial = self._partial
        assert partial is not None
        take = min(self._size - self._filled, len(data))
        filled = self._filled + take
        while len(partial) < filled:
            self._filled = len(partial)
            partial = self._grow(partial)
        partial[filled - take : filled] = data if take == len(data) else data[:take]
        if filled < self._size:
            self._filled = filled
        else:
            self._partial = None
            self._filled = 0
            frames.append(partial)
        return take

    def _grow(self, partial: bytearray) -> bytearray:
        """More room when it is full."""
        if self._filled < len(partial):
            return partial
        growth = min((_GROWTH - 1) * len(partial), _MOST_GROWTH_BYTES, self._size - len(partial))
        room = bytes(growth)
        try:
            partial += room
        except BufferError:  # the shell still holds the view that it filled last
            partial = self._partial = partial + room
        return partial
