"""Groups are founded by both protocols at once, and who is let in is told an id."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.join import JoinHandler
from mockbroker_protocol.messages.group_membership import JoinGroupResponse
from simulation.cluster.founders import Founder
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from mockbroker.coordinator.group.members import ClientIdentity, JoinCallback
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker_protocol.messages.group_membership import JoinGroupRequest

pytestmark = pytest.mark.sim


def told(monkeypatch: pytest.MonkeyPatch) -> tuple[set[int], list[str]]:
    """The errors of joins, and what is wrong."""
    simulated = SimulatedCluster()
    world, errors = simulated.world, set[int]()
    founder = Founder(world, "founder", Random(1), simulated.truth, simulated.plan)
    monkeypatch.setattr(
        founder,
        "note",
        lambda what: errors.add(int(what[6:])) if what.startswith("join: ") else None,
    )
    founder.start()
    world.run_for(4_000)
    assert founder.founded > 8
    return errors, world.violations


def test_a_group_may_be_gone_before_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    errors, violations = told(monkeypatch)
    assert 15 in errors
    assert 79 in errors or 0 in errors
    assert violations == []


def test_who_is_let_into_no_group_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def join(
        self: JoinHandler,
        shard: GroupShard,
        request: JoinGroupRequest,
        client: ClientIdentity,
        on_complete: JoinCallback,
    ) -> None:
        del self, shard, request, client
        on_complete(JoinGroupResponse())

    monkeypatch.setattr(JoinHandler, "join", join)
    assert "is told no id" in told(monkeypatch)[1][0]
