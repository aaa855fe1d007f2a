"""Refusals say what Kafka says."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer import refusal
from mockbroker_protocol.errors import ErrorCode


def test_each_has_its_error_and_names_what_it_is_about() -> None:
    made = [
        refusal.group_not_found("g"),
        refusal.not_a_consumer_group("g"),
        refusal.unknown_member("g", "m"),
        refusal.unknown_instance("i"),
        refusal.fenced_instance("i", "m", "o"),
        refusal.unreleased_instance("i", "m", "o"),
        refusal.fenced_epoch("greater", 5, 4),
    ]
    assert [one.error for one in made] == [
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
    ]
    assert made[2].message == "Member m is not a member of group g."
    assert "(5)" in (made[-1].message or "")
