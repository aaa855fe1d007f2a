"""Delegation tokens over a listener with SASL: ACLs let through what they do in Apache Kafka."""

from __future__ import annotations

import pytest

from mockbroker import MockBroker
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from tests.differential.conftest import kafka
from tests.differential.normalise import Symbols, normalise
from tests.differential.run import Runner
from tests.differential.token_acl_steps import connect, token_acl_steps
from tests.differential.trees import differences
from tests.support.free_ports import free_ports

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

SECURITY = "org.apache.kafka.common.security"
USERS = f'{SECURITY}.plain.PlainLoginModule required user_admin="admin-secret";'
SCRAM = f"{SECURITY}.scram.ScramLoginModule required;"
CONFIGS = (
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
    f"listener.name.sasl.plain.sasl.jaas.config={USERS}",
    f"listener.name.sasl.scram-sha-256.sasl.jaas.config={SCRAM}",
    "delegation.token.secret.key=a-key",
    f"authorizer.class.name={STANDARD_AUTHORIZER}",
    # The brokers themselves come in over PLAINTEXT.
    "super.users=User:admin;User:ANONYMOUS",
)


def answers(port: int) -> list[object]:
    symbols = Symbols()
    outcomes = Runner(f"127.0.0.1:{port}", connect(port)).run(token_acl_steps())
    return [normalise(one.api, one.answer, symbols) for one in outcomes]


def test_tokens_are_for_whom_they_are_for_in_apache_kafka() -> None:
    first, controller, sasl = free_ports(3)
    listeners = [f"PLAINTEXT://127.0.0.1:{first}", f"SASL://127.0.0.1:{sasl}"]
    places = (
        f"controller.quorum.voters=1@127.0.0.1:{controller}",
        f"listeners={','.join((*listeners, f'CONTROLLER://127.0.0.1:{controller}'))}",
        f"advertised.listeners={','.join(listeners)}",
    )
    with kafka(*CONFIGS, *places, port=first):
        expected = answers(sasl)
    first, sasl = free_ports(2)
    listeners = [f"PLAINTEXT://127.0.0.1:{first}", f"SASL://127.0.0.1:{sasl}"]
    with MockBroker(listeners=listeners, config=dict(one.split("=", 1) for one in CONFIGS)):
        found = answers(sasl)
    titles = [step.title for step in token_acl_steps()]
    assert len(titles) > 500
    assert "closed" not in expected
    assert [
        f"{number} {title}: {line}"
        for number, (title, theirs, mine) in enumerate(zip(titles, expected, found, strict=True))
        for line in differences(theirs, mine)
    ] == []
