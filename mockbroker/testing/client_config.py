"""What a client of each kind is given to connect to a listener, under the names it has for it.

`MockBroker.client_config` knows the listener and the files; here is how each client wants it said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__tracebackhide__ = True

ClientConfig = dict[str, Any]


class Access:
    """How a client comes in: what it connects to, whom it trusts, and who it is."""

    __slots__ = ("bootstrap", "ca_file", "client_file", "login", "mechanism", "protocol")

    def __init__(self, bootstrap: str, protocol: str) -> None:
        self.bootstrap = bootstrap
        self.protocol = protocol
        self.ca_file: str | None = None
        self.client_file: str | None = None
        self.mechanism = "PLAIN"
        self.login: tuple[str, str] | None = None
        """User and password."""


def _librdkafka(access: Access) -> ClientConfig:
    config = {
        "bootstrap.servers": access.bootstrap,
        "security.protocol": access.protocol,
        "ssl.ca.location": access.ca_file,
        "ssl.certificate.location": access.client_file,
        "ssl.key.location": access.client_file,
    }
    if access.login is not None:
        config["sasl.mechanism"] = access.mechanism
        config["sasl.username"], config["sasl.password"] = access.login
    return config


def _kafka_python(access: Access) -> ClientConfig:
    return {
        **_python(access),
        "ssl_cafile": access.ca_file,
        "ssl_certfile": access.client_file,
        "ssl_keyfile": access.client_file,
    }


def _aiokafka(access: Access) -> ClientConfig:
    config = _python(access)
    if access.protocol.endswith("SSL"):
        import ssl

        context = ssl.create_default_context(cafile=access.ca_file)
        if access.client_file is not None:
            context.load_cert_chain(access.client_file)
        config["ssl_context"] = context
    return config


def _python(access: Access) -> ClientConfig:
    config: ClientConfig = {
        "bootstrap_servers": access.bootstrap.split(","),
        "security_protocol": access.protocol,
    }
    if access.login is not None:
        config["sasl_mechanism"] = access.mechanism
        config["sasl_plain_username"], config["sasl_plain_password"] = access.login
    return config


def _java(access: Access) -> ClientConfig:
    config: ClientConfig = {
        "bootstrap.servers": access.bootstrap,
        "security.protocol": access.protocol,
    }
    if access.ca_file is not None:
        config |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": access.ca_file}
    if access.client_file is not None:
        config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": access.client_file}
    if access.login is not None:
        scram = "scram.Scram" if access.mechanism.startswith("SCRAM") else "plain.Plain"
        user, password = (text.replace("\\", "\\\\").replace('"', '\\"') for text in access.login)
        config["sasl.mechanism"] = access.mechanism
        config["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{scram}LoginModule required"
            f' username="{user}" password="{password}";'
        )
    return config


def _kafkajs(access: Access) -> ClientConfig:
    config: ClientConfig = {"brokers": access.bootstrap.split(",")}
    if access.protocol.endswith("SSL"):
        config["ssl"] = {} if access.ca_file is None else {"ca": [_text(access.ca_file)]}
        if access.client_file is not None:
            shown = _text(access.client_file)
            config["ssl"] |= {"cert": shown, "key": shown}
    if access.login is not None:
        user, password = access.login
        mechanism = access.mechanism.lower()
        config["sasl"] = {"mechanism": mechanism, "username": user, "password": password}
    return config


def _text(file: str) -> str:
    with open(file, encoding="utf-8") as stream:
        return stream.read()


_KINDS: Final[dict[str, Callable[[Access], ClientConfig]]] = {
    "confluent": _librdkafka,
    "librdkafka": _librdkafka,
    "node-rdkafka": _librdkafka,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
    "java": _java,
    "kafkajs": _kafkajs,
}


def client_config(kind: str, access: Access) -> ClientConfig:
    """What a client of that kind is given. Raises ValueError for one that is not known."""
    make = _KINDS.get(kind)
    if make is None:
        message = f"{kind!r} is no client that is known; allowed: {', '.join(_KINDS)}"
        raise ValueError(message)
    return {key: value for key, value in make(access).items() if value is not None}
