"""JoinGroup over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import JoinGroupResponse
from tests.support.core import Core
from tests.support.group_calls import join_group, join_request, stable_group


@pytest.mark.parametrize("version", range(10))
def test_every_version_comes_in(version: int) -> None:
    client = Core().client("consumer")
    request = join_request()
    if version == 0:
        request.rebalance_timeout_ms = -1
    response = client.call(request, version, JoinGroupResponse)
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert response.protocol_name == (None if version >= 7 else "")
        response = client.call(join_request(response.member_id), version, JoinGroupResponse)
    assert response.error_code == 0
    assert response.member_id.startswith("consumer-")
    assert response.leader == response.member_id
    assert response.protocol_name == "range"
    assert response.protocol_type == ("consumer" if version >= 7 else None)
    assert [one.member_id for one in response.members] == [response.member_id]


def test_a_join_is_parked_until_the_rebalance_completes() -> None:
    core = Core()
    leader, newcomer = core.client(), core.client()
    leader_id = stable_group(leader)
    given = newcomer.call(join_request(), 9, JoinGroupResponse).member_id
    newcomer.send(join_request(given), 9)
    assert newcomer.answered == 0
    response = leader.call(join_request(leader_id), 9, JoinGroupResponse)
    assert [one.member_id for one in response.members] == [leader_id, given]
    assert newcomer.receive(JoinGroupResponse).generation_id == response.generation_id == 2


def test_a_member_whose_connection_goes_while_it_waits_stays() -> None:
    core = Core()
    leader, newcomer = core.client(), core.client()
    leader_id = stable_group(leader)
    given = newcomer.call(join_request(), 9, JoinGroupResponse).member_id
    newcomer.send(join_request(given), 9)
    newcomer.disconnect()
    response = leader.call(join_request(leader_id), 9, JoinGroupResponse)
    assert [one.member_id for one in response.members] == [leader_id, given]


def test_a_lone_member_needs_no_time() -> None:
    assert join_group(Core().client()).generation_id == 1
