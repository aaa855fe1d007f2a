"""What a run's data comes to otherwise is right, and a part that gets it wrong is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.timeouts import MemberTimeouts
from mockbroker.coordinator.group.offset_store import OffsetStore
from simulation.cluster.audits.rehearsals import wrong_rehearsals
from tests.support.simulated_groups import SimulatedGroup

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.member import Assigned
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


def test_a_partition_that_is_forgotten_with_its_former_owner_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forgets(self: ConsumerGroup, held: Assigned, epoch: int, step: int) -> None:
        for topic_id, partitions in held.items():
            for index in partitions:
                if step > 0:
                    self.partition_epochs[topic_id, index] = epoch
                else:
                    self.partition_epochs.pop((topic_id, index), None)

    monkeypatch.setattr(ConsumerGroup, "_count_partitions", forgets)
    assert "are taken over, and have {}" in told()
