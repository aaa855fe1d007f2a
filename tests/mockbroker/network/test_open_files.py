"""A process with too few descriptors sends clients away, and goes on."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.network.open_files import ListeningSocket

if TYPE_CHECKING:
    from collections.abc import Iterator

_FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
if sys.argv[1] == "asyncio":
    sys.modules["uvloop"] = None
from mockbroker import MockBroker
from urllib.request import urlopen
with MockBroker(topics=["t"], admin_port=0) as broker:
    urlopen(broker.admin_url + "/v1/clock").read()
    print(broker.bootstrap_servers.rpartition(":")[2], flush=True)
    sys.stdin.readline()
    found = urlopen(broker.admin_url + "/v1/journal/events").read().decode()
    assert "open files" in found, found
print("whole", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_clients_leave_descriptors_for_the_admin_port_and_are_told_of(loop: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _FULL, loop],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        clients = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(150)]
        assert _is_ended(clients[-1])
        assert not _is_ended(clients[0])
        out, err = process.communicate("go\n", timeout=30)
        for client in clients:
            client.close()
    assert (out.strip(), err, process.returncode) == ("whole", "", 0)


def _is_ended(sock: socket.socket) -> bool:
    sock.settimeout(0.3)
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.fixture
def listening() -> Iterator[ListeningSocket]:
    with ListeningSocket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield sock


def test_a_client_without_a_descriptor_is_sent_away(
    listening: ListeningSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_connection(listening.getsockname(), 20) as client:
        accept = socket.socket.accept
        answers = [OSError(errno.EMFILE, "too many"), None]

        def full_once(sock: socket.socket) -> tuple[socket.socket, object]:
            error = answers.pop(0)
            if error is not None:
                raise error
            return accept(sock)

        monkeypatch.setattr(socket.socket, "accept", full_once)
        with pytest.raises(BlockingIOError):
            listening.accept()
        assert client.recv(1) == b""
        assert answers == []


def test_another_error_is_told(listening: ListeningSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_sock: socket.socket) -> None:
        raise OSError(errno.EBADF, "bad")

    monkeypatch.setattr(socket.socket, "accept", broken)
    with pytest.raises(OSError, match="bad"):
        listening.accept()


def test_closing_gives_both_descriptors_back() -> None:
    sock = ListeningSocket()
    kept = sock._kept
    sock.close()
    sock.close()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(kept)


def test_detaching_gives_the_spare_one_back() -> None:
    sock = ListeningSocket()
    kept = sock._kept
    os.close(sock.detach())
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(kept)


async def test_a_transport_without_a_socket_leaves_enough() -> None:
    from mockbroker.network.open_files import leaves_too_few

    assert not leaves_too_few(asyncio.Transport())
