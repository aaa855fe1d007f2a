"""What a broker is started with, from whichever side it came: flags, environment, TOML, Python.

`cli` and `api` build a `Settings`; `app` and `cluster` read it. A bad value raises
`SettingsError` with one line that names the option, what is wrong and what is allowed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker.server.listeners import DEFAULT_NAME, Listener

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mockbroker.faults import Fault
    from mockbroker.state.preparation import Preparation

MAX_PARTITIONS: Final = 100_000
"""A topic declared at start has at most this many partitions: a slip of a digit is caught."""
MIN_TOKEN_CHARACTERS: Final = 8
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class SettingsError(Exception):
    """One line: the option, what is wrong with it, what is allowed."""

    def __init__(self, option: str, problem: str, allowed: str) -> None:
        super().__init__(f"{option}: {problem}; allowed: {allowed}")
        self.option = option


class Settings:
    """Everything a broker needs to know before it starts.

    `topics` maps a name to its partition count (None: `num.partitions`); `config` holds broker
    configs under Kafka's names, as text. `advertised_host` None: a client is told the address that
    it connected to. `seed` None: random ids differ from run to run. `freeze_clock`: time stands
    still from the start. `controller_port` None: there is no controller's listener; `admin_port`
    None: there is no admin API. `brokers` is how many there are, `ports` the port of each in turn
    (one: they count up from it), `racks` the rack of each. `listeners`, where there are any, are
    instead of `host`, `port` and `advertised_host`. `cluster_id` None: drawn. `preparation` is
    what the broker holds before its first client, beside `topics`;
    `snapshot_file` is where a process writes what it holds when it ends.
    """

    __slots__ = (
        "admin_host",
        "admin_port",
        "admin_token",
        "advertised_host",
        "brokers",
        "cluster_id",
        "config",
        "controller_port",
        "fault_option",
        "faults",
        "freeze_clock",
        "host",
        "journal",
        "journal_option",
        "listener_option",
        "listeners",
        "port",
        "ports",
        "preparation",
        "racks",
        "seed",
        "snapshot_file",
        "topics",
    )

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        topics: Mapping[str, int | None] | None = None,
        config: Mapping[str, str] | None = None,
        advertised_host: str | None = None,
        seed: int | None = None,
        freeze_clock: bool = False,
        faults: Iterable[Fault | Mapping[str, object]] = (),
        fault_option: str = "faults",
        journal: str | None = None,
        journal_option: str = "journal",
        controller_port: int | None = None,
        brokers: int | None = None,
        ports: Sequence[int] = (),
        racks: Sequence[str] = (),
        preparation: Preparation | None = None,
        snapshot_file: str | None = None,
        admin_port: int | None = None,
        admin_host: str = "127.0.0.1",
        admin_token: str | None = None,
        listeners: Sequence[Listener] = (),
        listener_option: str = "listeners",
        cluster_id: str | None = None,
    ) -> None:
        self.topics = dict(topics or {})
        self.config = dict(config or {})
        self.advertised_host = advertised_host
        self.seed = seed
        self.freeze_clock = freeze_clock
        self.faults = list(faults)
        self.fault_option = fault_option
        self.journal = journal
        self.journal_option = journal_option
        self.controller_port = controller_port
        self.preparation = preparation
        self.snapshot_file = snapshot_file
        self.admin_port = admin_port
        self.admin_host = admin_host
        self.admin_token = admin_token
        self.cluster_id = cluster_id
        self.brokers = parse_brokers("brokers", brokers, ports)
        self.listener_option = listener_option if listeners else None
        self.listeners = list(listeners)
        if not listeners:
            spread = spread_ports(ports or (port,), self.brokers)
            self.listeners.append(Listener(DEFAULT_NAME, host, spread, advertised_host))
        self.host = self.listeners[0].host
        self.ports = self.listeners[0].ports
        self.port = self.ports[0]
        self.racks = list(racks)
        if self.brokers > 1 and controller_port is not None:
            raise SettingsError(
                "controller_port", f"not with {self.brokers} brokers", "one broker alone"
            )
        if len(self.racks) not in (0, self.brokers):
            raise SettingsError(
                "racks", f"{len(self.racks)} racks for {self.brokers} broker(s)", "one a broker"
            )


MAX_BROKERS: Final = 50


def parse_brokers(option: str, count: str | int | None, ports: Sequence[int] = ()) -> int:
    """How many brokers; without a count, as many as there are ports."""
    if count is None:
        return max(1, len(ports))
    brokers = parse_count(option, count, most=MAX_BROKERS)
    if len(ports) not in (0, 1, brokers):
        raise SettingsError(
            option, f"{brokers} brokers and {len(ports)} ports", "one port, or as many as brokers"
        )
    return brokers


def parse_ports(option: str, text: str | int) -> list[int]:
    """A port, or several separated by commas."""
    ports = [parse_port(option, entry.strip()) for entry in str(text).split(",")]
    taken = [port for port in ports if port]
    if len(set(taken)) < len(taken):
        raise SettingsError(option, f"{text} names a port twice", "a port of its own a broker")
    return ports


def spread_ports(ports: Sequence[int], brokers: int) -> list[int]:
    """The port of each broker: as given, or counting up from the one given; 0 is any free one."""
    if len(ports) == brokers:
        return list(ports)
    first = ports[0]
    if first + brokers - 1 > 65535:
        raise SettingsError(
            "port", f"{first} leaves no room for {brokers} brokers", f"up to {65536 - brokers}"
        )
    return [first + index if first else 0 for index in range(brokers)]


def parse_port(option: str, text: str | int) -> int:
    """A TCP port; 0 asks for any free one."""
    allowed = "0 (any free port) to 65535"
    try:
        port = int(text)
    except ValueError:
        raise SettingsError(option, f"{text!r} is not a number", allowed) from None
    if not 0 <= port <= 65535:
        raise SettingsError(option, f"{port} is not a port", allowed)
    return port


def parse_token(option: str, text: str | None) -> str | None:
    """A bearer token: ASCII without spaces, not so short that it could be guessed."""
    if text is not None and (
        len(text) < MIN_TOKEN_CHARACTERS
        or not text.isascii()
        or not text.isprintable()
        or " " in text
    ):
        allowed = f"{MIN_TOKEN_CHARACTERS} and more visible ASCII characters"
        raise SettingsError(option, "it is too short, or not plain text", allowed)
    return text


def parse_count(option: str, text: str | int, *, most: int = MAX_PARTITIONS) -> int:
    """A count of at least 1."""
    allowed = f"a whole number from 1 to {most}"
    try:
        count = int(text)
    except (ValueError, TypeError):
        raise SettingsError(option, f"{text!r} is not a whole number", allowed) from None
    if isinstance(text, bool) or not 1 <= count <= most:
        raise SettingsError(option, f"{text} is out of range", allowed)
    return count


def parse_flag(option: str, text: str) -> bool:
    """A yes or no, as environment variables spell it."""
    value = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }.get(text.strip().lower())
    if value is None:
        raise SettingsError(option, f"{text!r} is neither yes nor no", "true or false")
    return value


def parse_choice(option: str, text: str, choices: tuple[str, ...]) -> str:
    """One of a few words, in any case."""
    if text.lower() not in choices:
        raise SettingsError(option, f"{text!r} is unknown", ", ".join(choices))
    return text.lower()


def parse_topic(option: str, text: str) -> tuple[str, int | None]:
    """NAME or NAME:PARTITIONS; None leaves the count to num.partitions."""
    name, colon, count = text.partition(":")
    check_topic_name(option, name)
    return name, parse_count(f"{option} {text}", count) if colon else None


def check_topic_name(option: str, name: str) -> None:
    """Kafka's rule for a topic's name (Topic.validate)."""
    if name in {".", ".."} or not _TOPIC_NAME.fullmatch(name):
        raise SettingsError(
            option,
            f"{name!r} is not a topic name",
            "NAME or NAME:PARTITIONS, the name of 1 to 249 letters, digits, '.', '_' and '-'",
        )


def parse_pair(option: str, text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingsError(option, f"{text!r} has no value", "KEY=VALUE")
    return key.strip(), value.strip()
