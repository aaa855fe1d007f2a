"""A broker of another process is told what it must be, and notices when it is not."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.quorum.remote_brokers import Heartbeat, RemoteBrokers
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster import outside_brokers
from simulation.cluster.metadata_followers import start_quorum
from simulation.cluster.outside_brokers import NODE_ID, OutsideBroker
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def lived() -> list[str]:
    """What is wrong when one lives at a controller."""
    world = SimulatedCluster("quorum").world
    start_quorum(world)
    OutsideBroker(world, Random(1)).live()
    assert NODE_ID not in world.cluster.metadata.brokers or world.violations
    return world.violations


def test_a_good_controller_has_nothing_wrong() -> None:
    assert not lived()


def test_a_heartbeat_that_is_answered_whatever_it_says_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RemoteBrokers, "check_epoch", lambda *_: ErrorCode.NONE)
    monkeypatch.setattr(
        RemoteBrokers, "heartbeat", lambda *_, **__: Heartbeat(ErrorCode.NONE, True, False)
    )
    told = lived()
    assert any("a stranger's heartbeat" in wrong for wrong in told)
    assert any("fenced" in wrong for wrong in told)


def test_a_session_that_lasts_longer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_brokers, "SESSION_TIMEOUT_MS", 100)
    assert any("fenced after its session is False" in wrong for wrong in lived())


def test_registrations_that_are_not_refused_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteBrokers, "_refuse", lambda *_: ErrorCode.NONE)
    assert any("the refusal is (0," in wrong for wrong in lived())
