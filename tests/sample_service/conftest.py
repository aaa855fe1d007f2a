"""The service with each client, and the plugin where the package is not installed."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Any

import pytest

from tests.sample_service.service import FencedError, Port, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker import MockBroker

    Start = Callable[..., Service]


def pytest_configure(config: pytest.Config) -> None:
    """In a clone no entry point names the plugin."""
    if not config.pluginmanager.hasplugin("mockbroker"):
        config.pluginmanager.import_plugin("mockbroker.testing.pytest_plugin.plugin")


@pytest.fixture(params=["confluent", "kafka_python", "aiokafka"])
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start(mockbroker: MockBroker, library: str) -> Iterator[Start]:
    """`start("billing-a")`: an instance of the service, which ends with the test."""
    services: list[Service] = []

    def make(instance: str = "billing-a", **arguments: Any) -> Service:
        service = Service(_port(library)(mockbroker.bootstrap_servers, instance), **arguments)
        services.append(service)
        return service

    yield make
    mockbroker.faults.clear()
    # `make` outlives the broker's scope and must not hold them: a producer of confluent-kafka ends
    # with its last reference, and until then asks for its topics, which makes them.
    while services:
        with contextlib.suppress(FencedError):
            services.pop().close()
    gc.collect()  # what kafka-python leaves to the collector is collected here


def _port(library: str) -> Callable[[str, str], Port]:
    if library == "confluent":
        from tests.sample_service.confluent_port import ConfluentPort

        return ConfluentPort
    if library == "kafka_python":
        from tests.sample_service.kafka_python_port import KafkaPythonPort

        return KafkaPythonPort
    from tests.sample_service.aiokafka_port import AiokafkaPort

    return AiokafkaPort
