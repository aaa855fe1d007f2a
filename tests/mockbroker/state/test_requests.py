"""Which requests are meant, and why the others are not."""

from __future__ import annotations

import pytest

from mockbroker.state.requests import QueryError, RequestQuery
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.support.core import Core


@pytest.fixture
def core() -> Core:
    """A Metadata for topic orders by client svc-1, and a refused Heartbeat of group g by svc-2."""
    core = Core(topics={"orders": 1})
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    core.client("svc-1").call(request, 12, MetadataResponse)
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    core.client("svc-2").call(heartbeat, 4, HeartbeatResponse)
    return core


@pytest.mark.parametrize(
    ("query", "apis"),
    [
        (RequestQuery(), ["Metadata", "Heartbeat"]),
        (RequestQuery(api="Metadata"), ["Metadata"]),
        (RequestQuery(api=12), ["Heartbeat"]),
        (RequestQuery(client="svc-*"), ["Metadata", "Heartbeat"]),
        (RequestQuery(client="*2"), ["Heartbeat"]),
        (RequestQuery(connection=1), ["Metadata"]),
        (RequestQuery(topic="orders"), ["Metadata"]),
        (RequestQuery(group="g"), ["Heartbeat"]),
        (RequestQuery(transactional_id="tx"), []),
        (RequestQuery(error=True), ["Heartbeat"]),
        (RequestQuery(error=False), ["Metadata"]),
        (RequestQuery(error=ErrorCode.NONE), ["Metadata"]),
        (RequestQuery(error=ErrorCode.UNKNOWN_MEMBER_ID), ["Heartbeat"]),
        (RequestQuery(error="unknown_member_id"), ["Heartbeat"]),
        (RequestQuery(fault=True), []),
        (RequestQuery(fault=False), ["Metadata", "Heartbeat"]),
        (RequestQuery(fault="slow"), []),
        (RequestQuery(where=lambda served: served.api_version == 4), ["Heartbeat"]),
        (RequestQuery(api="Heartbeat", group="other"), []),
    ],
)
def test_a_query_finds(core: Core, query: RequestQuery, apis: list[str]) -> None:
    found = query.find(core.cluster.journal, 0)
    assert [served.api_name for served in found] == apis


def test_a_cursor_narrows_it(core: Core) -> None:
    assert RequestQuery().find(core.cluster.journal, core.cluster.journal.cursor()) == []


def test_the_nearest_come_first_with_what_does_not_fit(core: Core) -> None:
    query = RequestQuery(api="Heartbeat", group="other", client="svc-2")
    first, second = query.explain(core.cluster.journal, 0)
    assert first.endswith(" svc-2#2 Heartbeat v4 [g] UNKNOWN_MEMBER_ID: groups are ['g']")
    assert second.endswith("[orders] ok: api is Metadata, client is 'svc-1', groups are []")


def test_a_query_says_what_it_wants() -> None:
    assert str(RequestQuery(api="Fetch", group="g")) == "api='Fetch', group='g'"
    assert str(RequestQuery()) == "any request"
    with pytest.raises(QueryError, match="api: 'Fecth' is unknown; allowed: a number or one of"):
        RequestQuery(api="Fecth")
    with pytest.raises(QueryError, match="error: 'NO_LEADER' is no error of Kafka; allowed: true"):
        RequestQuery(error="NO_LEADER")


@pytest.mark.parametrize("api", ["DescribeIndividualCommits", 19701, "BrokerHeartbeat", 62])
def test_requests_of_the_extension_and_of_controllers_are_asked_for_too(api: str | int) -> None:
    assert str(RequestQuery(api=api)) == f"api={api!r}"
