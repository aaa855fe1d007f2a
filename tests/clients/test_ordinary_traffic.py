"""The Python clients are answered alike, byte for byte, with the extension on and off."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.clients import (
    test_aiokafka,
    test_confluent_kafka,
    test_consumer_groups,
    test_kafka_python,
    test_kafka_python_2_0_2,
    test_transactions,
)
from tests.clients.recorded import check_answered_alike

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]


def _in_transactions(address: str, _: str) -> None:
    with test_transactions.filled(address) as names:
        test_transactions.test_confluent_kafka_consumes_transforms_and_produces(address, names)
    with test_transactions.filled(address) as names:
        asyncio.run(
            test_transactions.test_aiokafka_consumes_transforms_and_produces(address, names)
        )


WORK = [
    pytest.param(
        lambda address, topic: test_confluent_kafka.test_a_group_reads_back_what_was_produced(
            address, topic, "lz4"
        ),
        id="confluent-kafka",
    ),
    pytest.param(
        test_consumer_groups.test_a_group_rolls_to_the_other_protocol_and_back,
        id="confluent-kafka, both protocols",
    ),
    pytest.param(
        lambda address, topic: test_kafka_python.test_a_group_reads_back_what_was_produced(
            address, topic, "gzip"
        ),
        id="kafka-python",
    ),
    pytest.param(
        lambda address, topic: test_kafka_python_2_0_2.test_a_group_reads_back_what_was_produced(
            address, topic, "gzip"
        ),
        id="kafka-python 2.0.2",
        marks=test_kafka_python_2_0_2.pytestmark,
    ),
    pytest.param(
        lambda address, topic: asyncio.run(
            test_aiokafka.test_a_group_reads_back_what_was_produced(address, topic, "zstd")
        ),
        id="aiokafka",
    ),
    pytest.param(_in_transactions, id="confluent-kafka and aiokafka, in transactions"),
]


@pytest.mark.parametrize("work", WORK)
def test_clients_are_answered_alike(
    tmp_path: Path, topic: str, work: Callable[[str, str], object]
) -> None:
    check_answered_alike(tmp_path, lambda address: work(address, topic))
