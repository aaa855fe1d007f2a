"""DescribeGroups over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse
from tests.support.core import Core
from tests.support.group_calls import stable_group


@pytest.mark.parametrize("version", range(7))
def test_every_version_describes(version: int) -> None:
    client = Core().client("consumer")
    member_id = stable_group(client)
    response = client.call(DescribeGroupsRequest(["g", "none"]), version, DescribeGroupsResponse)
    group, missing = response.groups
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (
        member_id,
        "consumer",
        "/127.0.0.1",
    )
    assert member.member_assignment == b"a"
    assert missing.group_state == "Dead"
    assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
    assert group.authorized_operations == -(2**31)


def test_authorized_operations_are_told_when_asked_for() -> None:
    client = Core().client()
    stable_group(client)
    request = DescribeGroupsRequest(["g", "none"], include_authorized_operations=True)
    response = client.call(request, 6, DescribeGroupsResponse)
    operations = [one.authorized_operations for one in response.groups]
    assert operations == [0b1101_0100_1000, -(2**31)]
