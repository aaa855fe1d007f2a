"""The admin port before, while and after it is served."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.admin import listener
from mockbroker.admin.errors import AdminError
from mockbroker.admin.limits import Limits
from mockbroker.server.values import SettingsError
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    from mockbroker.admin.host import Host

_IMPORTS = """
import sys
from mockbroker import MockBroker
with MockBroker(admin_port=0) as broker:
    assert broker.admin_url
    print([name for name in ("fastapi", "uvicorn", "pydantic") if name in sys.modules])
"""


def test_a_start_with_an_admin_port_imports_nothing_of_the_framework() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True, timeout=30
    )
    assert found.stdout.strip() == "[]"


def test_clients_that_come_at_once_are_all_answered() -> None:
    with MockBroker(admin_port=0) as broker:
        api = Api(broker)
        host, _, port = api.address.partition(":")
        early = [socket.create_connection((host, int(port))) for _ in range(5)]
        assert api("GET", "/health/live").status == 200
        for sock in early:
            sock.sendall(b"GET /health/live HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert sock.recv(12) == b"HTTP/1.1 200"
            sock.close()


def test_the_port_is_closed_after_the_broker_used_or_not() -> None:
    for used in (False, True):
        with MockBroker(admin_port=0) as broker:
            api = Api(broker)
            if used:
                assert api("GET", "/v1/clock").status == 200
        host, _, port = api.address.partition(":")
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((host, int(port)), 5)


def test_a_taken_port_is_an_error_and_leaves_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        broker = MockBroker(admin_port=taken.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            broker.start()


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_FRAMEWORK", ("fastapi", "no_such_module"))
    broker = MockBroker(admin_port=0)
    with pytest.raises(AdminError, match=r"no_such_module not found; install mockbroker\[admin\]"):
        broker.start()


def test_an_address_that_others_reach_needs_a_token() -> None:
    host: Host = None  # type: ignore[assignment]  # it is refused before it is used
    with pytest.raises(AdminError, match="--admin-token"):
        listener.AdminListener(host, "0.0.0.0", 0, None, Limits())


@pytest.mark.parametrize("token", ["short", "with space in it", "schlüsselwort"])
def test_a_token_must_not_be_guessed_or_mangled(token: str) -> None:
    with pytest.raises(SettingsError, match="admin_token"):
        MockBroker(admin_port=0, admin_token=token)
