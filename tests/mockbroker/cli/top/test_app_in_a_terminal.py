"""`mockbroker top` in a terminal: of two sizes, over HTTPS with a token, while clients go on."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("cryptography", reason="the extra tls is not installed")
pytestmark = pytest.mark.timeout(120)

TOKEN = "correct-horse"
LEAVES_SCREEN = "\x1b[?1049l"


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    """A thread asks it all the time."""
    with MockBroker(
        tls="auto",
        listeners=["PLAINTEXT://:0"],
        topics={"orders": 2},
        admin_port=0,
        admin_tls=True,
        admin_token=TOKEN,
    ) as running:
        stopped = threading.Event()
        thread = threading.Thread(target=go_on, args=(running, stopped))
        thread.start()
        yield running
        stopped.set()
        thread.join()


def go_on(broker: MockBroker, stopped: threading.Event) -> None:
    with BlockingConnection(broker.bootstrap_servers) as client:
        while not stopped.wait(0.01):
            client.call(ApiVersionsRequest("live", "1"), 3, ApiVersionsResponse)


class Terminal:
    """What a program wrote into a terminal of this size so far."""

    def __init__(self, rows: int, columns: int, command: list[str], env: dict[str, str]) -> None:
        self._end, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=env, start_new_session=True
        )
        os.close(inner)
        self.written = ""

    def until(self, text: str) -> None:
        """Read until it was written."""
        while text not in self.written:
            assert select.select([self._end], [], [], 60)[0], self.written[-2000:]
            try:
                self.written += os.read(self._end, 65536).decode("utf-8", "replace")
            except OSError as error:  # the program has closed it
                raise AssertionError(self.written[-2000:]) from error

    def press(self, key: str) -> None:
        """Forget what was written, and type."""
        self.written = ""
        os.write(self._end, key.encode())

    def hang_up(self) -> None:
        """The terminal goes; nobody sends SIGHUP, since it controls no process."""
        os.close(self._end)
        self._end = -1

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._end >= 0:
            os.close(self._end)


@contextmanager
def top(broker: MockBroker, rows: int, columns: int, *words: str) -> Iterator[Terminal]:
    env = {
        **os.environ,
        "TERM": "xterm-256color",
        "SSL_CERT_FILE": broker.ca_file,
        "MOCKBROKER_ADMIN": broker.admin_url or "",
        "MOCKBROKER_ADMIN_TOKEN": TOKEN,
    }
    command = [sys.executable, "-m", "mockbroker", "top", "--interval", "100ms", *words]
    terminal = Terminal(rows, columns, command, env)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (60, 200)])
def test_it_draws_takes_keys_and_leaves_the_terminal_as_it_was(
    broker: MockBroker, rows: int, columns: int
) -> None:
    with top(broker, rows, columns, "--view", "topics") as terminal:
        terminal.until("orders")
        terminal.until(broker.bootstrap_servers)
        terminal.press("1")
        terminal.until("ApiVersions")
        terminal.press("q")
        terminal.until(LEAVES_SCREEN)
        assert terminal.process.wait(60) == 0


def test_who_brings_no_token_is_told_before_the_screen_is_cleared(broker: MockBroker) -> None:
    with top(broker, 24, 80, "--admin-token", "wrong-horse") as terminal:
        terminal.until("mockbroker: ")
        assert terminal.process.wait(60) == 2
        assert "\x1b[?1049h" not in terminal.written


def test_it_ends_with_its_terminal(broker: MockBroker) -> None:
    with top(broker, 24, 80, "--view", "topics") as terminal:
        terminal.until("orders")
        terminal.hang_up()
        assert terminal.process.wait(60) == 129


def test_what_is_typed_in_one_burst_behind_the_slash_is_the_filter(broker: MockBroker) -> None:
    with top(broker, 24, 80, "--view", "topics") as terminal:
        terminal.until("orders")
        terminal.press("/quip/3pp")  # q would end it, a digit go elsewhere, p pause it
        terminal.until("quip/3pp")
        assert "paused" not in terminal.written
        terminal.press("\x1b")
        terminal.until("orders")
        assert terminal.process.poll() is None
