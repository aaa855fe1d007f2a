"""Groups seen from outside: lists, descriptions, deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.shard import GroupShard
from mockbroker.coordinator.group.views import delete_group
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import ListedGroup
from tests.support.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Callable


def listed(groups: Groups, states: list[str], types: list[str]) -> set[str]:
    return {one.group_id for one in groups.service.list_groups(states, types)}


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        ([], [], {"stable", "empty", "simple"}),
        (["Stable"], [], {"stable"}),
        ([" stable ", "EMPTY"], [], {"stable", "empty", "simple"}),
        (["Dead"], [], set()),
        ([], ["Classic"], {"stable", "empty", "simple"}),
        ([], ["consumer"], set()),
        ([], ["nonsense"], set()),
        (["Empty"], ["classic"], {"empty", "simple"}),
    ],
)
def test_filters(states: list[str], types: list[str], expected: set[str]) -> None:
    groups = Groups()
    groups.stable(1, group_id="stable")
    (left,) = groups.stable(1, group_id="empty")
    groups.leave((left, None), group_id="empty")
    groups.commit(1, group_id="simple")
    assert listed(groups, states, types) == expected


def test_what_a_list_shows() -> None:
    groups = Groups()
    groups.stable(1, group_id="stable")
    groups.commit(1, group_id="simple")
    shown = {one.group_id: one for one in groups.service.list_groups([], [])}
    assert shown["stable"] == ListedGroup("stable", "consumer", "Stable", "classic")
    assert shown["simple"] == ListedGroup("simple", "", "Empty", "classic")


def test_a_stable_group_is_described_with_metadata() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    group = groups.service.describe_group("g", 6)
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    shown = {one.member_id: one for one in group.members}
    assert list(shown) == [leader, follower]
    assert shown[leader].client_id == "c"
    assert shown[leader].client_host == "/127.0.0.1"
    assert shown[leader].member_metadata == b"r"
    assert shown[leader].member_assignment == b"for 0"


def test_a_group_that_rebalances_is_described_without_metadata() -> None:
    groups = Groups()
    leader, _ = groups.stable(2)
    groups.join(leader)
    group = groups.service.describe_group("g", 6)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert {one.member_metadata for one in group.members} == {b""}


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [(5, 0, None), (6, ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found.")],
)
def test_a_group_that_is_not_there_is_dead(version: int, error: int, message: str | None) -> None:
    group = Groups().service.describe_group("none", version)
    assert (group.group_state, group.error_code, group.error_message) == ("Dead", error, message)


def deleted(groups: Groups, group_id: str = "g") -> list[ErrorCode]:
    errors: list[ErrorCode] = []
    groups.service.delete_group(group_id, errors.append)
    return errors


def test_an_empty_group_is_deleted_with_its_positions() -> None:
    groups = Groups()
    groups.commit(1)
    groups.commit(1, partition=1)
    assert deleted(groups) == [ErrorCode.NONE]
    assert groups.fetched() == {}
    assert list(groups.service.list_groups([], [])) == []
    assert [record.value is None for record in groups.records()] == [False, False, True, True, True]


def test_only_empty_groups_are_deleted() -> None:
    groups = Groups()
    groups.stable(1)
    assert deleted(groups) == [ErrorCode.NON_EMPTY_GROUP]
    assert deleted(groups, "none") == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_ids_that_were_handed_out_go_with_their_group() -> None:
    groups = Groups()
    pending = groups.new_id()
    assert deleted(groups) == [ErrorCode.NONE]
    assert groups.join(pending).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_refused_deletion_waits_for_what_it_was_decided_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = Groups()
    shard = groups.shard()
    held: list[Callable[[ErrorCode], None]] = []

    def hold(_shard: object, _records: object, done: Callable[[ErrorCode], None]) -> None:
        held.append(done)

    monkeypatch.setattr(GroupShard, "write", hold)
    answers: list[ErrorCode] = []
    delete_group(shard, "none", answers.append)
    for waits in (1, 2):
        assert (len(held), answers) == (waits, [])
        held[-1](ErrorCode.NONE)
    assert answers == [ErrorCode.GROUP_ID_NOT_FOUND]
