"""A broker elsewhere makes and ends delegation tokens as one in the process does."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import pytest

from mockbroker import MockBroker
from mockbroker.metadata.delegation_tokens import DelegationToken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.remote.broker import RemoteBroker

CONFIG = {
    "delegation.token.secret.key": "a-key",
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
}


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(config=CONFIG, admin_port=0, freeze_clock=True) as broker:
        yield broker


@pytest.fixture
def remote(broker: MockBroker) -> RemoteBroker:
    return MockBroker.connect(broker.admin_url or "")


def test_each_verb_does_the_same_here_and_there(broker: MockBroker, remote: RemoteBroker) -> None:
    for one, other in ((broker, remote), (remote, broker)):
        made = assert_type(
            one.delegation_token("alice", renewers=["bob"], lifetime_ms=5), DelegationToken
        )
        assert (made.owner, made.renewers) == ("User:alice", ("User:bob",))
        assert repr(made.hmac) not in repr(made)
        assert other.client_config("java", delegation_token=made)["sasl.mechanism"]
        assert one.delegation_tokens() == other.delegation_tokens() == [made._replace(hmac=b"")]
        assert other.delegation_tokens("bob") == []
        with pytest.raises(ValueError, match="is told when it is made"):
            one.client_config("java", delegation_token=one.delegation_tokens()[0])
        other.expire_delegation_token(made.token_id, after_ms=3)
        (shorter,) = one.delegation_tokens("alice")
        assert shorter.expiry_wall_ms == made.issue_wall_ms + 3
        other.expire_delegation_token(made.token_id)
        assert one.delegation_tokens() == []
        with pytest.raises(ValueError, match="there is no delegation token"):
            one.expire_delegation_token(made.token_id)
        with pytest.raises(ValueError, match="lifetime_ms"):
            one.delegation_token(lifetime_ms=0)


async def test_each_is_a_coroutine_too(broker: MockBroker, remote: RemoteBroker) -> None:
    for one in (broker.aio, remote.aio):
        made = assert_type(await one.delegation_token("alice"), DelegationToken)
        assert [token.token_id for token in await one.delegation_tokens()] == [made.token_id]
        await one.expire_delegation_token(made.token_id)
        assert await one.delegation_tokens("alice") == []


def test_a_scope_and_a_reset_take_them_back(broker: MockBroker) -> None:
    kept = broker.delegation_token("alice")
    with broker.scope():
        broker.delegation_token("bob")
        broker.expire_delegation_token(kept.token_id)
    assert [token.token_id for token in broker.delegation_tokens()] == [kept.token_id]
    broker.reset()
    assert broker.delegation_tokens() == []
