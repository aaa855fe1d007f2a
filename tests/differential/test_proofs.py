"""Signed tokens and certificates are judged as by Apache Kafka, and name the same client."""

from __future__ import annotations

import os
import socket
import ssl
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker import MockBroker
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from mockbroker_protocol.plan import decode
from tests.differential.conftest import kafka
from tests.differential.login_steps import ANY, request
from tests.differential.test_logins import answer_to, answers
from tests.differential.token_steps import KEYS, token_exchanges, tokens
from tests.support import signed_tokens
from tests.support.certificates import authority, client, server
from tests.support.free_ports import free_ports

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.server.certificates import Certificate

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(480)]

SECURITY = "org.apache.kafka.common.security"
LISTENERS = ("PLAINTEXT", "TOKENS", "REQUIRED", "REQUESTED", "MAPPED")
MAP = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TOKENS:SASL_PLAINTEXT," + ",".join(
    f"{name}:SSL" for name in LISTENERS[2:]
)
CREATE = request(CreateDelegationTokenRequest(None, None, [], -1), 3)
ALLOWED = "-Xmx512m -Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="


def common(folder: Path) -> list[str]:
    """The configs of both."""
    (folder / "keys.json").write_text(KEYS)
    shown = server()
    (folder / "server.pem").write_text(shown.key + shown.certificate)
    (folder / "ca.pem").write_text(authority().certificate)
    of_tokens = signed_tokens.configs("TOKENS", f"file:{folder}/keys.json")
    del of_tokens["listener.security.protocol.map"]
    module = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required;"
    return [
        f"listener.security.protocol.map={MAP}",
        *(f"{key}={value}" for key, value in of_tokens.items()),
        f"listener.name.tokens.oauthbearer.sasl.jaas.config={module}",
        "connection.failed.authentication.delay.ms=2",
        "delegation.token.secret.key=a-key",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={folder}/server.pem",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={folder}/ca.pem",
        "ssl.client.auth=required",
        "listener.name.requested.ssl.client.auth=requested",
        "listener.name.mapped.ssl.principal.mapping.rules=RULE:^CN=(a.*)$/$1/U",
    ]


SHOWN: dict[str, Certificate | None] = {
    "none": None,
    "right": client("alice"),
    "another name": client("bob"),
    "expired": client("alice", valid_days=-2),
    "foreign": client("alice", "stranger"),
    "the server's own": server(),
}


def by_certificate(port: int, name: str, version: ssl.TLSVersion, folder: Path) -> str:
    """Who a client is that shows this certificate, or that it is sent away."""
    context = ssl.create_default_context(cadata=authority().certificate)
    context.minimum_version = context.maximum_version = version
    shown = SHOWN[name]
    if shown is not None:
        file = folder / "shown.pem"
        file.write_text(shown.key + shown.certificate)
        context.load_cert_chain(file)
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=30) as sock,
            context.wrap_socket(sock, server_hostname="localhost") as connection,
        ):
            answer = answer_to(connection, CREATE)
            if answer is None:
                return "closed"
            told, _ = decode(CreateDelegationTokenResponse, 3, answer, 5)
            listed = answer_to(connection, ANY)
            return f"{told.error_code} {told.principal_name} {listed!r}"
    except OSError:
        return "closed"


def found_at(ports: list[int], folder: Path) -> dict[str, object]:
    of_tokens, *of_tls = ports
    found: dict[str, object] = dict(answers(of_tokens, token_exchanges(int(time.time())).items()))
    for listener, port in zip(LISTENERS[2:], of_tls, strict=True):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for name in SHOWN:
                told = by_certificate(port, name, version, folder)
                found[f"{listener}, {name}, {version.name}"] = told
    return found


def test_proofs_are_taken_and_refused_as_by_apache_kafka(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = common(tmp_path)
    first, controller, *ports = free_ports(2 + len(LISTENERS) - 1)
    theirs = [
        f"{name}://127.0.0.1:{port}" for name, port in zip(LISTENERS, (first, *ports), strict=True)
    ]
    places = (
        f"controller.quorum.voters=1@127.0.0.1:{controller}",
        f"listeners={','.join((*theirs, f'CONTROLLER://127.0.0.1:{controller}'))}",
        f"advertised.listeners={','.join(theirs)}",
    )
    options = f"{ALLOWED}file:{tmp_path}/keys.json"
    monkeypatch.setitem(os.environ, "KAFKA_HEAP_OPTS", options)
    with kafka(*settings, *places, port=first):
        expected = found_at(ports, tmp_path)
    config = dict(one.split("=", 1) for one in settings)
    names = [f"{name}://127.0.0.1:0" for name in LISTENERS]
    with MockBroker(listeners=names, config=config) as broker:
        by_name = broker._bridged().running.bootstrap_by_listener
        ours = [int(by_name[name].rpartition(":")[2]) for name in LISTENERS[1:]]
        found = found_at(ours, tmp_path)
    assert len(tokens(0)) > 99
    assert len({str(told) for told in expected.values()}) > 8
    differing = sorted(name for name, told in expected.items() if found[name] != told)
    assert [f"{name}: {expected[name]}, not {found[name]}" for name in differing] == []
