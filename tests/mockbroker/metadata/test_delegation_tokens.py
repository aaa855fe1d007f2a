"""What is known of a token, and until when."""

from __future__ import annotations

import hashlib
import hmac

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.delegation_tokens import DelegationToken, token_hmac

TOKEN = DelegationToken("id", "User:a", "User:b", ("User:c",), 0, 9_000, 5_000, b"secret")
HOUR_MS = 3_600_000


def test_its_secret_is_the_hmac_of_its_id() -> None:
    config = BrokerConfig({"delegation.token.secret.key": "key"})
    assert token_hmac(config, "id") == hmac.digest(b"key", b"id", hashlib.sha512)
    assert token_hmac(BrokerConfig(), "id") == b""
    assert "secret" not in repr(TOKEN)


def test_owner_and_renewers_are_those_it_is_of() -> None:
    assert [who for who in "abc" if TOKEN.is_of(f"User:{who}")] == ["a", "c"]


def test_it_is_removed_by_the_next_round_after_it_expired() -> None:
    assert [TOKEN.is_expired(now) for now in (5_000, 5_001)] == [False, True]
    assert TOKEN._replace(max_wall_ms=4_000).is_expired(4_001)
    config = BrokerConfig()
    removed = [
        TOKEN.is_removed(config, Clock(100, now)) for now in (6_000.0, HOUR_MS - 1.0, HOUR_MS)
    ]
    assert removed == [False, False, True]
