"""ListGroups over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.group_admin import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from tests.support.core import Core
from tests.support.group_calls import stable_group


@pytest.mark.parametrize("version", range(6))
def test_every_version_lists(version: int) -> None:
    client = Core().client()
    assert client.call(ListGroupsRequest(), version, ListGroupsResponse).groups == []
    stable_group(client)
    response = client.call(ListGroupsRequest(), version, ListGroupsResponse)
    state = "Stable" if version >= 4 else ""
    group_type = "classic" if version >= 5 else ""
    assert response.groups == [ListedGroup("g", "consumer", state, group_type)]


def test_filters_are_applied() -> None:
    client = Core().client()
    stable_group(client)
    for states, types, count in ((["Empty"], [], 0), (["stable"], ["CLASSIC"], 1)):
        response = client.call(ListGroupsRequest(states, types), 5, ListGroupsResponse)
        assert len(response.groups) == count
