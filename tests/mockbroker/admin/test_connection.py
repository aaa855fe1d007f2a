"""One connection of the admin port, over sockets: what is half sent or not read ends."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from mockbroker import MockBroker
from mockbroker.journal import ConnectionRefused
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOW_MS = 60
ASK = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def served(timeout_ms: int = 30_000, connections: int = 100) -> Iterator[Api]:
    with MockBroker(
        admin_port=0, admin_timeout_ms=timeout_ms, admin_max_connections=connections
    ) as broker:
        api = Api(broker)
        assert api("GET", "/health/live").status == 200
        yield api


def connect(api: Api) -> socket.socket:
    address = urlsplit(api.url)
    return socket.create_connection((str(address.hostname), int(address.port or 0)), 20)


def told(sock: socket.socket) -> tuple[int, str]:
    """The status and the detail of the one problem that comes, after which the connection ends."""
    text = b""
    with suppress(ConnectionResetError):  # of what was sent some may not have been read
        while chunk := sock.recv(4096):
            text += chunk
    head, _, body = text.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    problem = json.loads(body)
    assert problem["status"] == int(head.split()[1])
    return problem["status"], problem["detail"]


def until_nobody_is_connected(api: Api) -> None:
    bridge = api.broker._bridged()
    running: Any = bridge.running
    server = running._admin._server
    while bridge.call(lambda _: len(server.server_state.connections)):
        assert api("GET", "/health/live").status == 200


@pytest.mark.parametrize(
    "half",
    [b"", b"G", ASK[:-2], ASK + ASK[:9], HALF + b"Content-Length: 9\r\n\r\n{"],
    ids=["nothing", "a letter", "headers", "a second request", "a body"],
)
def test_a_request_that_does_not_arrive_in_time_ends_its_connection(half: bytes) -> None:
    with served(SLOW_MS) as api, connect(api) as sock:
        sock.sendall(half)
        if half.startswith(ASK):
            assert sock.recv(12) == b"HTTP/1.1 200"
            sock.recv(4096)
        assert told(sock) == (408, f"no whole request in admin-timeout-ms: {SLOW_MS}")
        assert api("GET", "/health/live").status == 200


def test_bytes_that_trickle_do_not_begin_the_time_anew() -> None:
    with served(SLOW_MS) as api, connect(api) as sock:
        ended = False
        for letter in HALF * 1000:
            try:
                sock.sendall(bytes([letter]))
                sock.settimeout(0.005)
                ended = sock.recv(4096).startswith(b"HTTP/1.1 408")
            except TimeoutError:
                continue
            except OSError:
                ended = True
            if ended:
                break
        assert ended


def test_the_rest_of_a_body_that_was_refused_is_not_waited_for() -> None:
    with served(SLOW_MS) as api, connect(api) as sock:
        sock.sendall(HALF + b"Content-Length: 99999999999\r\n\r\n{")
        assert told(sock)[0] == 413


def test_an_answer_that_is_not_read_ends_its_connection() -> None:
    with served(SLOW_MS) as api:
        api.broker.topic("t").put_all(["x" * 1_000_000] * 16)
        with connect(api) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(b"GET /v1/topics/t/records HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert sock.recv(12) == b"HTTP/1.1 200"
            until_nobody_is_connected(api)


def test_an_answer_that_is_read_is_whole_however_large() -> None:
    with served(SLOW_MS) as api:
        api.broker.topic("t").put_all(["x" * 1_000_000] * 3)
        assert len(api("GET", "/v1/topics/t/records").body["records"]) == 3


STREAM = b"GET /v1/events?kinds=topic HTTP/1.1\r\nHost: localhost\r\n"


def until_told(sock: socket.socket, wanted: bytes) -> None:
    text = b""
    while wanted not in text:
        chunk = sock.recv(4096)
        assert chunk, text
        text += chunk


@pytest.mark.parametrize("behind", [b"G", ASK, ASK * 20], ids=["a letter", "one", "many"])
@pytest.mark.parametrize(
    "more", [b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"], ids=["plain", "h2c"]
)
def test_a_client_that_goes_is_seen_though_it_sent_more_behind_a_stream(
    behind: bytes, more: bytes
) -> None:
    with served() as api:
        with connect(api) as sock:
            sock.sendall(STREAM + more + b"\r\n")
            until_told(sock, b": hello")
            sock.sendall(behind)
            api.broker.topic("t").create()
            until_told(sock, b"event: topic")
        until_nobody_is_connected(api)


def test_what_is_sent_behind_a_stream_and_is_too_much_ends_it_in_time() -> None:
    with served(SLOW_MS) as api, connect(api) as sock:
        sock.sendall(STREAM + b"\r\n")
        until_told(sock, b": hello")
        with suppress(OSError):  # it ends while this is sent
            for _ in range(1000):
                sock.sendall(bytes(1 << 16))
        until_nobody_is_connected(api)


def test_requests_that_come_behind_one_that_waits_are_answered_in_turn() -> None:
    with served() as api, connect(api) as sock:
        api.broker.topic("t").create()
        body = b'{"count": 1, "timeout_ms": 20000}'
        asked = f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        sock.sendall(HALF.replace(b"topics", b"topics/t/wait") + asked)
        many = b"X-Pad: " + b"x" * 30_000 + b"\r\n\r\n"
        for _ in range(10):  # more than is read ahead
            sock.sendall(ASK[:-2] + many)
        assert api("GET", "/health/live").status == 200
        api.broker.topic("t").put("value")
        found = b""
        while found.count(b"HTTP/1.1 200") < 11:
            chunk = sock.recv(4096)
            assert chunk, found
            found += chunk
        assert found.index(b'"met":true') < found.index(b"HTTP/1.1 200", 1)


def test_a_wait_may_take_longer_than_a_request_may_take_to_arrive() -> None:
    with served(SLOW_MS) as api:
        wanted = {"count": 1, "timeout_ms": 3 * SLOW_MS}
        assert api("POST", "/v1/topics/t/wait", wanted).body["met"] is False


def test_a_connection_too_many_is_sent_away_and_the_journal_says_so() -> None:
    with served(connections=2) as api, connect(api) as first, connect(api) as second:
        for sock in (first, second):
            sock.sendall(ASK)
            assert sock.recv(12) == b"HTTP/1.1 200"
        with connect(api) as third:
            assert told(third) == (503, "admin-max-connections: 2; try again")
        (refused,) = (
            event for event in api.broker.journal.events() if isinstance(event, ConnectionRefused)
        )
        assert (refused.listener, refused.reason) == ("ADMIN", "admin-max-connections: 2")
        first.close()
        with connect(api) as sock:
            sock.sendall(ASK)
            answer = sock.recv(12)
        assert answer in (b"HTTP/1.1 200", b"HTTP/1.1 503")


def test_what_is_no_http_is_a_problem_and_no_line_in_the_log(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with served() as api:
        for junk in (b"\x16\x03\x01\x00\xa5\x01\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"x" * 200_000):
            with connect(api) as sock:
                sock.sendall(junk)
                assert told(sock) == (400, "Invalid HTTP request received.")
    assert capfd.readouterr().err == ""
