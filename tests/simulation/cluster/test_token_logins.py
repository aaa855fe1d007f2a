"""Delegation tokens are made, changed and shown by the rules; each broken rule is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.apis import create_delegation_token, renew_delegation_token
from mockbroker.apis.context import Services
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.plan import LOGIN_LISTENER
from simulation.cluster.scram_logins import log_in
from simulation.cluster.talks import talk
from simulation.cluster.token_logins import DelegationTokens
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from simulation.world import World

pytestmark = pytest.mark.sim


def told(world: World, turns: int = 120) -> tuple[DelegationTokens, list[str]]:
    """The tokens after some time, and what was wrong."""
    tokens, wrong = DelegationTokens(world.cluster, Random(1)), list[str]()
    for turn in range(turns):
        name = ("alice", "admin")[turn % 2]
        with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
            one.choose("PLAIN")
            one.token(f"\0{name}\0{name}-secret".encode())
            wrong.append(tokens.act(one, f"User:{name}"))
        with talk(world, world.cluster.brokers[0], "PLAINTEXT") as one:
            wrong.append(tokens.is_refused(one))
        world.run_for(20)
    return tokens, [one for one in wrong if one]


def test_tokens_by_the_rules_are_in_order() -> None:
    world = SimulatedCluster("logins").world
    tokens, wrong = told(world)
    assert wrong == []
    assert len(tokens.made) > 10
    good = [one for one in tokens.made if tokens.is_good(world.cluster.brokers[1], one)]
    assert 0 < len(good) < len(tokens.made)
    for token in (good[-1], next(one for one in tokens.made if one not in good)):
        with talk(world, world.cluster.brokers[1], LOGIN_LISTENER) as one:
            login = log_in(one, "SCRAM-SHA-256", token.token_id, token.password, token=True)
            assert login.served is (token in good)
            if login.served:
                assert login.principal == token.owner
                assert tokens.is_refused(one) == ""


@pytest.mark.parametrize(
    ("where", "name", "instead", "wrong"),
    [
        (Services, "may_ask_for_tokens", lambda *_: True, "and is answered"),
        (create_delegation_token, "_owner", lambda *_: "User:eve", "asks for a token"),
        (DelegationToken, "is_of", lambda *_: True, "not 63"),
        (renew_delegation_token, "renew_token", lambda *_: (ErrorCode.NONE, 5), "and is answered"),
        (DelegationToken, "is_shown_to", lambda *_: True, "is told"),
    ],
)
def test_a_broken_rule_is_noticed(
    where: object, name: str, instead: object, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, instead)
    _, found = told(SimulatedCluster("logins").world)
    assert any(wrong in one for one in found)
