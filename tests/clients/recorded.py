"""What a client sent, recorded on its way to a broker, and played again to two others.

One of these has the extension for consumers beyond the partition, the other has not: a client that
knows nothing of it must be answered the same, byte for byte. They have the seed of the broker that
was recorded and its time, so the ids that the client was told, and sends back, are theirs too.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.clients.server import serving
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.core import CoreClient

SEED = 227
CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    # Clients have the time of this day, and what is played is on virtual time.
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
}
READ_BYTES = 1 << 18
RECORDINGS = 3
SILENCE_MS = 10_000
"""Virtual time after the last frame, in which whatever waits is answered."""


class Event(NamedTuple):
    """What one connection did: bytes; none of them: it was closed."""

    at_ms: float
    connection: int
    data: bytes


class Recorder:
    """A port before a broker's; what is sent to it goes on to the broker, and is kept."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.answered: dict[int, bytearray] = {}
        """What the broker sent, by connection."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._ended = False
        self._began = time.monotonic()
        self._connections = 0

    def run(self, broker: str) -> None:
        """Pass all on until `end`; in a thread of its own."""
        host, _, port = broker.rpartition(":")
        self._selector.register(self._listener, selectors.EVENT_READ)
        while not self._ended:
            for key, _ in self._selector.select(0.1):
                if key.data is None:
                    self._connections += 1
                    client, _ = self._listener.accept()
                    beyond = socket.create_connection((host, int(port)))
                    for one in (client, beyond):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._selector.register(
                        client, selectors.EVENT_READ, (client, beyond, self._connections)
                    )
                    self._selector.register(
                        beyond, selectors.EVENT_READ, (beyond, client, -self._connections)
                    )
                elif key.data[0].fileno() >= 0:  # else its other end was closed in this round
                    self._pass_on(*key.data)

    def _pass_on(self, source: socket.socket, target: socket.socket, connection: int) -> None:
        try:
            data = source.recv(READ_BYTES)
            if connection > 0:
                at_ms = (time.monotonic() - self._began) * 1000
                self.events.append(Event(at_ms, connection, data))
            else:
                self.answered.setdefault(-connection, bytearray()).extend(data)
            if data:
                target.sendall(data)
        except OSError:
            data = b""
        if not data:
            for one in (source, target):
                self._selector.unregister(one)
                one.close()

    def end(self) -> None:
        """Let `run` return."""
        self._ended = True

    def close(self) -> None:
        """After `run`: close what is still open."""
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()


@contextmanager
def recording(folder: Path) -> Iterator[tuple[str, Recorder]]:
    """The address of a broker whose clients are recorded."""
    recorder = Recorder()
    settings = [f"--set={name}={value}" for name, value in CONFIG.items()]
    advertised = f"PLAINTEXT://127.0.0.1:{recorder.port}"
    with serving(
        folder,
        *("--seed", str(SEED), "--advertised-listener", advertised, *settings),
        plain=True,
    ) as broker:
        thread = threading.Thread(target=recorder.run, args=(broker,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{recorder.port}", recorder
        finally:
            recorder.end()
            thread.join(10)
            recorder.close()


Answers = dict[int, list[bytes]]
"""Frames, by connection."""


def play(events: list[Event], *, extended: bool) -> Answers:
    """Send what was recorded to a broker on virtual time."""
    config = CONFIG | ({"coop.extension.enable": "true"} if extended else {})
    core = Core(config=config, seed=SEED)
    clients: dict[int, CoreClient] = {}
    answers: Answers = {}
    for event in events:
        core.advance(max(event.at_ms - core.now_ms, 0))
        client = clients.get(event.connection)
        if client is None:
            client = clients[event.connection] = core.client()
        if not event.data:
            _receive(client, answers.setdefault(event.connection, []))
            if not client.closed:
                client.disconnect()
                client.closed = True
        elif not client.closed:
            client.send_bytes(event.data)
    core.advance(SILENCE_MS)
    for connection, client in clients.items():
        _receive(client, answers.setdefault(connection, []))
    return answers


def _receive(client: CoreClient, answers: list[bytes]) -> None:
    answers += [bytes(client.receive_bytes()) for _ in range(client.answered)]


def check_answered_alike(folder: Path, work: Callable[[str], object]) -> None:
    """Record a client at its work, which is given the address, and play that with and without.

    On a busy machine connections may be served in another order than they are played in, and get
    each other's ids: then most answers are errors, and the work is recorded once more.
    """
    is_as_it_was = False
    for attempt in range(RECORDINGS):
        own = folder / str(attempt)
        own.mkdir()
        with recording(own) as (address, recorder):
            work(address)
        plain = play(recorder.events, extended=False)
        extended = play(recorder.events, extended=True)
        assert [key for key, answers in plain.items() if answers != extended[key]] == []
        sent = sum(map(len, recorder.answered.values()))
        is_as_it_was = sum(4 + len(one) for told in plain.values() for one in told) > 0.8 * sent
        if is_as_it_was:
            break
    assert is_as_it_was
