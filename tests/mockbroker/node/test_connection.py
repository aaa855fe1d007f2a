"""A connection takes one frame at a time and says when its client runs ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import RequestContext
from mockbroker.apis.registry import Registry
from mockbroker.node.connection import (
    OUT_BYTES_LIMIT,
    QUEUED_BYTES_LIMIT,
    QUEUED_FRAMES_LIMIT,
    Connection,
)
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import request_header
from tests.support.senders import SENDER

if TYPE_CHECKING:
    from collections.abc import Callable


class NoAnswer:
    """A responder that no test here reaches."""

    def complete(self, ctx: RequestContext, response: object) -> None:
        raise AssertionError((ctx, response))

    complete_in_slices = complete

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        raise AssertionError((ctx, make))


def connection() -> Connection:
    return Connection(
        1, "/127.0.0.1", ("127.0.0.1", 9092), "PLAINTEXT", FrameBuffer(), 0.0, Registry()
    )


def works(conn: Connection) -> bool:
    """Its state as a call, which a type checker does not take for settled."""
    return conn.can_work


def full(conn: Connection) -> bool:
    return conn.full


def idle(conn: Connection) -> bool:
    return conn.idle


def context() -> RequestContext:
    return RequestContext(NoAnswer(), request_header(18, 0, 1, "", 0), SENDER, 0.0, 0)


def test_frames_leave_in_the_order_in_which_they_came() -> None:
    conn = connection()
    conn.push([b"a", b"bb"])
    conn.push([b"ccc"])
    assert conn.queued_bytes == 6
    assert [conn.pop(), conn.pop(), conn.pop()] == [b"a", b"bb", b"ccc"]
    assert conn.queued_bytes == 0
    assert not works(conn)


def test_a_frame_waits_while_another_is_in_work() -> None:
    conn = connection()
    conn.push([b"a"])
    assert works(conn)
    conn.in_work = context()
    assert not works(conn)
    conn.in_work = None
    assert works(conn)


def test_nothing_is_worked_on_for_a_client_that_does_not_read() -> None:
    conn = connection()
    conn.push([b"a"])
    conn.blocked = True
    assert not works(conn)


def test_a_long_pipeline_pauses_when_its_answers_pile_up() -> None:
    conn = connection()
    conn.push([b"a"])
    conn.send([b"x"], OUT_BYTES_LIMIT)
    assert not works(conn)


def test_it_is_full_by_bytes_and_by_frames() -> None:
    by_bytes, by_frames = connection(), connection()
    by_bytes.push([bytes(QUEUED_BYTES_LIMIT)])
    assert not full(by_bytes)
    by_bytes.push([b"a"])
    assert full(by_bytes)
    by_frames.push([b"a"] * (QUEUED_FRAMES_LIMIT + 1))
    assert full(by_frames)


def test_closing_drops_what_waits_and_keeps_what_is_answered() -> None:
    conn = connection()
    conn.push([b"a"])
    conn.send([b"answer"], 6)
    conn.close("refused")
    assert not works(conn)
    assert (conn.out, conn.close_reason, conn.queued_bytes) == ([b"answer"], "refused", 0)


def test_it_is_idle_once_every_frame_is_answered() -> None:
    conn = connection()
    assert idle(conn)
    conn.push([b"a"])
    assert not idle(conn)
    conn.pop()
    conn.in_work = context()
    assert not idle(conn)
