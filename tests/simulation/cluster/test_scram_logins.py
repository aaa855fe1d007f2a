"""Users of SCRAM log in by the credentials that there are; a broker that errs is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.apis import describe_user_scram_credentials
from mockbroker.metadata import scram_control
from mockbroker.metadata.topic_requests import ACCEPTED
from simulation.cluster.plan import LOGIN_LISTENER
from simulation.cluster.scram_logins import CONFIGURED, PASSWORDS, SPOILT, USERS, ScramUsers, log_in
from simulation.cluster.talks import talk
from simulation.world import World
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def world_of() -> World:
    return SimulatedCluster("logins").world


def altered(world: World, turns: int = 40) -> tuple[ScramUsers, list[str]]:
    """Users after some alterations, and what was wrong with the answers."""
    users = ScramUsers(world.cluster, Random(1))
    wrong = []
    for _ in range(turns):
        with talk(world, world.cluster.brokers[0], "PLAINTEXT") as one:
            wrong += [users.alter(one), users.describe(one)]
        world.operate(lambda: None)
    return users, [one for one in wrong if one]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_who_knows_the_password_is_served(mechanism: str) -> None:
    world = world_of()
    users, wrong = altered(world, 60)
    assert wrong == []
    broker = world.cluster.brokers[1]
    served = 0
    for user in (*USERS, "stan"):
        for password in PASSWORDS:
            with talk(world, broker, LOGIN_LISTENER) as one:
                login = log_in(one, mechanism, user, password)
            knows = users.knows(broker.services.metadata, mechanism, user, password)
            assert (login.served, login.wrong) == (knows, "")
            served += knows
            assert login.principal == f"User:{user}" or not knows
    assert served


@pytest.mark.parametrize("spoil", SPOILT)
def test_who_spoils_the_exchange_is_not_served(spoil: str) -> None:
    world = world_of()
    with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
        assert log_in(one, "SCRAM-SHA-256", *CONFIGURED).served
    with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
        assert not log_in(one, "SCRAM-SHA-256", *CONFIGURED, spoil=spoil).served


def test_alterations_that_are_lost_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mockbroker.apis.alter_user_scram_credentials.alter_scram_credentials",
        lambda _store, deletions, upsertions: (
            dict.fromkeys(one[0] for one in (*deletions, *upsertions))
            and {one[0]: ACCEPTED for one in (*deletions, *upsertions)}
        ),
    )
    assert any("is acknowledged" in one for one in altered(world_of())[1])


def test_what_is_taken_and_should_not_be_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scram_control, "MIN_ITERATIONS", 0)
    assert any("not 93" in one for one in altered(world_of())[1])


def test_users_that_are_not_told_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe_user_scram_credentials, "MECHANISMS", {})
    assert any("of users is told" in one for one in altered(world_of())[1])
