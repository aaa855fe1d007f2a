"""ListGroups, DescribeGroups and DeleteGroups: groups seen from outside.

Source: GroupMetadataManager.listGroups and describeGroups, GroupCoordinatorShard.deleteGroups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import (
    DescribedGroup,
    DescribedGroupMember,
    ListedGroup,
)
from mockbroker_protocol.versions import DESCRIBE_GROUPS_NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.shard import GroupShard


def list_groups(
    shards: Iterable[GroupShard], states_filter: list[str], types_filter: list[str]
) -> Iterator[ListedGroup]:
    """The groups that pass both filters; an empty filter lets all pass, case does not matter.

    It is settled now which there are; what is told of one is made as it is taken.
    """
    states = {state.strip().lower() for state in states_filter}
    types = {group_type.lower() for group_type in types_filter}
    there = [group for shard in shards for group in shard.told_groups()]
    return (
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state_name,
            group_type=group.group_type,
        )
        for group in there
        if (not states or group.state_name.lower() in states)
        and (not types or group.group_type in types)
    )


def describe_group(shard: GroupShard, group_id: str, api_version: int) -> DescribedGroup:
    """A group with its members; one that is not there is Dead, and from v6 on an error too."""
    group = shard.told_classic_group(group_id)
    if group is None:
        if api_version < DESCRIBE_GROUPS_NOT_FOUND:
            return DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
        return DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=_missing(shard, group_id),
            group_id=group_id,
            group_state=GroupState.DEAD.value,
        )
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=_describe_members(group, is_stable),
    )


def _missing(shard: GroupShard, group_id: str) -> str:
    if group_id in shard.consumer_groups:
        return f"Group {group_id} is not a classic group."
    return f"Group {group_id} not found."


def _describe_members(group: ClassicGroup, is_stable: bool) -> list[DescribedGroupMember]:
    # Which metadata counts is known in Stable only.
    return [
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(group.protocol_name or "") if is_stable else b"",
            member_assignment=member.assignment,
        )
        for member in group.members.values()
    ]


def delete_group(
    shard: GroupShard, group_id: str, on_complete: Callable[[ErrorCode], None]
) -> None:
    """Delete an empty group and its offsets: 69 when there is none, 68 when it has members.

    The writes before it come first: if they are not replicated in time, nothing is deleted
    (GroupCoordinatorService.deleteGroups asks about share groups before by a write of its own).
    """

    def replicated(error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            _delete_group(shard, group_id, on_complete)
        else:
            on_complete(error)

    shard.write([], replicated)


def _delete_group(
    shard: GroupShard, group_id: str, on_complete: Callable[[ErrorCode], None]
) -> None:
    group = shard.groups.get(group_id) or shard.consumer_groups.get(group_id)
    refusal = ErrorCode.NONE
    if group is None:
        refusal = ErrorCode.GROUP_ID_NOT_FOUND
    elif not group.is_empty:
        refusal = ErrorCode.NON_EMPTY_GROUP
    records = [] if refusal else shard.tombstones(group_id)
    shard.write(records, lambda error: on_complete(error or refusal))
