"""What a connection waits for, how long its session lasts, and what its client is told."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.security.authenticator import Authenticator, State, hash_set_order
from mockbroker.security.mechanism import SaslAuthenticationError, SaslError

MAX = "connections.max.reauth.ms"


class Trusting:
    """A mechanism that believes each token."""

    by_token = False
    token = None

    def __init__(self, expires_wall_ms: int | None = None) -> None:
        self.complete = False
        self.authorization_id = ""
        self.expires_wall_ms = expires_wall_ms

    def evaluate(self, token: bytes) -> bytes:
        self.complete = True
        self.authorization_id = token.decode()
        return b"well"


def authenticator(
    config: dict[str, str] | None = None, expires: int | None = None
) -> Authenticator:
    return Authenticator(BrokerConfig(config), "SASL", lambda _name, _listener: Trusting(expires))


def log_in(one: Authenticator, name: bytes = b"alice", now_ms: float = 0.0) -> int:
    one.choose("PLAIN", bare_tokens=False)
    answer, lifetime_ms = one.evaluate(name, now_ms, 1_000_000 + int(now_ms))
    assert (answer, state(one)) == (b"well", State.COMPLETE)
    return lifetime_ms


def state(one: Authenticator) -> State:
    return one.state


def test_apis_come_in_an_order() -> None:
    one = authenticator()
    assert state(one) is State.INITIAL
    one.versions_told()
    assert state(one) is State.HANDSHAKE
    one.choose("PLAIN", bare_tokens=True)
    assert (state(one), one.bare_tokens) == (State.TOKENS, True)
    one.versions_told()
    assert state(one) is State.TOKENS


def test_a_session_lasts_for_ever_unless_something_ends_it() -> None:
    one = authenticator()
    assert log_in(one) == 0
    assert one.principal == "User:alice"
    assert not one.is_expired(1e12)
    assert not one.begin_renewal(5.0)


@pytest.mark.parametrize(
    ("config", "expires", "lifetime_ms"),
    [
        ({MAX: "6000"}, None, 6000),
        ({MAX: "6000", f"listener.name.sasl.plain.{MAX}": "500"}, None, 500),
        ({MAX: "6000", f"scram-sha-256.{MAX}": "500"}, None, 6000),
        ({}, 1_000_900, 900),
        ({MAX: "6000"}, 1_000_900, 900),
        ({MAX: "600"}, 1_000_900, 600),
        ({}, 999_000, 0),
    ],
)
def test_the_life_of_a_session(
    config: dict[str, str], expires: int | None, lifetime_ms: int
) -> None:
    one = authenticator(config, expires)
    assert log_in(one) == lifetime_ms
    assert not one.is_expired(lifetime_ms)
    assert one.is_expired(lifetime_ms + 0.001)


def test_a_session_is_renewed_once_a_second_at_the_most() -> None:
    one = authenticator({MAX: "6000"})
    log_in(one)
    assert one.begin_renewal(10.0)
    assert log_in(one, now_ms=10.0) == 6000
    assert not one.begin_renewal(1009.0)
    assert one.begin_renewal(1010.0)
    assert log_in(one, now_ms=1010.0) == 6000
    assert not one.is_expired(7010.0)
    assert one.is_expired(7011.0)


def test_a_session_keeps_its_principal() -> None:
    one = authenticator({MAX: "6000"})
    log_in(one)
    assert one.begin_renewal(10.0)
    one.choose("PLAIN", bare_tokens=False)
    with pytest.raises(SaslAuthenticationError) as told:
        one.evaluate(b"bob", 10.0, 0)
    assert str(told.value) == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )
    assert one.principal == "User:alice"


def test_a_session_keeps_its_mechanism() -> None:
    one = authenticator({MAX: "6000"})
    log_in(one)
    assert one.begin_renewal(10.0)
    one.choose("SCRAM-SHA-256", bare_tokens=False)
    assert (state(one), one.mechanism, one.wanted) == (
        State.OTHER_MECHANISM,
        "PLAIN",
        "SCRAM-SHA-256",
    )


def test_a_client_is_told_why_only_where_that_tells_nothing_of_others() -> None:
    one = authenticator()
    one.choose("PLAIN", bare_tokens=False)
    assert one.told(SaslAuthenticationError("a token too few")) == "a token too few"
    assert one.told(SaslError("no such user")) == (
        "Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism PLAIN"
    )
    one.renews = True
    assert "during re-authentication due" in one.told(SaslError("no such user"))


def test_mechanisms_are_told_in_the_order_of_a_hash_set() -> None:
    # As Apache Kafka 4.4.0 answered a handshake.
    names = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    told = ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER"]
    assert hash_set_order(names) == told
    assert hash_set_order(["PLAIN", "PLAIN"]) == ["PLAIN"]
