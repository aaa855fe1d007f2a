"""Extensions are told what happens, and may change assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.hooks import GroupHooks
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from tests.support.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker_protocol.messages.group_offsets import OffsetCommitRequestPartition


class Listener(GroupHooks):
    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def on_generation(self, group_id: str, generation_id: int, member_ids: Iterable[str]) -> None:
        self.told.append(("generation", group_id, generation_id, *member_ids))

    def on_member_removed(self, group_id: str, member_id: str) -> None:
        self.told.append(("removed", group_id, member_id))

    def on_sync(
        self, group_id: str, generation_id: int, assignments: dict[str, bytes]
    ) -> dict[str, bytes]:
        self.told.append(("sync", group_id, generation_id))
        return {member_id: data.upper() for member_id, data in assignments.items()}

    def on_commit(
        self, group_id: str, member_id: str, topic: str, partition: OffsetCommitRequestPartition
    ) -> None:
        self.told.append(("commit", group_id, topic, partition.committed_offset))

    def on_offsets_removed(self, group_id: str, topic: str, partition_index: int) -> None:
        self.told.append(("offset removed", group_id, topic, partition_index))

    def on_group_deleted(self, group_id: str) -> None:
        self.told.append(("deleted", group_id))


def test_a_listener_hears_the_life_of_a_group() -> None:
    groups = Groups()
    listener = groups.service.hooks = Listener()
    member_id = groups.join(version=3).value.member_id
    synced = groups.sync(member_id, 1, {member_id: b"abc"})
    assert synced.value.assignment == b"ABC"
    groups.commit(5, member_id=member_id, generation_id=1)
    groups.leave((member_id, None))
    groups.service.delete_group("g", lambda _error: None)
    assert listener.told == [
        ("generation", "g", 1, member_id),
        ("sync", "g", 1),
        ("commit", "g", "t", 5),
        ("removed", "g", member_id),
        ("generation", "g", 2),
        ("offset removed", "g", "t", 0),
        ("deleted", "g"),
    ]


def test_by_default_nothing_changes() -> None:
    hooks = GroupHooks()
    assert hooks.on_sync("g", 1, {"m": b"a"}) == {"m": b"a"}


def test_a_rebalance_can_be_forced() -> None:
    groups = Groups()
    assert not groups.service.force_rebalance("g")
    (member_id,) = groups.stable(1)
    assert groups.service.force_rebalance("g")
    assert groups.group().state is GroupState.PREPARING_REBALANCE
    assert groups.heartbeat(member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert not groups.service.force_rebalance("g")
