"""Messages print without what proves who a client is."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.configs import IncrementalAlterableConfig
from mockbroker_protocol.messages.delegation_tokens import RenewDelegationTokenRequest
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest
from mockbroker_protocol.messages.scram import ScramCredentialUpsertion
from mockbroker_protocol.secret_fields import is_secret


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        (SaslAuthenticateRequest(b"hush"), "SaslAuthenticateRequest(auth_bytes=[hidden])"),
        (SaslAuthenticateRequest(b""), "SaslAuthenticateRequest(auth_bytes=b'')"),
        (
            ScramCredentialUpsertion("bob", 1, 4096, b"hush", b"hush"),
            (
                "ScramCredentialUpsertion(name='bob', mechanism=1, iterations=4096, salt=[hidden], "
                "salted_password=[hidden])"
            ),
        ),
        (
            RenewDelegationTokenRequest(b"hush", 5),
            "RenewDelegationTokenRequest(hmac=[hidden], renew_period_ms=5)",
        ),
        (
            IncrementalAlterableConfig("ssl.key.password", 0, "hush"),
            (
                "IncrementalAlterableConfig(name='ssl.key.password', config_operation=0, "
                "value=[hidden])"
            ),
        ),
        (
            IncrementalAlterableConfig("num.partitions", 0, "3"),
            "IncrementalAlterableConfig(name='num.partitions', config_operation=0, value='3')",
        ),
    ],
)
def test_secrets_are_hidden(message: object, printed: str) -> None:
    assert repr(message) == printed


def test_a_value_is_a_secret_by_the_name_beside_it() -> None:
    assert is_secret(IncrementalAlterableConfig("plain.sasl.jaas.config"), "value")
    assert not is_secret(IncrementalAlterableConfig("plain.sasl.jaas.config"), "name")
    assert not is_secret(object(), "value")
