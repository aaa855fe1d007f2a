"""The settings of docs/dotnet.md, by librdkafka's names, work in librdkafka."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from mockbroker import MockBroker
from tests.clients.server import ROOT

pytestmark = pytest.mark.clients

PAGE = (ROOT / "docs" / "dotnet.md").read_text("utf-8")


def settings(of: str, broker: MockBroker) -> dict[str, Any]:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    given: dict[str, Any] = json.loads(text)["Kafka"][of]
    assert given["BootstrapServers"] == "localhost:9092"
    return {dotted(name): value for name, value in given.items()} | {
        "bootstrap.servers": broker.bootstrap_servers
    }


def dotted(name: str) -> str:
    """BootstrapServers as librdkafka has it."""
    return re.sub(r"(?<!^)(?=[A-Z])", ".", name).lower()


def test_a_record_is_sent_and_read_with_them() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        producer = Producer(settings("Producer", broker))
        producer.produce("orders", "lamp", "7")
        assert producer.flush(30) == 0
        consumer = Consumer(settings("Consumer", broker))
        consumer.subscribe(["orders"])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == b"lamp"
        consumer.commit(message=message, asynchronous=False)
        assert broker.group("billing").committed() == {("orders", 0): 1}
        consumer.close()
        assert {one.client_id for one in broker.journal.requests(api="Fetch")} == {"billing"}


def test_the_table_explains_what_is_set() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    explained = set(
        re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|[^|]*\|([^|]*)\|", PAGE, re.MULTILINE)))
    )
    used = {name for one in json.loads(text)["Kafka"].values() for name in one}
    assert used <= explained
