"""SyncGroup over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.support.core import Core
from tests.support.group_calls import join_group


@pytest.mark.parametrize("version", range(6))
def test_every_version_takes_its_assignment(version: int) -> None:
    client = Core().client()
    member_id = join_group(client).member_id
    request = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id, b"mine")],
    )
    response = client.call(request, version, SyncGroupResponse)
    assert (response.error_code, response.assignment) == (0, b"mine")
    assert response.protocol_name == ("range" if version >= 5 else None)


@pytest.mark.parametrize(("protocol_type", "protocol_name"), [(None, "range"), ("consumer", None)])
def test_version_5_must_name_the_protocol(
    protocol_type: str | None, protocol_name: str | None
) -> None:
    client = Core().client()
    request = SyncGroupRequest("g", 1, "m", None, protocol_type, protocol_name)
    response = client.call(request, 5, SyncGroupResponse)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
