"""Where clients of a Kafka cluster come in: as the test that connected to it said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.testing.client_config import Access, ClientListener, Entrance

if TYPE_CHECKING:
    from collections.abc import Mapping

__tracebackhide__ = True


class KafkaEntrance(Entrance):
    """That of `Kafka.connect(bootstrap_servers, config=…)`, under librdkafka's names."""

    def __init__(self, bootstrap_servers: str, config: Mapping[str, object]) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._config = {key: str(value) for key, value in config.items()}

    def listeners(self) -> list[ClientListener]:
        """The one of its address; what it requires is not known."""
        protocol = self._config.get("security.protocol", "PLAINTEXT").upper()
        return [ClientListener(protocol, protocol, self._bootstrap_servers, False)]

    def pem_file(self, name: str) -> str | None:
        """None: they were made elsewhere."""

    def access(self, listener: str | None, certificate: str | None) -> Access:
        """How the test itself came in; ValueError for another way."""
        if listener is not None or certificate is not None:
            message = "a Kafka cluster is reached as Kafka.connect was told: no other listener"
            raise ValueError(f"{message} or certificate")
        config = self._config
        (only,) = self.listeners()
        access = Access(only.bootstrap_servers, only.protocol)
        access.ca_file = config.get("ssl.ca.location")
        access.client_file = config.get("ssl.certificate.location")
        access.key_file = config.get("ssl.key.location")
        if "sasl.username" in config:
            access.login = config["sasl.username"], config.get("sasl.password", "")
        named = config.get("sasl.mechanism") or config.get("sasl.mechanisms")
        access.mechanism = named or access.mechanism
        return access
