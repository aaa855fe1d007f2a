"""Heartbeat over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.core import Core
from tests.support.group_calls import stable_group


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_answered(version: int) -> None:
    client = Core().client()
    member_id = stable_group(client)
    alive = client.call(HeartbeatRequest("g", 1, member_id), version, HeartbeatResponse)
    assert alive == HeartbeatResponse()
    stranger = client.call(HeartbeatRequest("g", 1, "m"), version, HeartbeatResponse)
    assert stranger.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_without_heartbeats_a_session_ends() -> None:
    core = Core()
    client = core.client()
    member_id = stable_group(client)
    core.advance(10_000)
    response = client.call(HeartbeatRequest("g", 1, member_id), 4, HeartbeatResponse)
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
