"""A broker whose clients log in over TLS, or show a certificate, and what each kind is given.

It runs in a process of its own; what clients are configured with comes over its admin API.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.testing.remote.process import BrokerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mockbroker.testing.remote.broker import RemoteBroker

SECURITIES = ("SCRAM", "MTLS")
"""SASL_SSL with SCRAM-SHA-512, and SSL with a client's certificate: names of listeners too."""
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CONFIG = {
    "listener.security.protocol.map": "SCRAM:SASL_SSL,MTLS:SSL",
    "listener.name.mtls.ssl.client.auth": "required",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "scram-sha-512.sasl.jaas.config": f'{SCRAM} required user_alice="alice secret";',
}
PRINCIPALS = {"SCRAM": "User:alice", "MTLS": "User:CN=alice"}


class Secured(NamedTuple):
    """One listener of the broker."""

    broker: RemoteBroker
    security: str

    def config(self, kind: str) -> dict[str, Any]:
        """What a client of that kind is given."""
        if self.security == "MTLS":
            return self.broker.client_config(kind, listener="MTLS", certificate="alice")
        login = ("alice", "alice secret")
        return self.broker.client_config(kind, login=login, mechanism="SCRAM-SHA-512")

    def file(self, kind: str, folder: Path) -> str:
        """The same in a file, for a program: of properties for Java, else of JSON."""
        config = self.config(kind)
        file = folder / kind
        if kind == "java":
            file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        else:
            file.write_text(json.dumps(config))
        return str(file)

    def check(self, topic: str) -> None:
        """Whoever wrote to a topic was known."""
        wrote = self.broker.journal.requests(api="Produce", topic=topic)
        assert {one.principal for one in wrote} == {PRINCIPALS[self.security]}


@contextmanager
def serving_secured() -> Iterator[RemoteBroker]:
    """The broker, with a listener for each of `SECURITIES`."""
    listeners = [f"{name}://:0" for name in SECURITIES]
    with BrokerProcess(tls="auto", listeners=listeners, config=CONFIG) as broker:
        yield broker
