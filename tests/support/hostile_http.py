"""What a hostile client sends to the admin port, and what must hold afterwards.

Whatever comes, it is answered by a status below 500 (503 when there are too many connections), or
its connection ends; a neighbour is served, nothing is logged as failed, and no connection stays.
"""

from __future__ import annotations

import logging
import socket
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from mockbroker import MockBroker
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random
    from types import TracebackType

TIMEOUT_MS: Final = 2000
CONNECTIONS: Final = 60
SLOW: Final = 20
"""Connections that send a letter now and then."""
ANSWER_SECONDS: Final = 0.02
DEADLINE_SECONDS: Final = 60.0
_FELT_BY_ALL: Final = ("/v1/brokers", "/v1/links", "/v1/clock/freeze")
_METHODS: Final = (b"GET", b"POST", b"PUT", b"DELETE", b"PATCH", b"HEAD", b"OPTIONS")
_ODD_METHODS: Final = (b"TRACE", b"CONNECT", b"get", b"G T", b"\xff\xfe", b"A" * 3000, b"PRI", b"")
_VERSIONS: Final = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/9.9", b"HTPP", b"")
_ODD_NAMES: Final = (
    b"%ff%fe",
    b"%00",
    b"..",
    b"%2e%2e%2f",
    b"\xc3\x28",
    b"%",
    b"a" * 40_000,
    b"{}",
)
_ODD_VALUES: Final = (
    b"null", b"-1", b"1e400", b"99999999999999999999", b'"\\ud800"', b'"\xff"', b"[]", b"{}",
    b"[" * 20_000, b'{"a":' * 5_000, b"NaN", b'"' + b"x" * 100_000 + b'"', b"true", b'"\\u0000"',
)  # fmt: skip
_FIELDS: Final = (
    b"name", b"partitions", b"records", b"value", b"key", b"count", b"timeout_ms", b"by_ms", b"api",
    b"error", b"delay_ms", b"config", b"offsets", b"group", b"topic", b"client", b"rules", b"where",
)  # fmt: skip
_LIES: Final = (
    b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"Content-Length: 1\r\n" * 2,
    b"Content-Length: 1\r\nContent-Length: 2\r\n", b"Content-Length: x\r\n",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: \x0bchunked\r\n", b"Expect: 100-continue\r\nContent-Length: 9\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n", b"Host: a\r\nHost: b\r\n",
    b"Content-Encoding: gzip\r\nContent-Length: 3\r\n", b"Range: bytes=0-,0-,0-\r\n",
    b"Authorization: Bearer \xff\xff\r\n", b" folded: yes\r\n", b"NoColon\r\n", b"A:\r\n b\r\n",
)  # fmt: skip
_CHUNKS: Final = (
    b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\nx\r\n", b"-5\r\nhello\r\n",
    b"5;" + b"x" * 20_000,
    b"5\r\nhi\r\n0\r\n\r\n", b"0\r\nTrailer: \xff\r\n\r\n", b"zz\r\n", b"1\r\nx\r\n" * 3000,
)  # fmt: skip


def _path(rng: Random, paths: list[str]) -> bytes:
    path = rng.choice(paths).encode()
    while b"{" in path:
        before, _, rest = path.partition(b"{")
        after = rest.partition(b"}")[2]
        path = before + rng.choice((b"t", b"g", b"0", *_ODD_NAMES)).replace(b"{}", b"") + after
    if rng.random() < 0.3:
        path += b"?" + rng.choice(_FIELDS) + b"=" + rng.choice((b"1", b"%ff", b"-1", b"x" * 9999))
    if rng.random() < 0.05:
        path = rng.choice((b"", b"*", b"http://[::1", b"//", b"/" * 5000, b"/\x00", b"a b"))
    return path


def _body(rng: Random) -> bytes:
    if rng.random() < 0.2:
        return rng.choice(_ODD_VALUES)
    fields = (
        b'"' + rng.choice(_FIELDS) + b'":' + rng.choice((b"1", b'"t"', b"[1]", *_ODD_VALUES))
        for _ in range(rng.randrange(5))
    )
    return b"{" + b",".join(fields) + b"}"


