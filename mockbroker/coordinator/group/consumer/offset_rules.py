"""Who may commit and fetch offsets of a consumer group (ConsumerGroup.validateOffsetCommit).

| commit comes from                      | outcome                                          |
|----------------------------------------|--------------------------------------------------|
| nobody (epoch < 0), the group is empty | written                                          |
| nobody in a transaction                | pending                                          |
| a stranger                             | 25                                               |
| a member of the protocol, below v9     | 35                                               |
| a member at its epoch                  | written                                          |
| a member at a later epoch              | 113; a classic one 22                            |
| a member at an earlier epoch           | written if each partition is since then; 113, 22 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.versions import OFFSET_COMMIT_MEMBER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember

_NOBODY = -1


def validate_commit(
    group: ConsumerGroup,
    member_id: str,
    group_instance_id: str | None,
    epoch: int,
    partitions: Iterable[tuple[bytes, int]],
    api_version: int | None,
) -> ErrorCode:
    """Whether a commit of these (topic id, partition) is; without a version, in a transaction."""
    if epoch < 0 and group.is_empty:
        return ErrorCode.NONE
    if api_version is None and epoch == _NOBODY and not member_id and group_instance_id is None:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if (
        api_version is not None
        and not member.is_classic
        and api_version < OFFSET_COMMIT_MEMBER_EPOCH
    ):
        return ErrorCode.UNSUPPORTED_VERSION
    return _validate_epoch(member, epoch, partitions)


def validate_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Whether a member that names itself may ask; nobody always may."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else _stale(member)


def _validate_epoch(
    member: ConsumerMember, epoch: int, partitions: Iterable[tuple[bytes, int]]
) -> ErrorCode:
    if epoch == member.epoch:
        return ErrorCode.NONE
    if epoch > member.epoch:
        return _stale(member)
    for topic_id, index in partitions:
        since = member.assignment_epoch(topic_id, index)
        if since is None or epoch < since:
            return _stale(member)
    return ErrorCode.NONE


def _stale(member: ConsumerMember) -> ErrorCode:
    return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH
