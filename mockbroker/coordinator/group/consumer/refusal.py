"""Why a request about a consumer group is refused: the error code and Kafka's words for it."""

from __future__ import annotations

from typing import NamedTuple

from mockbroker_protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """An error that the client sees; it is returned, never raised."""

    error: ErrorCode
    message: str | None = None


def group_not_found(group_id: str) -> Refusal:
    """There is no such group."""
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")


def not_a_consumer_group(group_id: str) -> Refusal:
    """The group is of another protocol."""
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")


def unknown_member(group_id: str, member_id: str) -> Refusal:
    """There is no such member."""
    return Refusal(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}."
    )


def unknown_instance(instance_id: str) -> Refusal:
    """There is no such static member."""
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")


def fenced_instance(instance_id: str, member_id: str, owner_id: str) -> Refusal:
    """The instance id belongs to another member id by now."""
    return Refusal(
        ErrorCode.FENCED_INSTANCE_ID,
        f"Static member {member_id} with instance id {instance_id} was fenced by member "
        f"{owner_id}.",
    )


def unreleased_instance(instance_id: str, member_id: str, owner_id: str) -> Refusal:
    """Whoever has the instance id has not left."""
    return Refusal(
        ErrorCode.UNRELEASED_INSTANCE_ID,
        f"Static member {member_id} with instance id {instance_id} cannot join the group because "
        f"the instance id is owned by {owner_id} member.",
    )


def unknown_state() -> Refusal:
    """A later Kafka wrote a state of the member that is not known here."""
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        "The consumer group member is in a unknown state. The member must abandon all its "
        "partitions and rejoin.",
    )


def fenced_epoch(kind: str, received: int, known: int) -> Refusal:
    """The member's epoch is `kind`, greater or smaller, than it should be."""
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {kind} member epoch ({received}) than the one known by "
        f"the group coordinator ({known}). The member must abandon all its partitions and rejoin.",
    )
