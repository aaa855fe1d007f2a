"""DeleteGroups over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from mockbroker_protocol.messages.group_membership import LeaveGroupRequest, LeaveGroupResponse
from tests.support.core import Core
from tests.support.group_calls import stable_group


@pytest.mark.parametrize("version", range(4))
def test_every_version_deletes(version: int) -> None:
    client = Core().client()
    member_id = stable_group(client, "left")
    client.call(LeaveGroupRequest("left", member_id), 2, LeaveGroupResponse)
    stable_group(client, "busy")
    request = DeleteGroupsRequest(["left", "busy", "none", "left"])
    response = client.call(request, version, DeleteGroupsResponse)
    assert response.results == [
        DeletableGroupResult("left", 0),
        DeletableGroupResult("busy", ErrorCode.NON_EMPTY_GROUP),
        DeletableGroupResult("none", ErrorCode.GROUP_ID_NOT_FOUND),
    ]


def test_nothing_to_delete_is_answered() -> None:
    response = Core().client().call(DeleteGroupsRequest([]), 3, DeleteGroupsResponse)
    assert response.results == []
