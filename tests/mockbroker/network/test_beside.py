"""A thread works beside the loop: one piece after another, called back in the loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from functools import partial

import pytest

from mockbroker import MockBroker
from mockbroker.network.beside import Beside
from mockbroker_protocol.records import compression
from mockbroker_protocol.slices import Aside
from tests.support import heavy


def _threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "mockbroker-beside"]


def test_pieces_are_done_in_order_by_another_thread_and_told_in_the_loop() -> None:
    told: list[object] = []
    me = threading.get_ident()
    go_on = threading.Event()

    def note(number: int) -> None:
        told.append((number, threading.get_ident() == me))

    def work_aside() -> bool:
        return go_on.wait(30) and threading.get_ident() != me

    async def work() -> None:
        everything = asyncio.Event()
        beside = Beside(lambda: told.append("end of step"))
        pieces = [Aside(work_aside) for _ in range(3)]
        for number, piece in enumerate(pieces):
            beside.do(piece, partial(note, number))
        beside.do(Aside(lambda: None), everything.set)
        assert not told, "not before the loop has its turn"
        assert len(_threads()) == 1
        go_on.set()
        await asyncio.wait_for(everything.wait(), 30)
        assert all(piece.result() for piece in pieces)

    asyncio.run(work())
    end = "end of step"
    assert told == [(0, True), end, (1, True), end, (2, True), end, end]
    for thread in _threads():
        thread.join(30)
    assert not _threads()


def test_nobody_is_told_once_the_loop_is_closed() -> None:
    told: list[int] = []
    go_on = threading.Event()

    async def work() -> None:
        Beside(lambda: None).do(Aside(go_on.wait), lambda: told.append(1))

    asyncio.run(work())
    (thread,) = _threads()
    go_on.set()
    thread.join(30)
    assert not thread.is_alive()
    assert not told


def test_a_large_zstd_batch_is_inflated_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    decompress = compression.decompress

    def noted(codec: int, data: compression.Buffer, *, max_bytes: int) -> compression.Buffer:
        threads.append(threading.current_thread().name)
        return decompress(codec, data, max_bytes=max_bytes)

    monkeypatch.setattr(compression, "decompress", noted)
    large = heavy.produce(heavy.batch(heavy.zstd(heavy.one_record(48_000_000)), 1, 4))
    with MockBroker(topics={heavy.TOPIC: 1}) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as sock:
            sock.sendall(large)
            assert sock.recv(4, socket.MSG_WAITALL)
    assert threads[0] == "mockbroker-beside"
