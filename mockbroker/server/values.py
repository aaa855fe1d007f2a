"""What an option may be given as, text or a Python value, and what it becomes.

`options` names one of these functions for each option. Each takes the option's name as the user
wrote it and the value, and raises `SettingsError` with one line: the option, what is wrong with
it, what is allowed. A value that was read is read again to itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mockbroker.state.config_texts import config_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.faults import Fault

MAX_PARTITIONS: Final = 100_000
"""A topic declared at start has at most this many partitions: a slip of a digit is caught."""
MAX_BROKERS: Final = 50
MAX_SPIN_US: Final = 100_000
MIN_TOKEN_CHARACTERS: Final = 8
# Patterns are compiled when they are first needed: a start without topics needs none.
_TOPIC_NAME: Final = r"[a-zA-Z0-9._-]{1,249}"
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CLUSTER_ID: Final = r"[a-zA-Z0-9_.-]{1,249}"
_WORDS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


class SettingsError(Exception):
    """One line: the option, what is wrong with it, what is allowed."""

    def __init__(self, option: str, problem: str, allowed: str) -> None:
        super().__init__(f"{option}: {problem}; allowed: {allowed}")
        self.option = option


def parse_text(_option: str, value: object) -> str | None:
    """Any text, a path among them; an empty one is as none."""
    return str(value) or None


def parse_host(option: str, value: object) -> str:
    """An address to listen on."""
    if not str(value).strip():
        raise SettingsError(option, "it is empty", "an address such as 127.0.0.1 or 0.0.0.0")
    return str(value)


def parse_number(option: str, value: object) -> int:
    """Any whole number."""
    try:
        return int(str(value))
    except ValueError:
        raise SettingsError(option, f"{value!r} is not a number", "a whole number") from None


def parse_port(option: str, value: object) -> int:
    """A TCP port; 0 asks for any free one."""
    allowed = "0 (any free port) to 65535"
    try:
        port = int(str(value))
    except ValueError:
        raise SettingsError(option, f"{value!r} is not a number", allowed) from None
    if not 0 <= port <= 65535:
        raise SettingsError(option, f"{port} is not a port", allowed)
    return port


def parse_ports(option: str, value: object) -> list[int]:
    """A port, or several: a list of them, or text with commas."""
    entries = value if isinstance(value, (list, tuple)) else str(value).split(",")
    ports = [parse_port(option, str(entry).strip()) for entry in entries]
    taken = [port for port in ports if port]
    if len(set(taken)) < len(taken):
        named = ",".join(map(str, ports))
        raise SettingsError(option, f"{named} names a port twice", "a port of its own a broker")
    return ports


def parse_count(option: str, value: object, most: int = MAX_PARTITIONS, least: int = 1) -> int:
    """A count of at least 1, or `least`."""
    allowed = f"a whole number from {least} to {most}"
    try:
        count = int(str(value))
    except ValueError:
        raise SettingsError(option, f"{value!r} is not a whole number", allowed) from None
    if not least <= count <= most:
        raise SettingsError(option, f"{value} is out of range", allowed)
    return count


def parse_brokers(option: str, value: object) -> int:
    """How many brokers."""
    return parse_count(option, value, MAX_BROKERS)


def parse_int32(option: str, value: object) -> int:
    """A limit of at least 1, as Kafka's configs have them."""
    return parse_count(option, value, 2**31 - 1)


def parse_spin(option: str, value: object) -> int:
    """Microseconds of looking before the loop sleeps; 0: none."""
    return parse_count(option, value, MAX_SPIN_US, least=0)


def parse_size(option: str, value: object) -> int:
    """Bytes: a number of at least 1, or with K, M or G for as many times 1024, 1024² or 1024³."""
    allowed = "bytes, from 1 up, such as 536870912, 512M or 2G"
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:I?B)?", str(value).strip().upper())
    if found is None:
        raise SettingsError(option, f"{value!r} is not a size", allowed)
    size = int(float(found[1]) * _UNITS[found[2]])
    if not 1 <= size < 2**63:
        raise SettingsError(option, f"{value} is out of range", allowed)
    return size


def parse_token(option: str, value: object) -> str:
    """A bearer token: ASCII without spaces, not so short that it could be guessed."""
    text = str(value)
    plain = text.isascii() and text.isprintable() and " " not in text
    if len(text) < MIN_TOKEN_CHARACTERS or not plain:
        allowed = f"{MIN_TOKEN_CHARACTERS} and more visible ASCII characters"
        raise SettingsError(option, "it is too short, or not plain text", allowed)
    return text


def parse_url(option: str, value: object) -> str:
    """Where a server is."""
    from urllib.parse import urlsplit

    text = str(value)
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not text.isascii() or not text.isprintable() or " " in text:
        raise SettingsError(option, f"{value!r} is no URL", "http://HOST:PORT or https://HOST")
    return text


def parse_flag(option: str, value: object) -> bool:
    """A yes or no, as environment variables spell it."""
    word = _WORDS.get(str(value).strip().lower())
    if word is None:
        raise SettingsError(option, f"{value!r} is neither yes nor no", "true or false")
    return word


def choice(*words: str) -> Callable[[str, object], str]:
    """What reads one of a few words, in any case."""

    def parse(option: str, value: object) -> str:
        word = str(value).lower()
        if word not in words:
            raise SettingsError(option, f"{value!r} is unknown", ", ".join(words))
        return word

    return parse


