"""Listeners by name: where a broker listens for its clients, and what each of them is told.

`settings` holds them, `cli` reads them from flags, `kafka_environment` from Kafka's variables, and
`launch` opens them. A client is told the address of the listener that it came by, for every broker
(Kafka: EndPoint, SocketServerConfigs.listenerListToEndPoints).

Invariants: names are upper case and unique; no two listeners of the brokers want the same port.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError
from mockbroker.config.security_protocol import (
    SecurityProtocol,
    default_protocol,
    parse_protocol_map,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFAULT_NAME: Final = "PLAINTEXT"
MAX_PORT: Final = 65535
_ENTRY: Final = r"(?a)([\w.-]+)://(\[[0-9a-fA-F:.%]*\]|[^\[\]:/\s]*):(\d{1,6})"
_NOT_ROUTABLE: Final = ("0.0.0.0", "::")  # noqa: S104 -- refused, not bound
# Names that this broker gives to what is not for clients.
_RESERVED: Final = ("REPLICATION",)


class ListenerError(ValueError):
    """What is wrong with a listener, and what is allowed; `settings` names the option."""

    def __init__(self, problem: str, allowed: str) -> None:
        super().__init__(f"{problem}; allowed: {allowed}")
        self.problem = problem
        self.allowed = allowed


class Address:
    """NAME://HOST:PORT, as it was read; an empty host stays empty."""

    __slots__ = ("host", "name", "port")

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.host = host
        self.port = port


class Listener:
    """One listener of every broker.

    `ports` has the port of each broker in turn (0: any free one). `advertised_host` None: clients
    are told the host that they connected to; `advertised_port` None: the port that is bound. The
    advertised ports of several brokers count up from it. `protocol` is what it asks of its clients.
    """

    __slots__ = ("advertised_host", "advertised_port", "host", "name", "ports", "protocol")

    def __init__(
        self,
        name: str,
        host: str,
        ports: Sequence[int],
        advertised_host: str | None = None,
        advertised_port: int | None = None,
    ) -> None:
        self.name = name
        self.host = host
        self.ports = list(ports)
        self.advertised_host = advertised_host
        self.advertised_port = advertised_port
        self.protocol = SecurityProtocol.PLAINTEXT

    @property
    def is_advertised(self) -> bool:
        """Whether clients are told something else than where they connected to."""
        return self.advertised_host is not None or self.advertised_port is not None

    def advertised_port_of(self, broker: int) -> int | None:
        """The port that clients are told for a broker, by its position; None: the one bound."""
        return None if self.advertised_port is None else self.advertised_port + broker


def parse_addresses(texts: Iterable[str]) -> list[Address]:
    """Each of `texts` as an address. Raises ListenerError."""
    addresses: list[Address] = []
    for text in texts:
        match = re.fullmatch(_ENTRY, text.strip())
        if match is None:
            raise ListenerError(f"{text.strip()!r} is no listener", "NAME://HOST:PORT")
        name, host, port = match[1].upper(), match[2].strip("[]"), int(match[3])
        if port > MAX_PORT:
            raise ListenerError(f"{port} is not a port", f"0 to {MAX_PORT}")
        if name in _RESERVED:
            raise ListenerError(f"{name} is what brokers use among themselves", "another name")
        if any(name == known.name for known in addresses):
            raise ListenerError(f"{name} is there twice", "a name of its own for each listener")
        addresses.append(Address(name, host, port))
    return addresses


def client_entries(configs: Mapping[str, str], key: str) -> list[str]:
    """The entries of a Kafka config that lists listeners, without those of controllers."""
    controllers = _split(configs.get("controller.listener.names", "CONTROLLER").upper())
    return [
        entry
        for entry in _split(configs.get(key, ""))
        if entry.partition("://")[0].strip().upper() not in controllers
    ]


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def make_listeners(
    bound: Sequence[Address], *, default_host: str, advertised_host: str | None, brokers: int
) -> list[Listener]:
    """The listeners at the addresses `bound`, of so many brokers, with ports that count up.

    An address without a host listens on `default_host`. Raises ListenerError.
    """
    listeners = [
        Listener(
            address.name,
            address.host or default_host,
            count_up(address.port, brokers),
            advertised_host,
        )
        for address in bound
    ]
    check_ports(listeners)
    return listeners


def advertise(listeners: Sequence[Listener], told: Iterable[Address], brokers: int) -> None:
    """Have the clients of each listener told its address in `told`. Raises ListenerError.

    An empty host or port 0 leaves that part as it is.
    """
    by_name = {listener.name: listener for listener in listeners}
    for address in told:
        listener = by_name.get(address.name)
        if listener is None:
            problem = f"there is no listener {address.name}"
            raise ListenerError(problem, f"one of {', '.join(by_name)}")
        if address.host in _NOT_ROUTABLE:
            problem = f"{address.name}: clients cannot connect to {address.host}"
            raise ListenerError(problem, "a host that clients can reach")
        if address.host:
            listener.advertised_host = address.host
        if address.port:
            count_up(address.port, brokers)
            listener.advertised_port = address.port


def count_up(first: int, brokers: int) -> list[int]:
    """A port for each broker, counting up; 0 is any free one for all."""
    if first + brokers - 1 > MAX_PORT:
        raise ListenerError(
            f"{first} leaves no room for {brokers} brokers", f"up to {MAX_PORT + 1 - brokers}"
        )
    return [first + index if first else 0 for index in range(brokers)]


def check_ports(listeners: Iterable[Listener]) -> None:
    """Each broker needs a port of its own for each listener."""
    taken: dict[int, str] = {}
    for listener in listeners:
        for port in listener.ports:
            other = taken.setdefault(port, listener.name)
            if port and other != listener.name:
                raise ListenerError(
                    f"{other} and {listener.name} both want port {port}",
                    "a port of its own for each listener, counting up with the brokers",
                )


def secure(listeners: Iterable[Listener], protocol_map: str | None) -> None:
    """Give each listener its protocol, by the text of the map. Raises ListenerError.

    A map that is given has all of them, as in Apache Kafka (KafkaConfig.validateValues).
    """
    if protocol_map is None:
        for listener in listeners:
            listener.protocol = default_protocol(listener.name)
        return
    try:
        protocols = parse_protocol_map(protocol_map)
    except ConfigError as error:
        allowed = f"NAME:PROTOCOL,..., of {', '.join(SecurityProtocol.__members__)}"
        raise ListenerError(str(error), allowed) from None
    for listener in listeners:
        if listener.name not in protocols:
            problem = f"it has no protocol of listener {listener.name}"
            raise ListenerError(problem, f"{listener.name}:PLAINTEXT, or another protocol")
        listener.protocol = protocols[listener.name]
