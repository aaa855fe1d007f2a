"""A broker that is talked to as any Kafka cluster is: by its protocol, with confluent-kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import Kafka, MockBroker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[MockBroker, Kafka]]:
    with MockBroker(topics={"orders": 2}) as broker:
        yield broker, Kafka.connect(broker.bootstrap_servers, config={"client.id": "tests"})


@pytest.fixture
def broker(served: tuple[MockBroker, Kafka]) -> MockBroker:
    """What stands for the cluster."""
    served[0].reset()
    return served[0]


@pytest.fixture
def kafka(served: tuple[MockBroker, Kafka], broker: MockBroker) -> Kafka:
    """The cluster as its client sees it."""
    return served[1]
