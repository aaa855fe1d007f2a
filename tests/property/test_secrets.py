"""No password is told by anything that a broker writes or answers, though its configs hold some."""

from __future__ import annotations

import gc
import json
import socket
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

from mockbroker import MockBroker
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from mockbroker_protocol.plan import decode, encode
from tests.clients.server import serving
from tests.support.logins import bearer
from tests.support.signed_tokens import HANDLER

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.testing.remote.broker import RemoteBroker

SECURITY = "org.apache.kafka.common.security"
PLAIN_JAAS = "plain.sasl.jaas.config"
PLAIN = f'{SECURITY}.plain.PlainLoginModule required user_alice="hush-plain";'
SCRAM = f'{SECURITY}.scram.ScramLoginModule required user_alice="hush-scram";'
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
    "oauthbearer.sasl.server.callback.handler.class": HANDLER,
    "sasl.oauthbearer.jwks.endpoint.url": "auto",
    "sasl.oauthbearer.expected.issuer": "https://idp.test",
    "sasl.oauthbearer.expected.audience": "kafka",
    "listener.name.plaintext.plain.sasl.jaas.config": PLAIN,
    "scram-sha-256.sasl.jaas.config": SCRAM,
    "delegation.token.secret.key": "hush-delegation",
    "ssl.keystore.password": "hush-store",
    "ssl.key.password": "hush-key",
    "ssl.truststore.password": "hush-trust",
    "ssl.keystore.key": "hush-pem",
    "connection.failed.authentication.delay.ms": "0",
}
PAGES = (
    "metrics v1/cluster v1/connections v1/topics v1/groups v1/transactions v1/faults v1/scopes "
    "v1/snapshots v1/journal v1/journal/events v1/journal/tail?limit=1000 v1/report v1/metrics "
    "v1/delegation-tokens"
)


def ask(connection: socket.socket, message: object, version: int) -> bytes:
    key: int = message.API_KEY  # type: ignore[attr-defined]
    data = encode_request_header(key, version, 1, "test") + b"".join(encode(message, version))
    connection.sendall(len(data).to_bytes(4, "big") + data)
    answer = connection.makefile("rb")
    return answer.read(int.from_bytes(answer.read(4), "big"))


def log_in(address: str, token: bytes, mechanism: str = "PLAIN") -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    ask(connection, SaslHandshakeRequest(mechanism), 1)
    ask(connection, SaslAuthenticateRequest(token), 2)
    return connection


def show_tokens(broker: MockBroker | RemoteBroker) -> list[bytes]:
    """Log in by tokens, one of which is wrong, and let one expire; what nobody may tell of them."""
    good = broker.token("alice")
    claims, signature = good.split(".")[1:]
    wrong = good.replace(signature, signature[::-1])
    for shown in (good, wrong, good[:-9]):
        log_in(broker.bootstrap_servers, bearer(shown), "OAUTHBEARER").close()
    (rule,) = broker.faults.add({"expire_token": True, "count": 1})
    with log_in(broker.bootstrap_servers, bearer(good), "OAUTHBEARER") as connection:
        assert ask(connection, DescribeConfigsRequest([]), 4) == b""
    assert rule.hits == 1
    log_in(broker.bootstrap_servers, bearer(good), "OAUTHBEARER").close()
    return [text.encode() for text in (claims, signature, signature[::-1], signature[:-9])]


def ways_to_tell(secret: bytes) -> list[bytes]:
    """Bytes as somebody may write them down."""
    return [secret, secret.hex().encode(), b64encode(secret)[:40], repr(secret)[2:40].encode()]


def hmac_of(created: bytes) -> bytes:
    """That of a delegation token, which its maker is told."""
    answer = CreateDelegationTokenResponse
    found, _ = decode(answer, 3, created, 5)
    assert len(found.hmac) == 64
    return bytes(found.hmac)


def page(url: str) -> bytes:
    try:
        with urlopen(url, timeout=10) as answer:
            found: bytes = answer.read()
    except HTTPError as error:
        with error:
            found = error.read()
    return found


def test_no_secret_is_told(tmp_path: Path) -> None:
    arguments = [f"--set={key}={text}" for key, text in SETTINGS.items()]
    arguments += ["--journal", str(tmp_path / "journal"), "--admin-port", "0"]
    told: list[bytes] = []
    with serving(tmp_path, *arguments, "--log-level", "debug") as address:
        log_in(address, b"\0alice\0hush-wrong").close()
        log_in(address, b"hush-alone").close()
        with log_in(address, b"\0alice\0hush-plain") as connection:
            credential = ScramCredentialUpsertion("bob", 1, 4096, b"salt", b"hush-hash")
            request = AlterUserScramCredentialsRequest([], [credential])
            assert b"bob\0\0" in ask(connection, request, 0)
            changed = IncrementalAlterConfigsRequest(
                [
                    IncrementalAlterConfigsResource(
                        4,
                        "1",
                        [IncrementalAlterableConfig(f"listener.name.x.{PLAIN_JAAS}", 0, PLAIN)],
                    )
                ],
                False,
            )
            told.append(ask(connection, changed, 1))
            token = CreateDelegationTokenRequest(None, None, [], -1)
            hidden = ways_to_tell(hmac_of(ask(connection, token, 3)))
            configs = DescribeConfigsRequest([DescribeConfigsResource(4, "1", None)])
            told.append(ask(connection, configs, 4))
        admin = json.loads((tmp_path / "ready.json").read_text())["admin"]
        hidden += show_tokens(MockBroker.connect(admin))
        told += [page(f"{admin}/{name}") for name in PAGES.split()]
    assert f"listener.name.x.{PLAIN_JAAS}".encode() in told[1]
    assert sum(b"SaslAuthenticate" in one for one in told) > 1
    told += [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert [one for one in told if any(secret in one for secret in (b"hush", *hidden))] == []


def test_nothing_that_holds_a_secret_prints_it() -> None:
    settings = {key: text for key, text in SETTINGS.items() if not key.startswith("ssl.")}
    with MockBroker(config=settings, admin_port=0, admin_token="hush-admin") as broker:
        with log_in(broker.bootstrap_servers, b"\0alice\0hush-plain") as connection:
            created = ask(connection, CreateDelegationTokenRequest(None, None, [], -1), 3)
            hidden = [b"hush", *ways_to_tell(hmac_of(created)), *show_tokens(broker)]
            upsertion = ScramCredentialUpsertion("bob", 1, 4096, b"hush-salt", b"hush-hash")
            ask(connection, AlterUserScramCredentialsRequest([], [upsertion]), 0)
        snapshot = broker.snapshot()
        given = broker.client_config("confluent", login=("alice", "hush-plain"))
        printed = {
            f"{kind.__module__}.{kind.__name__}": repr(one).encode()
            for one in [*gc.get_objects(), snapshot]
            if str((kind := type(one)).__module__).startswith("mockbroker")
        }
        assert given["sasl.password"] == "hush-plain"
    assert len(printed) > 100
    assert "mockbroker.metadata.delegation_tokens.DelegationToken" in printed
    assert {
        name: text for name, text in printed.items() if any(secret in text for secret in hidden)
    } == {}
