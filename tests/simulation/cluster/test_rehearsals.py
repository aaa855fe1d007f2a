"""What a run's data comes to otherwise is right, and a part that gets it wrong is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.consumer.timeouts import MemberTimeouts
from mockbroker.coordinator.group.offset_store import OffsetStore
from simulation.cluster.rehearsals import wrong_rehearsals
from tests.support.simulated_groups import SimulatedGroup

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.shard import GroupShard

pytestmark = pytest.mark.sim


def told() -> str:
    group = SimulatedGroup("consumer", 2)
    group.world.run_for(1_500)
    rng = Random(1)
    return " ".join(
        wrong for broker in group.world.cluster.brokers for wrong in wrong_rehearsals(broker, rng)
    )


def test_all_comes_out_right() -> None:
    assert told() == ""


def test_a_transaction_that_takes_a_later_commit_back_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OffsetStore, "get", lambda *_: None)
    assert "told anew with transactions, is kept None" in told()


@pytest.mark.parametrize("always", [False, True])
def test_who_is_fenced_wrongly_is_noticed(always: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = MemberTimeouts.schedule_rebalance_timeout

    def spoilt(
        self: MemberTimeouts, shard: GroupShard, group: ConsumerGroup, member_id: str
    ) -> None:
        if always:
            self._fence(shard, group.group_id, member_id, lambda: None)
        else:
            schedule(self, shard, group, member_id)
            self.cancel_rebalance_timeout(group, member_id)

    monkeypatch.setattr(MemberTimeouts, "schedule_rebalance_timeout", spoilt)
    assert "are fenced" in told()
