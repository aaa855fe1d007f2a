"""A broker whose clients log in over TLS, or show a certificate or a token; what each is given.

It runs in a process of its own; what clients are configured with comes over its admin API.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.testing.remote.process import BrokerProcess
from tests.support.jvm import TOKEN_FILE
from tests.support.signed_tokens import HANDLER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.remote.broker import RemoteBroker

SECURITIES = ("SCRAM", "MTLS", "OAUTH")
"""SASL_SSL with SCRAM-SHA-512, SSL with a client's certificate, and SASL_SSL with
OAUTHBEARER and signed tokens.

They are names of listeners too.
"""
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CONFIG = {
    "listener.security.protocol.map": "SCRAM:SASL_SSL,MTLS:SSL,OAUTH:SASL_SSL",
    "listener.name.mtls.ssl.client.auth": "required",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": HANDLER,
    "listener.name.oauth.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "auto",
    "listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.issuer": "https://idp.test",
    "listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
    "scram-sha-512.sasl.jaas.config": f'{SCRAM} required user_alice="alice secret";',
}
PRINCIPALS = {"SCRAM": "User:alice", "MTLS": "User:CN=alice", "OAUTH": "User:alice"}
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
TOKEN_PROVIDER = "sasl_oauth_token_provider"


class Secured(NamedTuple):
    """One listener of the broker."""

    broker: RemoteBroker
    security: str

    @property
    def arguments(self) -> dict[str, Any]:
        """What `client_config` is told."""
        if self.security == "MTLS":
            return {"listener": "MTLS", "certificate": "alice"}
        if self.security == "OAUTH":
            return {"listener": "OAUTH", "token": self.broker.token("alice", listener="OAUTH")}
        return {"login": ("alice", "alice secret"), "mechanism": "SCRAM-SHA-512"}

    def config(self, kind: str) -> dict[str, Any]:
        """What a client of that kind is given."""
        return self.broker.client_config(kind, **self.arguments)

    def file(self, kind: str, folder: Path) -> str:
        """The same in a file, for a program: of properties for Java, else of JSON."""
        config = self.config(kind)
        file = folder / kind
        if kind == "java":
            if TOKEN_URL in config:  # JVMs of tests may read tokens there
                made = Path(config[TOKEN_URL].removeprefix("file:"))
                TOKEN_FILE.write_text(made.read_text("ascii"), "ascii")
                config[TOKEN_URL] = f"file:{TOKEN_FILE}"
            file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        else:
            if TOKEN_PROVIDER in config:  # of which the program makes one again
                config[TOKEN_PROVIDER] = config[TOKEN_PROVIDER].token()
            file.write_text(json.dumps(config))
        return str(file)

    def check(self, topic: str) -> None:
        """Whoever wrote to a topic was known."""
        wrote = self.broker.journal.requests(api="Produce", topic=topic)
        assert {one.principal for one in wrote} == {PRINCIPALS[self.security]}


@contextmanager
def serving_secured() -> Iterator[RemoteBroker]:
    """The broker, with a listener for each of `SECURITIES`; consumers may share partitions."""
    listeners = [f"{name}://:0" for name in SECURITIES]
    config = {**CONFIG, "coop.extension.enable": "true"}
    with BrokerProcess(tls="auto", listeners=listeners, config=config) as broker:
        yield broker
