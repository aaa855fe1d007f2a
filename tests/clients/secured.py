"""A broker whose clients log in over TLS, or show a certificate or a token; what each is given.

It runs in a process of its own; what clients are configured with comes over its admin API.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.testing.remote.process import BrokerProcess
from tests.support.logins import bearer_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mockbroker.testing.remote.broker import RemoteBroker

SECURITIES = ("SCRAM", "MTLS", "OAUTH")
"""SASL_SSL with SCRAM-SHA-512, SSL with a client's certificate, and SASL_SSL with OAUTHBEARER.

They are names of listeners too.
"""
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CONFIG = {
    "listener.security.protocol.map": "SCRAM:SASL_SSL,MTLS:SSL,OAUTH:SASL_SSL",
    "listener.name.mtls.ssl.client.auth": "required",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
    "scram-sha-512.sasl.jaas.config": f'{SCRAM} required user_alice="alice secret";',
}
PRINCIPALS = {"SCRAM": "User:alice", "MTLS": "User:CN=alice", "OAUTH": "User:alice"}
TOKEN_SECONDS = 3600


class Secured(NamedTuple):
    """One listener of the broker."""

    broker: RemoteBroker
    security: str

    def config(self, kind: str) -> dict[str, Any]:
        """What a client of that kind is given."""
        if self.security == "MTLS":
            return self.broker.client_config(kind, listener="MTLS", certificate="alice")
        if self.security == "OAUTH":
            config = self.broker.client_config(kind, listener="OAUTH")
            return {**config, **_with_token(kind)}
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


def _with_token(kind: str) -> dict[str, Any]:
    """How a client of that kind is told to show an unsecured token.

    Where a function gives it, `token` is what that is to give; a program has to make that.
    """
    if kind == "java":
        module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f'{module} required unsecuredLoginStringClaim_sub="alice";',
        }
    if kind == "confluent":
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": "principal=alice",
        }
    token = bearer_token("alice", None, int(time.time()) + TOKEN_SECONDS)
    if kind == "kafkajs":
        return {"sasl": {"mechanism": "oauthbearer", "token": token}}
    if kind == "franz-go":
        return {"sasl": {"method": "OAUTHBEARER", "token": token}}
    return {"sasl_mechanism": "OAUTHBEARER", "token": token}


@contextmanager
def serving_secured() -> Iterator[RemoteBroker]:
    """The broker, with a listener for each of `SECURITIES`."""
    listeners = [f"{name}://:0" for name in SECURITIES]
    with BrokerProcess(tls="auto", listeners=listeners, config=CONFIG) as broker:
        yield broker
