"""Clients of a broker elsewhere are given what its own process gives, in files of their own."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from mockbroker import MockBroker

pytest.importorskip("cryptography", reason="the extra tls is not installed")


def test_it_tells_what_the_broker_tells() -> None:
    config = {"ssl.client.auth": "required"}
    listeners = ["A://:0", "SSL://:0"]
    with MockBroker(tls="auto", listeners=listeners, config=config, admin_port=0) as broker:
        remote = MockBroker.connect(broker.admin_url or "")
        assert remote.client_config("java") == broker.client_config("java")
        here = broker.client_config("kafkajs", listener="SSL", certificate="alice")
        assert remote.client_config("kafkajs", listener="SSL", certificate="alice") == here
        shown = remote.client_config("confluent", listener="SSL")
        assert shown["ssl.key.location"] == remote.client_file()
        assert Path(remote.client_file()).read_text() == Path(broker.client_file()).read_text()
        assert Path(remote.ca_file).stat().st_mode & 0o777 == 0o600
        with pytest.raises(ValueError, match="no listener B"):
            remote.client_config("java", listener="B")
        with pytest.raises(ValueError, match="no name of a client"):
            remote.client_file("a b")
        folder = Path(remote.ca_file).parent
        assert folder != Path(broker.ca_file).parent
        del remote
        gc.collect()
        assert not folder.exists()


def test_clients_are_sent_where_the_test_says() -> None:
    with MockBroker(admin_port=0) as broker:
        remote = MockBroker.connect(broker.admin_url or "", bootstrap_servers="broker.test:9092")
        assert remote.client_config("kafkajs") == {"brokers": ["broker.test:9092"]}
        with pytest.raises(RuntimeError, match="there are no certificates"):
            remote.client_file("alice")
