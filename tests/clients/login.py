"""All tests again over a listener that wants to know its clients: MOCKBROKER_TEST_SECURITY.

It names one of `SECURITIES`. What `serving` starts has that listener alone then, and its clients
are given what they need beside the address: those of this process when they are made, programs by
a file in the address's place. Tests whose brokers have listeners of their own are left out:
`wants_login`.
"""

from __future__ import annotations

import importlib
import os
import warnings
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mockbroker.testing.mock_broker import MockBroker
from tests.clients.secured import CONFIG, SECURITIES, Secured
from tests.clients.workload import PROGRAM_CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pytest

SECURITY = os.environ.get("MOCKBROKER_TEST_SECURITY", "")
assert not SECURITY or SECURITY in SECURITIES, SECURITIES
CLIENTS = {
    "confluent_kafka": ("confluent", "bootstrap.servers", ("Consumer", "Producer")),
    "confluent_kafka.admin": ("confluent", "bootstrap.servers", ("AdminClient",)),
    "aiokafka": ("aiokafka", "bootstrap_servers", ("AIOKafkaConsumer", "AIOKafkaProducer")),
    "aiokafka.admin": ("aiokafka", "bootstrap_servers", ("AIOKafkaAdminClient",)),
    "kafka": ("kafka-python", "bootstrap_servers", ("KafkaConsumer", "KafkaProducer")),
    "kafka.admin": ("kafka-python", "bootstrap_servers", ("KafkaAdminClient",)),
}
"""By module: the kind of client, its name for the address, and its classes."""
LEFT_OUT = ("test_logins.py", "test_tls.py", "test_shared_consumer.py", "test_sarama.py")
"""Modules whose brokers have listeners of their own, or whose clients are told no more than
addresses."""
TOOLS = ("org.apache.kafka.tools.", "kafka.admin.")

_secured: dict[str, tuple[Secured, Path]] = {}
"""By address the listener, and where files about it are."""


def options(arguments: tuple[str, ...]) -> list[str]:
    """What gives a broker the listener, unless it has some of its own."""
    if not SECURITY or "--listener" in arguments:
        return []
    configs = [f"--set={name}={value}" for name, value in CONFIG.items()]
    return ["--tls", "auto", "--admin-port", "0", "--listener", f"{SECURITY}://:0", *configs]


@contextmanager
def known(ready: Mapping[str, Any]) -> Iterator[None]:
    """Clients of the broker with this ready file are given what its listener wants."""
    broker = MockBroker.connect(ready["admin"], ca_file=ready["tls"]["ca"])
    addresses = [ready["bootstrap"], *ready["bootstrap"].split(",")]
    with TemporaryDirectory(prefix="mockbroker-login-") as folder:
        there = Secured(broker, SECURITY), Path(folder)
        _secured.update(dict.fromkeys(addresses, there))
        try:
            yield
        finally:
            for address in set(addresses):
                del _secured[address]


def told(kind: str, *arguments: str) -> list[str]:
    """A program's arguments, with @FILE of what a client wants in place of such an address."""
    return [f"@{_file(kind, one)}" if one in _secured else one for one in arguments]


def told_java(main: str, *arguments: str) -> list[str]:
    """The same for a Java class; Kafka's own tools have an option for the file."""
    if not main.startswith(TOOLS):
        return told("java", *arguments)
    line: list[str] = []
    for one in arguments:
        line.append(one)
        if one in _secured:
            line += ["--command-config", _file("java", one)]
    return line


def environment(bootstrap: str) -> dict[str, str]:
    """What a program of kafka-python is told beside its arguments."""
    if bootstrap not in _secured:
        return dict(os.environ)
    return os.environ | {PROGRAM_CONFIG: _file("kafka-python", bootstrap)}


def wants_login(item: pytest.Item) -> bool:
    """Whether a test has a broker of `serving`, and clients that can."""
    if item.path.name in LEFT_OUT:
        return False
    names = getattr(item, "fixturenames", ())
    module = getattr(item, "module", None)
    return "server_process" in names or any(
        hasattr(module, name) for name in ("serving", "serving_filtered")
    )


def let_clients_log_in() -> None:
    """Have the classes of the libraries do so, before tests import them."""
    for module_name, (kind, address, classes) in CLIENTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            module = importlib.import_module(module_name)
        for name in classes:
            setattr(module, name, _logging_in(getattr(module, name), kind, address))


def _logging_in(client: Any, kind: str, address: str) -> type:
    """The class itself; one of C, which does not let itself be changed, has a class under it."""
    made: type = client
    if not hasattr(client.__init__, "__code__"):
        made = type(client.__name__, (client,), {})
    initialize = client.__init__

    def begin(self: Any, *args: Any, **config: Any) -> None:
        if args and isinstance(args[0], dict):
            args = (_beside(kind, args[0], address), *args[1:])
        else:
            config = _beside(kind, config, address)
        initialize(self, *args, **config)

    setattr(made, "__init__", begin)  # noqa: B010 -- mypy allows no other way
    return made


def _beside(kind: str, config: dict[str, Any], address: str) -> dict[str, Any]:
    there = _secured.get(str(config.get(address)))
    return config if there is None else {**there[0].config(kind), **config}


def _file(kind: str, address: str) -> str:
    secured, folder = _secured[address]
    return secured.file(kind, folder)
