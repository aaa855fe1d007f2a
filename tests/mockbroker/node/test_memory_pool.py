"""The pool of requests' bytes: charged, released, and who waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.node.connection import Connection
from mockbroker.node.memory_pool import MemoryPool
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.frames import FrameBuffer
from tests.support.core import Core

if TYPE_CHECKING:
    from mockbroker_protocol.frames import Frame


def connection(number: int) -> Connection:
    registry = Core().broker.registry
    return Connection(number, "/h", ("h", 1), "PLAINTEXT", FrameBuffer(), 0.0, registry)


def arrive(pool: MemoryPool, conn: Connection, data: bytes) -> None:
    frames: list[Frame] = []
    try:
        frames = conn.frames.feed(data)
    except ProtocolError:
        assert conn.frames.error is not None
    pool.arrived(conn, frames)


def frame(size: int) -> bytes:
    return size.to_bytes(4, "big") + bytes(size)


def test_one_frame_more_than_there_is_room_for_is_granted() -> None:
    pool, one = MemoryPool(100), connection(1)
    arrive(pool, one, frame(60) * 3)
    assert (len(one.queue), pool.available, one.starved) == (2, -20, True)
    assert pool.let_go_on() == []
    one.pop()
    pool.settle(one)
    assert pool.let_go_on() == [one]
    assert (len(one.queue), pool.available, one.starved) == (2, -20, False)


def test_who_is_forgotten_has_nothing_and_waits_for_nothing() -> None:
    pool, one, two = MemoryPool(100), connection(1), connection(2)
    arrive(pool, one, frame(100)[:50])
    arrive(pool, two, frame(10))
    assert (pool.available, two.starved) == (0, True)
    pool.forget(two)
    pool.forget(one)
    assert (pool.available, pool.let_go_on(), two.starved) == (100, [], False)


def test_nothing_is_withheld_of_who_cannot_be_read_any_more() -> None:
    pool, one, two = MemoryPool(100), connection(1), connection(2)
    arrive(pool, one, frame(100)[:50])
    arrive(pool, two, frame(10) + b"\xff\xff\xff\xff")
    assert (len(two.queue), two.starved, pool.available) == (1, False, -10)


def test_nothing_is_charged_to_who_is_closing() -> None:
    pool, one = MemoryPool(100), connection(1)
    one.close("refused")
    arrive(pool, one, frame(10) + frame(100)[:50])
    assert (pool.available, one.starved) == (100, False)
