"""What an extension of the group protocol is told, and where it may change something.

`GroupCoordinatorService.hooks` holds one `GroupHooks`; the one here does nothing. A hook is called
in the step in which the thing happens, before the answers to it are given. To start a rebalance
from outside, call `GroupCoordinatorService.force_rebalance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker_protocol.messages.group_offsets import OffsetCommitRequestPartition


class GroupHooks:
    """Override what is wanted."""

    def on_generation(self, group_id: str, generation_id: int, member_ids: Iterable[str]) -> None:
        """A generation began; without members, the group is empty."""

    def on_member_removed(self, group_id: str, member_id: str) -> None:
        """A member left, failed, was dropped by a rebalance, or was replaced under a new id."""

    def on_sync(
        self,
        group_id: str,  # noqa: ARG002 -- for those who override it
        generation_id: int,  # noqa: ARG002
        assignments: dict[str, bytes],
    ) -> dict[str, bytes]:
        """The leader brought these assignments by member; what is returned is handed out."""
        return assignments

    def on_commit(
        self, group_id: str, member_id: str, topic: str, partition: OffsetCommitRequestPartition
    ) -> None:
        """A plain commit of one partition was written."""

    def on_offsets_removed(self, group_id: str, topic: str, partition_index: int) -> None:
        """A stored offset was deleted, or expired."""

    def on_group_deleted(self, group_id: str) -> None:
        """The group was deleted, or expired."""
