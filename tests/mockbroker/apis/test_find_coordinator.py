"""FindCoordinator over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.support.core import Core

SHARE_KEY = "group:AAAAAAAAAAAAAAAAAAAAAQ:3"


@pytest.mark.parametrize("version", range(4))
def test_one_coordinator_below_version_4(version: int) -> None:
    core = Core()
    request = FindCoordinatorRequest(key="g")
    response = core.client().call(request, version, FindCoordinatorResponse)
    assert response.error_code == 0
    assert (response.host, response.port) == ("127.0.0.1", 9092)
    assert response.node_id == core.broker.services.broker_id
    assert response.error_message == ("NONE" if version >= 1 else "")


@pytest.mark.parametrize("version", [4, 5, 6])
def test_one_coordinator_a_key_from_version_4_on(version: int) -> None:
    core = Core()
    request = FindCoordinatorRequest(coordinator_keys=["g", "h", ""])
    response = core.client().call(request, version, FindCoordinatorResponse)
    assert [one.key for one in response.coordinators] == ["g", "h", ""]
    assert {(one.error_code, one.error_message) for one in response.coordinators} == {(0, "")}
    assert {one.node_id for one in response.coordinators} == {core.broker.services.broker_id}


@pytest.mark.parametrize(
    ("key_type", "key", "topic"),
    [
        (0, "g", "__consumer_offsets"),
        (1, "tx", "__transaction_state"),
        (2, SHARE_KEY, "__share_group_state"),
        (2, f"a:b:{SHARE_KEY}", "__share_group_state"),
    ],
)
def test_the_internal_topic_is_made_on_first_use(key_type: int, key: str, topic: str) -> None:
    core = Core()
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    response = core.client().call(request, 6, FindCoordinatorResponse)
    assert response.coordinators[0].error_code == 0
    assert topic in core.cluster.metadata.topics


@pytest.mark.parametrize(
    ("version", "key_type", "key"),
    [
        (6, 3, "g"),
        (6, -1, "g"),
        (5, 2, SHARE_KEY),
        (6, 2, "group"),
        (6, 2, "g:short:0"),
        (6, 2, SHARE_KEY[5:]),
    ],
)
def test_what_is_no_key_is_an_invalid_request(version: int, key_type: int, key: str) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    response = Core().client().call(request, version, FindCoordinatorResponse)
    (answer,) = response.coordinators
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (answer.node_id, answer.host, answer.port) == (-1, "", -1)
    assert bool(answer.error_message) == (key_type != 2)


def test_without_its_topic_a_coordinator_is_not_available() -> None:
    core = Core(config={"offsets.topic.replication.factor": "3"})
    request = FindCoordinatorRequest(key="g")
    response = core.client().call(request, 3, FindCoordinatorResponse)
    assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert response.error_message == "The coordinator is not available."
    assert (response.node_id, response.host, response.port) == (-1, "", -1)
