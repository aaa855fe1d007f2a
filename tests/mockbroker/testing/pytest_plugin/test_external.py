"""A server elsewhere, by Kafka's protocol alone."""

from __future__ import annotations

import socket

import pytest

from mockbroker import MockBroker
from mockbroker.testing.pytest_plugin.external import ExternalBroker, ExternalError


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


def test_what_is_made_inside_a_scope_is_deleted() -> None:
    with MockBroker(topics=["before"]) as broker:
        external = ExternalBroker(broker.bootstrap_servers)
        assert (external.host, external.port) == (broker.host, broker.port)
        with external.scope():
            external.topic("orders").create(3)
            broker.group("g").commit({("orders", 0): 0})
            assert external.topics() == ["before", "orders"]
            assert external.groups() == ["g"]
            assert broker.topic("orders").partitions == 3
        assert external.topics() == ["before"]
        assert external.groups() == []


def test_beside_other_workers_nothing_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    with MockBroker() as broker:
        external = ExternalBroker(broker.bootstrap_servers)
        with external.scope():
            external.topic("orders").create()
        assert external.topics() == ["orders"]


def test_refusals_and_what_is_not_there_are_said() -> None:
    with MockBroker(topics=["orders"]) as broker:
        external = ExternalBroker(broker.bootstrap_servers)
        with pytest.raises(ExternalError, match="topic orders: Topic 'orders' already exists"):
            external.topic("orders").create()
        with pytest.raises(AttributeError, match="faults is not there with --mockbroker"):
            _ = external.faults
        with pytest.raises(AttributeError, match=r"topic\(…\)\.records is not there"):
            external.topic("orders").records()


def test_an_address_must_be_one_of_a_server() -> None:
    with pytest.raises(ExternalError, match="--mockbroker: 'here'; allowed: HOST:PORT"):
        ExternalBroker("here")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        ExternalBroker(f"127.0.0.1:{port}")
