from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.frames import SHARED_BYTES, Frame, FrameBuffer

FRAMES = st.lists(st.binary(min_size=1, max_size=60), max_size=12)


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def receive(buffer: FrameBuffer, data: bytes, most: int) -> list[Frame]:
    """Read as a shell does, at most `most` bytes at a time."""
    frames: list[Frame] = []
    while data:
        room = buffer.get_buffer(-1)
        count = min(most, len(room), len(data))
        room[:count] = data[:count]
        frames += buffer.buffer_updated(count)
        data = data[count:]
    return frames


@given(FRAMES, st.integers(1, 200))
def test_frames_come_out_whole_however_the_stream_is_cut(bodies: list[bytes], most: int) -> None:
    buffer = FrameBuffer(memoryview(bytearray(128)))
    assert receive(buffer, framed(*bodies), most) == bodies
    assert buffer.buffered_bytes == 0


@given(FRAMES, st.data())
def test_feed_gives_the_same_frames(bodies: list[bytes], data: st.DataObject) -> None:
    stream, buffer = framed(*bodies), FrameBuffer()
    frames: list[Frame] = []
    while stream:
        count = data.draw(st.integers(1, len(stream)))
        make = data.draw(st.sampled_from((bytes, bytearray, memoryview)))
        frames += buffer.feed(make(stream[:count]))
        stream = stream[count:]
    assert frames == bodies


@pytest.mark.parametrize("most", [1000, 65_536, 10_000_000])
def test_a_large_frame_is_received_into_a_buffer_of_its_own(most: int) -> None:
    body = bytes(range(256)) * 4096
    buffer = FrameBuffer()
    first, last = receive(buffer, framed(body, b"next"), most)
    assert (first, last) == (body, b"next")
    assert isinstance(first, bytearray)


def test_a_frame_is_not_written_to_again() -> None:
    shared = memoryview(bytearray(64))
    buffer = FrameBuffer(shared)
    first = receive(buffer, framed(b"aaaa"), 64)[0]
    large = FrameBuffer(shared)
    second = receive(large, framed(b"b" * 100), 50)[0]
    views = memoryview(first), memoryview(second)
    receive(buffer, framed(b"cccc"), 64)
    receive(large, framed(b"d" * 100), 50)
    assert [view.tobytes() for view in views] == [b"aaaa", b"b" * 100]


def test_connections_of_a_thread_share_one_buffer() -> None:
    shared = memoryview(bytearray(64))
    one, two = FrameBuffer(shared), FrameBuffer(shared)
    halves = framed(b"first one"), framed(b"second one")
    assert receive(one, halves[0][:6], 64) == receive(two, halves[1][:3], 64) == []
    assert receive(one, halves[0][6:], 64) == [b"first one"]
    assert receive(two, halves[1][3:], 64) == [b"second one"]


def test_a_length_alone_costs_little_memory() -> None:
    buffer = FrameBuffer()
    assert buffer.feed((100_000_000).to_bytes(4, "big")) == []
    assert len(buffer.get_buffer()) <= 4 << 20


def test_a_view_that_is_still_out_does_not_stop_the_frame_from_growing() -> None:
    buffer = FrameBuffer()
    body = b"z" * 2_000_000
    buffer.feed(framed(body)[:10])
    stream, frames, held = framed(body)[10:], list[Frame](), list[memoryview]()
    while stream:
        room = buffer.get_buffer()
        count = min(len(room), len(stream))
        room[:count] = stream[:count]
        frames += buffer.buffer_updated(count)
        stream = stream[count:]
        held.append(room)
    assert frames == [body]


@pytest.mark.parametrize("size", [0, -1, -(2**31), 104_857_601, 2**31 - 1, 0x47455420])
def test_absurd_lengths_are_refused_with_the_number(size: int) -> None:
    prefix = size.to_bytes(4, "big", signed=True)
    with pytest.raises(ProtocolError, match=str(size)):
        FrameBuffer().feed(prefix)
    with pytest.raises(ProtocolError, match=str(size)):
        receive(FrameBuffer(), prefix + b"x", 64)


def test_the_limit_can_be_set() -> None:
    assert FrameBuffer(max_frame_bytes=4).feed(framed(b"1234")) == [b"1234"]
    with pytest.raises(ProtocolError, match="frame of 5 bytes is larger than 4"):
        FrameBuffer(max_frame_bytes=4).feed(framed(b"12345"))
    with pytest.raises(ProtocolError):
        receive(FrameBuffer(max_frame_bytes=4), framed(b"12345"), 64)


def test_frames_before_a_bad_length_are_served_before_the_error() -> None:
    buffer = FrameBuffer()
    assert buffer.feed(framed(b"good") + b"\xff\xff\xff\xff") == [b"good"]
    assert buffer.error is not None
    with pytest.raises(ProtocolError, match="-1"):
        buffer.feed(b"more")
    with pytest.raises(ProtocolError, match="-1"):
        receive(buffer, framed(b"more"), 64)


def test_an_idle_connection_holds_no_buffer() -> None:
    buffer = FrameBuffer(memoryview(bytearray(64)))
    receive(buffer, framed(b"one", b"two"), 64)
    assert buffer.buffered_bytes == 0
    receive(buffer, framed(b"three")[:5], 64)
    assert buffer.buffered_bytes == 1


def test_a_length_alone_costs_no_more_than_a_small_frame() -> None:
    tracemalloc.start()
    frames = FrameBuffer()
    frames.feed((100 << 20).to_bytes(4, "big") + b"x")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 2 * SHARED_BYTES
