"""What an administrator sets, a client can log in with; scopes and snapshots take it back."""

from __future__ import annotations

import json

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from simulation.scram_client import salted_password
from tests.support.logins import LISTENER, handshake, login_core, scram_login

MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
FAILED = (
    "Authentication failed during authentication due to invalid credentials with SASL "
    "mechanism SCRAM-SHA-256"
)
CONFIG = {"sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512"}


def upsertion(
    user: str, password: str, mechanism: str = "SCRAM-SHA-256"
) -> ScramCredentialUpsertion:
    salted = salted_password(mechanism, password, b"salt", 4096)
    return ScramCredentialUpsertion(user, MECHANISMS[mechanism], 4096, b"salt", salted)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_user_logs_in_with_its_password_until_it_is_gone(mechanism: str) -> None:
    core = login_core(CONFIG)
    admin = core.client()
    request = AlterUserScramCredentialsRequest([], [upsertion("carol", "pw", mechanism)])
    answer = admin.call(request, 0, AlterUserScramCredentialsResponse)
    assert answer.results == [AlterUserScramCredentialsResult("carol", 0, None)]
    client = core.client(listener=LISTENER)
    handshake(client, mechanism)
    assert scram_login(client, mechanism, "carol", "pw").error_code == 0
    assert core.broker.connections()[1].principal == "User:carol"
    code = MECHANISMS[mechanism]
    admin.call(
        AlterUserScramCredentialsRequest([ScramCredentialDeletion("carol", code)]),
        0,
        AlterUserScramCredentialsResponse,
    )
    late = core.client(listener=LISTENER)
    handshake(late, mechanism)
    refused = scram_login(late, mechanism, "carol", "pw")
    assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize(("user", "password"), [("carol", "wrong"), ("nobody", "pw")])
def test_users_and_strangers_are_told_the_same(user: str, password: str) -> None:
    core = login_core(CONFIG)
    request = AlterUserScramCredentialsRequest([], [upsertion("carol", "pw")])
    core.client().call(request, 0, AlterUserScramCredentialsResponse)
    client = core.client(listener=LISTENER)
    handshake(client, "SCRAM-SHA-256")
    answer = scram_login(client, "SCRAM-SHA-256", user, password)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        FAILED,
    )
    assert client.closed


def test_the_journal_has_neither_salt_nor_password() -> None:
    core = login_core(CONFIG)
    one = upsertion("carol", "pw")
    client = core.client()
    client.call(AlterUserScramCredentialsRequest([], [one]), 0, AlterUserScramCredentialsResponse)
    (served,) = core.cluster.journal.requests()
    shown = repr(served.request) + json.dumps(served.line(lambda _id: None))
    assert repr(one.salted_password) not in shown
    assert "'salt'" not in shown.replace("salt=b''", "")
    assert "[hidden]" in shown