def request(rng: Random, paths: list[str]) -> bytes:
    """One request, mostly well-formed, with something in it that is not."""
    method = rng.choice(_METHODS) if rng.random() < 0.9 else rng.choice(_ODD_METHODS)
    version = b"HTTP/1.1" if rng.random() < 0.9 else rng.choice(_VERSIONS)
    head = b"%s %s %s\r\nHost: localhost\r\n" % (method, _path(rng, paths), version)
    kind = rng.randrange(10)
    if kind == 0:
        return head + rng.choice(_LIES) + b"\r\n" + rng.choice((b"", b"{", _body(rng)))
    if kind == 1:
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + rng.choice(_CHUNKS)
    if kind == 2:
        many = rng.choice((b"X: y\r\n" * 3000, b"X: " + b"y" * 150_000 + b"\r\n", b"\r" * 500))
        return head + many + b"\r\n"
    types = (
        b"application/json",
        b"application/zip",
        b"text/plain",
        b"\xff",
        b"application/json;" * 9,
    )
    content = _body(rng) if rng.random() < 0.9 else rng.randbytes(rng.randrange(70_000))
    typed = rng.choice(types) if rng.random() < 0.2 else types[0]
    return (
        head + b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (typed, len(content)) + content
    )


def hostile_http(rng: Random, paths: list[str]) -> bytes:
    """What one connection sends at once: a request, a part of one, several, or noise."""
    kind = rng.randrange(10)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 2000))
    if kind == 1:
        return b"".join(request(rng, paths) for _ in range(rng.randrange(2, 30)))
    data = request(rng, paths)
    if kind == 2:
        return data[: rng.randrange(1, len(data))]
    if kind == 3:
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    return data


class _Errors(logging.Handler):
    """Keeps what is logged as an error, as asyncio and uvicorn do with what they did not expect."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


def _descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


class HostileHttp:
    """A broker whose admin port is attacked, and a neighbour that asks it."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._errors = _Errors()
        self._broker = MockBroker(
            topics=["t"],
            admin_port=0,
            admin_timeout_ms=TIMEOUT_MS,
            admin_max_connections=CONNECTIONS,
        )
        self.statuses: Counter[str] = Counter()
        self._slow: list[tuple[socket.socket, Iterator[int]]] = []
        self._idle: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._broker.start()
        logging.getLogger().addHandler(self._errors)
        self._api = Api(self._broker)
        url = urlsplit(self._api.url)
        self._address = (str(url.hostname), int(url.port or 0))
        found: dict[str, dict[str, object]] = self._api("GET", "/v1/openapi.json").body["paths"]
        self._descriptors = _descriptors()
        self._paths = [path for path in found if not path.startswith(_FELT_BY_ALL)]
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        logging.getLogger().removeHandler(self._errors)
        for sock in (*self._idle, *(sock for sock, _ in self._slow)):
            sock.close()
        self._broker.stop()

    def send(self, count: int) -> None:
        """So many hostile connections; the neighbour is served between them."""
        for number in range(count):
            self._one()
            self._trickle()
            if number % 50 == 49:
                self._ask()
            if number % 500 == 499:
                self._crowd()
        self._end()

    def _one(self) -> None:
        data = hostile_http(self._rng, self._paths)
        with suppress(OSError), socket.create_connection(self._address, 20) as sock:
            sock.settimeout(ANSWER_SECONDS)
            sock.sendall(data)
            self._take(sock, data)

    def _take(self, sock: socket.socket, data: bytes) -> None:
        answer = sock.recv(1 << 16)
        status = answer[9:12].decode("latin-1")
        if answer.startswith(b"HTTP/1.1 "):
            self.statuses[status] += 1
            assert status < "500" or status == "503", (answer[:2000], data[:2000])

    def _trickle(self) -> None:
        """Each slow sender sends one letter; some leave an answer unread."""
        if len(self._slow) < SLOW and self._rng.random() < 0.1:
            with suppress(OSError):
                sock = socket.create_connection(self._address, 20)
                self._slow.append((sock, iter(hostile_http(self._rng, self._paths))))
        for one in list(self._slow):
            sock, letters = one
            try:
                sock.send(bytes([next(letters)]))
            except (OSError, StopIteration):
                sock.close()
                self._slow.remove(one)

    def _crowd(self) -> None:
        """Many more connections at once than are let in, all of them idle; they stay a while."""
        for sock in self._idle:
            sock.close()
        self._idle = []
        for _ in range(5 * CONNECTIONS):
            with suppress(OSError):
                self._idle.append(socket.create_connection(self._address, 20))

    def _ask(self) -> None:
        """The neighbour, who may have to come again while there are too many."""
        self._until(lambda: self._api("GET", "/v1/topics").status == 200)
        assert not self._errors.found, self._errors.found[0]

    def _end(self) -> None:
        """All go, and the broker is as it was."""
        for sock in (*self._idle, *(sock for sock, _ in self._slow)):
            sock.close()
        self._idle, self._slow = [], []
        self._ask()
        running: Any = self._broker._bridged().running
        server = running._admin._server
        self._until(lambda: len(server.server_state.connections) == 0)
        self._broker.reset()
        self._ask()
        self._until(lambda: _descriptors() <= self._descriptors)

    def _until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            with suppress(OSError):
                if holds():
                    return
            assert time.monotonic() < deadline, self.statuses
