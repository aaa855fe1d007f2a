"""Work that is done in slices, between which other connections have their turn.

A generator is a piece of such work: it yields when a slice of a few milliseconds is done. It yields
`WAIT` when it cannot go on before `resume`, and an `Aside` where it needs what another thread may
do meanwhile. `request_handler` owns the queue and runs a slice of
each in turn; `large_requests` is what mostly stands in it.

A turn is what one connection, or one piece of work, does before it makes room for others. The core
has no clock: whoever drives it hands in `turn_over`. Without one (a simulation, a test) a step does
all that there is, so that what happens does not hang on how fast the machine is.

Invariants: a piece of work is in the queue at most once; one whose request is over is dropped.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.slices import Aside

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from mockbroker.apis.context import RequestContext
    from mockbroker_protocol.primitives import Buffer

FREED_AT_ONCE: Final = 128
"""Parts of an answer that was encoded."""
WAIT: Final = object()
"""Yielded by work that waits for something: it is not run before `resume`."""


def encoded(response: object, version: int) -> Generator[object, None, list[Buffer]]:
    """The chunks of a long answer, in slices; it is taken to pieces in slices too.

    To free a million objects takes as long as to make some of them.
    """
    from mockbroker_protocol.plan import encode_in_slices
    from mockbroker_protocol.schema import schema_of

    body = yield from encode_in_slices(response, version)
    for field in schema_of(type(response)).field_names:
        parts = getattr(response, field)
        while isinstance(parts, list) and len(parts) > FREED_AT_ONCE:
            del parts[-FREED_AT_ONCE:]
            yield None
    return body


class SlicedWork:
    """A request that is worked on in slices: `ctx.done` ends it."""

    __slots__ = ("_steps", "aside", "ctx", "waits")

    def __init__(self, ctx: RequestContext, steps: Iterator[object]) -> None:
        self.ctx = ctx
        self._steps = steps
        self.waits = False
        self.aside: Aside[object] | None = None
        """What it goes on with, and another thread may do before."""

    def advance(self) -> bool:
        """Do one slice; whether there is more to do."""
        for step in self._steps:
            self.waits = step is WAIT
            self.aside = step if isinstance(step, Aside) else None
            return True
        return False


class SliceQueue:
    """The work in slices of one broker, in turns."""

    __slots__ = ("_waiting", "queue")

    def __init__(self) -> None:
        self.queue: deque[SlicedWork] = deque()
        """What is not waiting; each step of a broker looks whether there is any."""
        self._waiting: dict[RequestContext, SlicedWork] = {}

    def __bool__(self) -> bool:
        return bool(self.queue)

    def __contains__(self, ctx: object) -> bool:
        return ctx in self._waiting or any(work.ctx is ctx for work in self.queue)

    def add(self, work: SlicedWork) -> None:
        """Do more of it, after the others, unless it waits."""
        if work.waits:
            self._waiting[work.ctx] = work
        else:
            self.queue.append(work)

    def run(self, advance: Callable[[SlicedWork], bool]) -> None:
        """A slice of the first one, by `advance`, which tells whether there is more to do."""
        work = self.queue.popleft()
        if advance(work):
            self.add(work)

    def resume(self, ctx: RequestContext) -> None:
        """What the work on this request waits for is there."""
        work = self._waiting.pop(ctx, None)
        if work is not None:
            work.waits = False
            self.queue.append(work)

    def drop(self, ctx: RequestContext) -> None:
        """The client of this request has gone."""
        self._waiting.pop(ctx, None)