def parse_cluster_id(option: str, value: object) -> str:
    """A cluster's id."""
    text = str(value)
    if not re.fullmatch(_CLUSTER_ID, text):
        problem = f"{text!r} is no cluster id"
        raise SettingsError(option, problem, "1 to 249 letters, digits, '.', '_' and '-'")
    return text


def parse_list(_option: str, value: object) -> list[str]:
    """Texts: a list of them, or one text with commas."""
    if isinstance(value, str):
        return [entry.strip() for entry in value.split(",") if entry.strip()]
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else [str(value)]


def parse_topics(option: str, value: object) -> dict[str, int | Mapping[str, object] | None]:
    """Topics by name: how many partitions, a table as in the configuration file, or None.

    As a mapping, as a list of NAME or NAME:PARTITIONS, or as text with commas.
    """
    topics: dict[str, int | Mapping[str, object] | None] = {}
    if isinstance(value, Mapping):
        for name, wanted in value.items():
            check_topic_name(option, name)
            as_it_is = wanted is None or isinstance(wanted, Mapping)
            topics[name] = wanted if as_it_is else parse_count(f"{option}.{name}", wanted)
        return topics
    for entry in parse_list(option, value if isinstance(value, str) else list(_each(value))):
        name, count = parse_topic(option, entry)
        topics[name] = count
    return topics


def parse_topic(option: str, text: str) -> tuple[str, int | None]:
    """NAME or NAME:PARTITIONS; None leaves the count to num.partitions."""
    name, colon, count = text.partition(":")
    check_topic_name(option, name)
    return name, parse_count(f"{option} {text}", count) if colon else None


def check_topic_name(option: str, name: str) -> None:
    """Kafka's rule for a topic's name (Topic.validate)."""
    if name in {".", ".."} or not re.fullmatch(_TOPIC_NAME, name):
        raise SettingsError(
            option,
            f"{name!r} is not a topic name",
            "NAME or NAME:PARTITIONS, the name of 1 to 249 letters, digits, '.', '_' and '-'",
        )


def parse_configs(option: str, value: object) -> dict[str, str]:
    """Broker configs by Kafka's name: a mapping, KEY=VALUE in a list, or one a line."""
    if isinstance(value, Mapping):
        return config_texts(value)
    lines = value.splitlines() if isinstance(value, str) else list(_each(value))
    return dict(parse_pair(option, str(line)) for line in lines if str(line).strip())


def parse_pair(option: str, text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingsError(option, f"{text!r} has no value", "KEY=VALUE")
    return key.strip(), value.strip()


def parse_users(option: str, value: object) -> dict[str, str]:
    """Passwords by user: a mapping, NAME:PASSWORD in a list, or one a line; none is printed."""
    if isinstance(value, Mapping):
        pairs = [(str(name), str(password)) for name, password in value.items()]
    else:
        lines = value.splitlines() if isinstance(value, str) else map(str, _each(value))
        split = (line.partition(":") for line in lines if line.strip())
        pairs = [(name, password) for name, _, password in split]
    for place, (name, password) in enumerate(pairs, 1):
        if not name or not password:
            raise SettingsError(option, f"user {place} lacks a name or a password", "NAME:PASSWORD")
    return dict(pairs)


def parse_tables(option: str, value: object) -> list[object]:
    """Tables of the configuration file, such as those of [[records]]; `Settings` reads them."""
    if not isinstance(value, (list, tuple)):
        raise SettingsError(option, "it is not a list", "a list of tables, such as [[records]]")
    return list(value)


def parse_faults(option: str, value: object) -> list[Fault | Mapping[str, object]]:
    """Fault rules: text is JSON of one or several, or @ and a file; other values are left."""
    faults: list[Fault | Mapping[str, object]] = []
    for entry in [value] if isinstance(value, (str, Mapping)) else _each(value):
        if isinstance(entry, str):
            faults += read_faults(option, _json(option, entry))
        else:
            faults.append(entry)  # type: ignore[arg-type]  # `FaultSet.add` checks it
    return faults


def parse_actions(option: str, value: object) -> list[Mapping[str, object]]:
    """Actions on the cluster: tables, or text that is JSON of one or several, or @ and a file."""
    from mockbroker.cluster.actions import ActionError, check

    actions: list[Mapping[str, object]] = []
    for entry in [value] if isinstance(value, (str, Mapping)) else _each(value):
        data = _json(option, entry) if isinstance(entry, str) else entry
        actions += data if isinstance(data, list) else [data]  # type: ignore[list-item]
    for at, action in enumerate(actions):
        try:
            check(action)
        except ActionError as error:
            where = f"{option}[{at}]" if len(actions) > 1 else option
            raise SettingsError(f"{where}.{error.field}", error.problem, error.allowed) from None
    return actions


def read_faults(option: str, data: object) -> list[Fault]:
    """The rules in data as JSON and TOML have it."""
    from mockbroker.faults.errors import FaultError
    from mockbroker.faults.presets import parse

    try:
        return parse(data)
    except FaultError as error:
        raise SettingsError(option, str(error), "fault rules as docs/faults.md has them") from None


def _json(option: str, text: str) -> object:
    import json

    try:
        if text.startswith("@"):
            with open(text[1:], encoding="utf-8") as stream:
                text = stream.read()
        data: object = json.loads(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SettingsError(option, f"{text}: {reason}", "@ and a readable file") from None
    except ValueError as error:
        raise SettingsError(option, f"not JSON ({error})", "JSON, or @ and a file") from None
    return data


def _each(value: object) -> Iterable[object]:
    return value if hasattr(value, "__iter__") else (value,)
