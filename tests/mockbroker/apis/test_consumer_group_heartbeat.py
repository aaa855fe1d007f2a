"""ConsumerGroupHeartbeat over the wire."""

from __future__ import annotations

import pytest

from mockbroker.metadata.acls import AclFilter, Permission
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from mockbroker_protocol.plan import encode
from tests.support.acls import TOPIC, add, deny, guarded_core
from tests.support.core import Core


@pytest.mark.parametrize("version", [0, 1])
def test_every_version_joins_stays_and_leaves(version: int) -> None:
    client = Core(topics={"t": 2}).client("consumer")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m" if version else "",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    response = client.call(request, version, ConsumerGroupHeartbeatResponse)
    assert (response.error_code, response.member_epoch) == (0, 2)
    assert response.assignment is not None
    assert response.assignment.topic_partitions[0].partitions == [0, 1]
    member_id = response.member_id or ""
    stay = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=2)
    assert client.call(stay, version, ConsumerGroupHeartbeatResponse).assignment is None
    leave = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=-1)
    assert client.call(leave, version, ConsumerGroupHeartbeatResponse).member_epoch == -1


def test_a_bad_request_is_answered() -> None:
    client = Core().client()
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m")
    response = client.call(request, 1, ConsumerGroupHeartbeatResponse)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == "RebalanceTimeoutMs must be provided in first request."


def beat(core: Core, member_id: str, regex: str | None, epoch: int = 0) -> int:
    """The member's epoch."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=1000 if regex else -1,
        subscribed_topic_regex=regex,
        topic_partitions=[] if regex else None,
    )
    response = core.client().call(request, 1, ConsumerGroupHeartbeatResponse)
    assert response.error_code == 0
    return response.member_epoch


def resolved(core: Core) -> dict[str, set[str]]:
    """The topics of each expression of the group."""
    shard = core.broker.services.groups.service.runtime.shard_for("g")
    assert shard is not None
    group = shard.consumer_groups["g"]
    return {regex: set(one.topics) for regex, one in group.resolved.items()}


def test_an_expression_leaves_out_topics_that_may_not_be_described() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.DESCRIBE)
    assert beat(core, "m", ".*(n|t)") == 1
    assert resolved(core) == {".*(n|t)": {"open"}}
    authorizer = core.broker.services.authorizer
    assert authorizer is not None
    assert authorizer.denied == 0, "to leave out is not to deny"


def test_rights_that_change_count_when_expressions_are_looked_at_again() -> None:
    core = guarded_core()
    add(core, TOPIC, "shut", (AclOperation.READ, Permission.DENY))
    beat(core, "m", "open|shut")
    assert resolved(core) == {"open|shut": {"open"}}
    core.broker.services.controller.delete_acls([AclFilter(1, None, 1, None, None, 1, 1)])
    core.advance(10_001)
    epoch = beat(core, "m", None, 1)
    assert resolved(core) == {"open|shut": {"open"}}, "it is not due"
    beat(core, "n", "s.*")
    assert resolved(core) == {"open|shut": {"open", "shut"}, "s.*": {"shut"}}
    assert epoch == 2


def test_a_member_of_the_classic_protocol_brings_expressions_its_rights() -> None:
    core = guarded_core()
    beat(core, "m", "open|shut")
    assert resolved(core) == {"open|shut": {"open", "shut"}}
    deny(core, TOPIC, "shut", AclOperation.DESCRIBE)
    core.broker.services.controller.create_topics([NewTopic("shown", 1)])
    core.advance(10_001)
    subscription = b"\0\1" + b"".join(encode(ConsumerProtocolSubscription(topics=["open"]), 1))
    join = JoinGroupRequest(
        "g", 6000, 6000, "", None, "consumer", [JoinGroupRequestProtocol("range", subscription)]
    )
    joined = core.client().call(join, 3, JoinGroupResponse)
    assert joined.error_code == 0
    assert resolved(core) == {"open|shut": {"open"}}
