"""What is told of a denial, and what of it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from mockbroker.apis.authorization_audit import MOST_TOLD, Audit
from mockbroker.apis.context import MADE_AT_ONCE
from mockbroker.journal import Authorization
from mockbroker.metadata.acls import Permission
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import NewPartitions
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.group_admin import ListGroupsRequest, ListGroupsResponse
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mockbroker_protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    TopicRequest,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.support.acls import CLUSTER, TOPIC, add, deny, guarded_core
from tests.support.core import Core

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext

DENY, ALLOW = Permission.DENY, Permission.ALLOW
DESCRIBE, READ = AclOperation.DESCRIBE, AclOperation.READ
OFFSETS = ListOffsetsRequest(
    -1,
    0,
    [
        ListOffsetsTopic("shut", [ListOffsetsPartition(0), ListOffsetsPartition(1)]),
        ListOffsetsTopic("open", [ListOffsetsPartition(0)]),
    ],
)
SHUT = (
    "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=shut, patternType=LITERAL, "
    "principal=User:ANONYMOUS, host=*, operation=DESCRIBE, permissionType=DENY))"
)


def told(core: Core) -> list[Authorization]:
    return [one for one in core.cluster.journal.events() if isinstance(one, Authorization)]


def test_a_denied_topic_is_told_once_with_how_often_it_was_named() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", DESCRIBE)
    core.client("app").call(OFFSETS, 5, ListOffsetsResponse)
    (event,) = told(core)
    assert (event.allowed, event.operation, event.api_name) == (False, "DESCRIBE", "ListOffsets")
    assert (event.resource_type, event.resource_name) == ("Topic", "shut")
    assert (event.resource_ref_count, event.rule) == (2, SHUT)
    assert (event.principal, event.client_id) == ("User:ANONYMOUS", "app")
    host = event.peer.removeprefix("/")
    assert event.message == (
        f"Principal = User:ANONYMOUS is Denied operation = DESCRIBE from host = {host} "
        "on resource = Topic:LITERAL:shut for request = ListOffsets with resourceRefCount = 2 "
        f"based on rule {SHUT}"
    )
    assert core.broker.services.authorizer is not None
    assert core.broker.services.authorizer.denied == 1
    assert core.broker.metrics()["mockbroker:type=AuthorizerMetrics,name=AuthorizationsDenied"] == 1


def test_what_filters_a_list_is_not_told() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", DESCRIBE)
    add(core, CLUSTER, "kafka-cluster", (DESCRIBE, DENY))
    client = core.client("app")
    every = client.call(MetadataRequest(None), 9, MetadataResponse)
    assert [topic.name for topic in every.topics] == ["open"]
    client.call(ListGroupsRequest(), 4, ListGroupsResponse)
    assert told(core) == []
    client.call(MetadataRequest([MetadataRequestTopic(ZERO_UUID, "shut")]), 9, MetadataResponse)
    assert [event.resource_name for event in told(core)] == ["shut"]


def test_what_is_allowed_is_told_to_those_who_ask_and_kept_nowhere() -> None:
    core = guarded_core()
    add(core, TOPIC, "open", (DESCRIBE, ALLOW))
    journal = core.cluster.journal
    heard: list[object] = []
    client = core.client("app")
    client.call(OFFSETS, 5, ListOffsetsResponse)
    journal.listen(heard.append, allowed=True)
    client.call(OFFSETS, 5, ListOffsetsResponse)
    first, second = [one for one in heard if isinstance(one, Authorization)]
    assert first.allowed
    assert second.allowed
    rules = {first.resource_name: first.rule, second.resource_name: second.rule}
    assert rules["open"].startswith("MatchingAcl(")
    assert rules["shut"] == "DefaultAllow"
    assert told(core) == []


def test_each_fetch_of_a_session_tells_of_each_topic_once() -> None:
    core = guarded_core()
    client = core.client("app")
    heard: list[object] = []
    core.cluster.journal.listen(heard.append, allowed=True)

    def poll(session_id: int, epoch: int, *names: str) -> FetchResponse:
        partitions = [FetchRequestPartition(index) for index in (0, 1)]
        topics = [FetchRequestTopic(name, ZERO_UUID, partitions) for name in names]
        heard.clear()
        asked = FetchRequest(-1, 0, session_id=session_id, session_epoch=epoch, topics=topics)
        return client.call(asked, 12, FetchResponse)

    def told_of() -> list[tuple[str, bool, int]]:
        events = [one for one in heard if isinstance(one, Authorization)]
        return [(one.resource_name, one.allowed, one.resource_ref_count) for one in events]

    core.act(
        lambda: core.broker.services.controller.create_partitions(
            [NewPartitions(name, 2) for name in ("open", "shut")]
        )
    )
    session_id = poll(0, 0, "open", "shut").session_id
    assert told_of() == [("open", True, 2), ("shut", True, 2)]
    poll(session_id, 1)
    assert told_of() == [("open", True, 2), ("shut", True, 2)]
    deny(core, TOPIC, "shut", READ)
    for epoch in (2, 3):
        poll(session_id, epoch)
        assert told_of() == [("open", True, 2), ("shut", False, 2)]


def test_nothing_noted_is_nothing_told() -> None:
    core = guarded_core()
    authorizer = core.broker.services.authorizer
    assert authorizer is not None
    ctx = cast("RequestContext", None)  # never looked at
    Audit(authorizer, core.cluster.journal, ctx).tell()
    assert authorizer.denied == 0


@pytest.mark.parametrize("named", [MADE_AT_ONCE + 10, MOST_TOLD + 10])
def test_denials_of_many_topics_are_counted_and_told_up_to_a_bound(named: int) -> None:
    core = guarded_core(**{"allow.everyone.if.no.acl.found": "false"})
    names = [TopicRequest(f"topic-{index}") for index in range(named)]
    core.client().call(
        DescribeTopicPartitionsRequest(names, 2000), 0, DescribeTopicPartitionsResponse
    )
    assert len(told(core)) == min(named, MOST_TOLD)
    assert core.broker.services.authorizer is not None
    assert core.broker.services.authorizer.denied == named


def test_denials_of_a_page_of_all_topics_are_told() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", DESCRIBE)
    request = DescribeTopicPartitionsRequest([], 2000)
    core.client().call(request, 0, DescribeTopicPartitionsResponse)
    assert [event.resource_name for event in told(core)] == ["shut"]
