"""Clients of a broker elsewhere are given what its own process gives, in files of their own."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker

if TYPE_CHECKING:
    from mockbroker.testing.client_config import ClientConfigs

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
        assert Path(remote.ca_file).parent != Path(broker.ca_file).parent


def test_clients_that_come_at_once_each_read_whole_files() -> None:
    with MockBroker(tls="auto", admin_port=0) as broker:
        for asked in (broker, MockBroker.connect(broker.admin_url or "")):
            told = asked.client_config("confluent", certificate="alice")
            texts = [Path(told[f"ssl.{one}.location"]).read_text() for one in ("ca", "key")]

            def come(asked: ClientConfigs = asked, texts: list[str] = texts) -> bool:
                told = asked.client_config("confluent", certificate="alice")
                files = (Path(told[f"ssl.{one}.location"]) for one in ("ca", "key"))
                return [file.read_text() for file in files] == texts

            with ThreadPoolExecutor(4) as threads:
                assert all(threads.map(lambda _: come(), range(100)))


def test_a_certificate_that_many_ask_for_at_once_is_issued_once() -> None:
    with MockBroker(tls="auto", admin_port=0) as broker, ThreadPoolExecutor(8) as threads:
        read = threads.map(lambda _: Path(broker.client_file("bob")).read_text(), range(8))
        assert len(set(read)) == 1


FORGETFUL = """
import gc, sys
from mockbroker import MockBroker

file = MockBroker.connect(sys.argv[1]).client_config("confluent")["ssl.ca.location"]
gc.collect()
print(file)
print(open(file).read())
"""


def test_what_was_fetched_stays_as_long_as_the_process() -> None:
    with MockBroker(tls="auto", admin_port=0) as broker:
        command = [sys.executable, "-c", FORGETFUL, broker.admin_url or ""]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        file, _, text = run.stdout.partition("\n")
        assert text.strip() == Path(broker.ca_file).read_text("utf-8").strip()
        assert not Path(file).parent.exists()


def test_clients_are_sent_where_the_test_says() -> None:
    with MockBroker(admin_port=0) as broker:
        remote = MockBroker.connect(broker.admin_url or "", bootstrap_servers="broker.test:9092")
        assert remote.client_config("kafkajs") == {"brokers": ["broker.test:9092"]}
        with pytest.raises(RuntimeError, match="there are no certificates"):
            remote.client_file("alice")
