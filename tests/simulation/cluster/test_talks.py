"""A talk past the network: answers at once, or none."""

from __future__ import annotations

import pytest

from simulation.cluster.plan import LOGIN_LISTENER
from simulation.cluster.talks import talk
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def test_who_logs_in_is_served() -> None:
    world = SimulatedCluster("logins").world
    with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
        assert not one.is_served()
    with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
        chosen = one.choose("PLAIN")
        assert chosen is not None
        assert "SCRAM-SHA-256" in chosen.mechanisms
        answer = one.token(b"\0alice\0alice-secret")
        assert answer is not None
        assert answer.session_lifetime_ms == 60_000
        assert one.is_served()
        assert one.principal == "User:alice"


def test_tokens_come_bare_after_a_handshake_of_before() -> None:
    world = SimulatedCluster("logins").world
    with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
        one.choose("PLAIN", 0)
        assert one.bare_token(b"\0alice\0alice-secret") == b""
        assert one.is_served()
    with talk(world, world.cluster.brokers[0], LOGIN_LISTENER) as one:
        one.choose("PLAIN", 0)
        assert one.bare_token(b"\0alice\0wrong") is None


def test_where_nobody_has_to_log_in_all_are_served() -> None:
    world = SimulatedCluster("logins").world
    with talk(world, world.cluster.brokers[0], "PLAINTEXT") as one:
        assert one.is_served()
        assert one.principal == "User:ANONYMOUS"
