"""A handshake chooses a mechanism, where one is to be chosen."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.sasl import SaslHandshakeRequest, SaslHandshakeResponse
from tests.support.core import Core
from tests.support.logins import DELAY_MS, LISTENER, logged_in, login_core


@pytest.mark.parametrize("version", [0, 1])
def test_enabled_mechanisms_are_told(version: int) -> None:
    client = login_core().client(listener=LISTENER)
    answer = client.call(SaslHandshakeRequest("PLAIN"), version, SaslHandshakeResponse)
    assert answer == SaslHandshakeResponse(0, ["PLAIN"])
    assert not client.closed


@pytest.mark.parametrize("mechanism", ["GSSAPI", "plain", ""])
def test_another_mechanism_is_refused_late_and_the_connection_ends(mechanism: str) -> None:
    core = login_core()
    client = core.client(listener=LISTENER)
    client.send(SaslHandshakeRequest(mechanism), 1)
    core.advance(DELAY_MS - 1)
    assert not client.answered
    core.advance(1)
    answer = client.receive(SaslHandshakeResponse)
    assert answer == SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["PLAIN"])
    assert client.closed


def test_where_nobody_is_to_log_in_it_is_out_of_order() -> None:
    out_of_order = SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)
    for client in (Core().client(), logged_in(login_core())):
        answer = client.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
        assert answer == out_of_order
        assert not client.closed
