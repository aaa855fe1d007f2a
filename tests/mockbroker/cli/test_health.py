"""`mockbroker healthcheck`."""

from __future__ import annotations

import socket
import threading

import pytest

from mockbroker import MockBroker
from mockbroker.cli.errors import CommandError
from mockbroker.cli.health import own_address
from mockbroker.cli.main import main
from tests.support.certificates import configs


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


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, "127.0.0.1:9092"),
        ({"MOCKBROKER_PORT": "9192,9193"}, "127.0.0.1:9192"),
        ({"MOCKBROKER_LISTENER": "A://0.0.0.0:1,B://:2"}, "127.0.0.1:1"),
        ({"MOCKBROKER_LISTENER": "A://10.0.0.7:1"}, "10.0.0.7:1"),
        ({"MOCKBROKER_LISTENER": "A://[::1]:1"}, "[::1]:1"),
        ({"KAFKA_LISTENERS": "A://:1"}, "127.0.0.1:9092"),
        (
            {"MOCKBROKER_KAFKA_ENV": "true", "KAFKA_LISTENERS": "CONTROLLER://:9,A://:1"},
            "127.0.0.1:1",
        ),
        ({"MOCKBROKER_KAFKA_ENV": "true"}, "127.0.0.1:9092"),
    ],
)
def test_the_listener_is_the_one_that_the_variables_say(
    environment: dict[str, str], address: str
) -> None:
    assert own_address(environment) == (address, False)


@pytest.mark.parametrize(
    "environment",
    [
        {"MOCKBROKER_TLS": "auto"},
        {"MOCKBROKER_LISTENER": "SASL_SSL://:9092"},
        {
            "MOCKBROKER_LISTENER": "OUT://:9092",
            "MOCKBROKER_SET": "listener.security.protocol.map=OUT:SSL",
        },
        {
            "MOCKBROKER_KAFKA_ENV": "true",
            "KAFKA_LISTENERS": "OUT://:9092",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "OUT:SSL",
        },
    ],
)
def test_variables_say_that_the_listener_has_tls(environment: dict[str, str]) -> None:
    assert own_address(environment) == ("127.0.0.1:9092", True)


@pytest.mark.parametrize("auth", ["none", "required"])
def test_a_listener_with_tls_is_asked_with_tls(auth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configs(client_auth=auth)
    with MockBroker(listeners=["SSL://:0"], config=config) as broker:
        assert main(["healthcheck", "--bootstrap", broker.bootstrap_servers]) == 0
        monkeypatch.setenv("MOCKBROKER_LISTENER", f"SSL://:{broker.port}")
        assert main(["healthcheck"]) == 0


def test_variables_that_cannot_be_used_are_told() -> None:
    with pytest.raises(CommandError, match="'nowhere' is no listener"):
        own_address({"MOCKBROKER_LISTENER": "nowhere"})
    with pytest.raises(CommandError, match="neither yes nor no"):
        own_address({"MOCKBROKER_KAFKA_ENV": "perhaps"})
