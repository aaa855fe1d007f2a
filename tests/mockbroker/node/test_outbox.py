"""What is to be written, taken once, in the order in which connections got it."""

from __future__ import annotations

from mockbroker.apis.registry import Registry
from mockbroker.node.connection import QUEUED_FRAMES_LIMIT, Connection
from mockbroker.node.outbox import Outbox
from mockbroker_protocol.frames import FrameBuffer


def connection(connection_id: int) -> Connection:
    return Connection(
        connection_id,
        "/127.0.0.1",
        ("127.0.0.1", 9092),
        "PLAINTEXT",
        FrameBuffer(),
        0.0,
        Registry(),
    )


def test_each_connection_is_told_once_in_the_order_of_its_first_touch() -> None:
    outbox = Outbox()
    first, second = connection(1), connection(2)
    for conn, data in ((second, b"a"), (first, b"b"), (second, b"cc")):
        conn.send([data], len(data))
        outbox.touch(conn)
    assert [(each.connection_id, each.chunks, each.size_bytes) for each in outbox.take()] == [
        (2, [b"a", b"cc"], 3),
        (1, [b"b"], 1),
    ]
    assert outbox.take() == []


def test_what_comes_after_the_outbox_was_taken_is_told_anew() -> None:
    outbox, conn = Outbox(), connection(1)
    for data in (b"a", b"b"):
        conn.send([data], 1)
        outbox.touch(conn)
        assert [each.chunks for each in outbox.take()] == [[data]]


def test_what_was_taken_without_bytes_has_none_of_the_next_answer() -> None:
    outbox, conn = Outbox(), connection(1)
    outbox.touch(conn)
    (outgoing,) = outbox.take()
    conn.send([b"a"], 1)
    assert outgoing.chunks == []


def test_a_queue_says_whether_to_read_on_and_to_come_back() -> None:
    outbox, conn = Outbox(), connection(1)
    for frames, told in ((1, (True, True)), (QUEUED_FRAMES_LIMIT, (False, True))):
        conn.push([b"x"] * frames)
        outbox.touch(conn)
        (outgoing,) = outbox.take()
        assert (outgoing.read, outgoing.more) == told
    conn.blocked = True
    outbox.touch(conn)
    (outgoing,) = outbox.take()
    assert (outgoing.read, outgoing.more) == (False, False)


def test_a_connection_that_ends_says_how() -> None:
    outbox, conn = Outbox(), connection(1)
    conn.ending = "reset"
    conn.close("reset by a rule")
    outbox.touch(conn)
    (outgoing,) = outbox.take()
    assert (outgoing.close, outgoing.ending) == (True, "reset")
