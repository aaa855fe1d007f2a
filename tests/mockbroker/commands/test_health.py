"""`mockbroker healthcheck`."""

from __future__ import annotations

import socket
import threading

import pytest

from mockbroker import MockBroker
from mockbroker.cli import main


def test_without_an_admin_port_the_kafka_listener_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with MockBroker() as broker:
        assert main(["healthcheck", "--bootstrap", broker.bootstrap_servers]) == 0
        monkeypatch.setenv("MOCKBROKER_PORT", str(broker.port))
        assert main(["healthcheck"]) == 0


def test_with_one_its_health_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockBroker(admin_port=0) as broker:
        assert broker.admin_url
        assert main(["healthcheck", "--admin", broker.admin_url]) == 0
        monkeypatch.setenv("MOCKBROKER_ADMIN_PORT", broker.admin_url.rpartition(":")[2])
        assert main(["healthcheck"]) == 0


def test_who_is_not_there_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    assert main(["healthcheck", "--bootstrap", address]) == 1
    assert main(["healthcheck", "--admin", f"http://{address}"]) == 1
    assert main(["healthcheck", "--bootstrap", "nowhere"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_who_does_not_speak_kafka_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            sock, _ = server.accept()
            sock.recv(100)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            sock.close()

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert main(["healthcheck", "--bootstrap", address]) == 1
        thread.join()
    assert "does not speak Kafka's protocol" in capsys.readouterr().err
