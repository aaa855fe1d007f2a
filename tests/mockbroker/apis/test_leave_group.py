"""LeaveGroup over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from tests.support.core import Core
from tests.support.group_calls import stable_group


@pytest.mark.parametrize("version", [0, 1, 2])
def test_below_version_3_one_member_leaves(version: int) -> None:
    client = Core().client()
    member_id = stable_group(client)
    for expected in (0, ErrorCode.UNKNOWN_MEMBER_ID):
        request = LeaveGroupRequest(group_id="g", member_id=member_id)
        assert client.call(request, version, LeaveGroupResponse).error_code == expected


@pytest.mark.parametrize("version", [3, 4, 5])
def test_from_version_3_on_each_member_has_its_own_answer(version: int) -> None:
    client = Core().client()
    member_id = stable_group(client)
    asked = [MemberIdentity(member_id), MemberIdentity("", "i")]
    response = client.call(LeaveGroupRequest("g", members=asked), version, LeaveGroupResponse)
    assert response.error_code == 0
    assert response.members == [
        MemberResponse(member_id, None, 0),
        MemberResponse("", "i", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


def test_an_empty_group_id_is_an_error_of_the_whole() -> None:
    response = Core().client().call(LeaveGroupRequest(""), 5, LeaveGroupResponse)
    assert response.error_code == ErrorCode.INVALID_GROUP_ID
