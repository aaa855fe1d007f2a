"""A broker in a process of its own."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from mockbroker import AdminApiError, Fault, MockBroker
from mockbroker.testing.remote import process
from mockbroker.testing.remote.process import BrokerProcess, to_toml

if TYPE_CHECKING:
    import subprocess


def test_it_is_started_with_its_arguments_and_ended() -> None:
    with BrokerProcess(
        brokers=3,
        topics={"orders": {"partitions": 2, "records": ["one"]}, "logs": None},
        faults=[Fault(api="Fetch", drop=True, maybe=True)],
        config={"log.retention.ms": "1000"},
        users={"alice": "secret"},
    ) as broker:
        assert (
            broker.client_config("kafka-python", login="alice")["sasl_plain_password"] == "secret"
        )
        elsewhere = MockBroker.connect(broker.admin_url or "")
        with pytest.raises(ValueError, match="not known here; allowed: user and password"):
            elsewhere.client_config("kafka-python", login="alice")
        assert broker.cluster.brokers == [1, 2, 3]
        assert broker.topics() == ["logs", "orders"]
        assert [one.value for one in broker.topic("orders").records()] == [b"one"]
        assert [one.fault.drop for one in broker.faults.list()] == [True]
    with pytest.raises(Exception, match="does not answer"):
        broker.topics()


def test_it_goes_on_in_another_process() -> None:
    process = BrokerProcess(topics={"orders": 1})
    with process as broker:
        broker.topic("payments").create()
        before = broker.bootstrap_servers, broker.admin_url
        first = MockBroker.connect(broker.admin_url or "")
        process.restart()
        assert broker.topics() == ["orders"]
        assert before != (broker.bootstrap_servers, broker.admin_url)
        with pytest.raises(AdminApiError, match="does not answer"):
            first.topics()
    with pytest.raises(AdminApiError, match="does not answer"):
        broker.topics()


def test_why_it_does_not_start_is_told() -> None:
    with (
        pytest.raises(RuntimeError, match="cleanup"),
        BrokerProcess(config={"log.cleanup.policy": "cleanup"}),
    ):
        pass


def test_one_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int | None] = []

    def end(one: subprocess.Popen[bytes]) -> None:
        one.terminate()
        ended.append(one.wait(10))

    def refuse(*_: object) -> NoReturn:
        raise AdminApiError("it does not answer", 0)

    monkeypatch.setattr(process, "_end", end)
    monkeypatch.setattr(process, "RemoteBroker", refuse)
    with pytest.raises(AdminApiError), BrokerProcess():
        pass
    assert ended == [0]


def test_options_become_a_configuration_file() -> None:
    text = to_toml({"port": [1, 2], "seed": None, "journal": Path("a"), "topics": {"a": None}})
    assert tomllib.loads(text) == {"port": [1, 2], "journal": "a", "topics": {"a": {}}}


def test_listeners_have_ports_of_their_own() -> None:
    with BrokerProcess(listeners=["A://:0", "B://:0"]) as broker:
        first, second = (broker.client_config("kafkajs", listener=name) for name in "AB")
    assert first != second
