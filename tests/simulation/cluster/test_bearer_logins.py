"""Bearer tokens let in whose they are, and nobody else; a broker that errs is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.security import oauthbearer, signed_jws, unsecured_jws
from mockbroker.security.bearer_token import Token
from simulation.cluster.bearer_logins import BearerLogins
from simulation.cluster.plan import LOGIN_LISTENER, SIGNED_LISTENER
from simulation.cluster.talks import talk
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim

LISTENERS = LOGIN_LISTENER, SIGNED_LISTENER


def told(listener: str, turns: int = 150, *, own: bool = False) -> list[str]:
    world = SimulatedCluster("logins").world
    logins = BearerLogins(world, Random(1), LISTENERS)
    wrong = []
    for turn in range(turns):
        broker = world.cluster.brokers[turn % 3]
        with talk(world, broker, listener) as one:
            if own:
                wrong.append(logins.log_in_with_an_own(one, broker, listener))
            else:
                wrong.append(logins.log_in(one, listener))
        world.run_for(7)
    return [one for one in wrong if one]


@pytest.mark.parametrize("listener", LISTENERS)
def test_tokens_by_the_rules_are_in_order(listener: str) -> None:
    assert told(listener) == []
    assert told(listener, 10, own=True) == []


def test_a_signature_that_is_not_checked_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed_jws, "check_signature", lambda *_: None)
    assert any("with another signature" in one for one in told(SIGNED_LISTENER))


def test_a_scope_that_is_not_checked_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (signed_jws, unsecured_jws):
        monkeypatch.setattr(module, "check_scope", lambda *_: None)
    for listener in LISTENERS:
        assert any("scope" in one for one in told(listener))


def test_a_token_of_another_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsecured_jws, "_text", lambda *_: "eve")
    assert any("is of User:eve" in one for one in told(LOGIN_LISTENER))


def test_a_life_that_is_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsecured_jws, "Token", lambda name, _: Token(name, 1 << 50))
    assert any("a session of" in one for one in told(LOGIN_LISTENER))


def test_who_is_let_in_behind_an_error_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def completes(self: oauthbearer.OAuthBearerServer, _token: bytes) -> bytes:
        self.authorization_id, self.complete = "eve", True
        return b""

    monkeypatch.setattr(oauthbearer.OAuthBearerServer, "evaluate", completes)
    assert told(LOGIN_LISTENER)
