"""A principal loses ACLs, or its token, in mid-session by a rule, on the wire of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.faults import Fault, FaultError
from mockbroker.faults.fault import ANY_OPERATION, OPERATIONS
from mockbroker.journal import Authorization
from mockbroker.metadata.acls import Acl, PatternType, Permission, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core
from tests.support.delegation_tokens import TOKENS, token_login
from tests.support.logins import CONFIG as LOGINS
from tests.support.logins import logged_in
from tests.support.scoped import Scoped

if TYPE_CHECKING:
    from mockbroker.faults.armed_fault import ArmedFault
    from tests.support.core import CoreClient

ME, EVERYBODY = "User:ANONYMOUS", "User:*"
CONFIG = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"}
READ, ALL = AclOperation.READ, 2


def acl(
    kind: ResourceType,
    name: str,
    operation: int,
    principal: str = ME,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    return Acl(kind, name, pattern, principal, "*", operation, Permission.ALLOW)


ORDERS = acl(ResourceType.TOPIC, "orders", READ)
LOGS = acl(ResourceType.TOPIC, "lo", ALL, pattern=PatternType.PREFIXED)
GROUP = acl(ResourceType.GROUP, "*", READ)
WRITE = acl(ResourceType.TOPIC, "orders", AclOperation.WRITE)
ACLS = [ORDERS, LOGS, GROUP, WRITE]


def guarded(*more: Acl) -> Core:
    core = Core(topics={"orders": 1, "logs": 1}, config=CONFIG)
    core.act(lambda: core.cluster.controller.create_acls([*ACLS, *more]))
    return core


def arm(core: Core, **fields: object) -> ArmedFault:
    (rule_id,) = core.act(lambda: core.cluster.faults.add(Fault.from_dict(fields)))
    return next(one for one in core.cluster.faults.list() if one.id == rule_id)


def kept(core: Core) -> list[Acl]:
    return list(core.cluster.metadata.acls)


class Poller:
    """A consumer with a fetch session on two topics."""

    def __init__(self, core: Core, client: CoreClient, *topics: str) -> None:
        self.client = client
        self.epoch = 0
        self.session = 0
        self.topics = [
            FetchRequestTopic(
                topic_id=core.cluster.metadata.topics[name].id,
                partitions=[FetchRequestPartition(partition=0, partition_max_bytes=999)],
            )
            for name in topics or ("orders", "logs")
        ]

    def poll(self) -> list[int]:
        """The errors that are told, by topic."""
        request = FetchRequest(
            session_id=self.session, session_epoch=self.epoch, topics=self.topics, max_wait_ms=0
        )
        answer = self.client.call(request, 16, FetchResponse)
        assert answer.error_code == 0
        self.session, self.epoch, self.topics = answer.session_id, self.epoch + 1, []
        return [one.error_code for topic in answer.responses for one in topic.partitions]


def test_a_fetch_session_is_denied_what_its_principal_lost() -> None:
    core = guarded()
    rule = arm(core, api="Fetch", topic="orders", revoke_acl="READ", nth=3, id="lost")
    poller = Poller(core, core.client())
    assert [poller.poll() for _ in range(3)] == [
        [0, 0],
        [],
        [ErrorCode.TOPIC_AUTHORIZATION_FAILED],
    ]
    assert (rule.hits, kept(core)) == (1, [LOGS, GROUP, WRITE])
    denied = [one for one in core.events if isinstance(one, Authorization) and not one.allowed]
    assert [(one.principal, one.operation, one.resource_name) for one in denied] == [
        (ME, "READ", "orders")
    ]


@pytest.mark.parametrize(
    ("fields", "gone"),
    [
        ({"revoke_acl": "ANY"}, [ORDERS, LOGS, WRITE]),
        ({"revoke_acl": "read"}, [ORDERS, LOGS]),
        ({"revoke_acl": "WRITE", "topic": "orders"}, [WRITE]),
        ({"revoke_acl": "READ", "topic": "l*"}, [LOGS]),
    ],
)
def test_what_is_lost_is_the_operation_on_what_the_request_and_the_rule_are_about(
    fields: dict[str, object], gone: list[Acl]
) -> None:
    core = guarded()
    arm(core, api="Fetch", **fields)
    Poller(core, core.client()).poll()
    assert kept(core) == [one for one in ACLS if one not in gone]


def test_acls_of_groups_go_too_and_those_of_everybody_stay() -> None:
    theirs = acl(ResourceType.GROUP, "g", READ, EVERYBODY)
    core = guarded(theirs)
    client = core.client()
    rule = arm(core, api="Heartbeat", revoke_acl="READ", group="g")
    beat = HeartbeatRequest("g", 1, "m")
    for _ in range(2):
        error = client.call(beat, 4, HeartbeatResponse).error_code
        assert error == ErrorCode.UNKNOWN_MEMBER_ID
    assert rule.hits == 1  # at the second there was nothing to lose
    assert kept(core) == [ORDERS, LOGS, WRITE, theirs]


def test_a_rule_may_take_them_away_after_the_request() -> None:
    core = guarded()
    arm(core, api="Fetch", revoke_acl="ANY", stage="after", count=1)
    poller = Poller(core, core.client())
    failed = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [poller.poll(), poller.poll()] == [[0, 0], [failed, failed]]


def test_the_request_is_denied_by_a_broker_that_is_told_by_its_controller() -> None:
    core = ClusterCore(brokers=3, topics={"orders": 1, "logs": 1}, config=CONFIG)
    core.act(lambda: core.cluster.controller.create_acls(ACLS))
    core.deliver()
    leader = core.state("orders", 0).leader
    arm(core, api="Fetch", topic="orders", revoke_acl="READ", nth=2)
    client = core.client(node=leader)
    poller = Poller(core, client, "orders")
    assert poller.poll() == [0]
    request = FetchRequest(session_id=poller.session, session_epoch=1, max_wait_ms=0)
    client.send(request, 16)
    core.advance(1)
    (topic,) = client.receive(FetchResponse).responses
    assert topic.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_they_are_lost_though_the_broker_does_not_reach_its_controller() -> None:
    core = ClusterCore(brokers=3, topics={"orders": 1}, config=CONFIG)
    core.act(lambda: core.cluster.controller.create_acls(ACLS))
    core.deliver()
    leader = core.state("orders", 0).leader
    poller = Poller(core, core.client(node=leader), "orders")
    core.controls.isolate(leader)
    rule = arm(core, api="Fetch", topic="orders", revoke_acl="READ", stage="after")
    assert poller.poll() == [0]
    assert (rule.hits, kept(core)) == (1, [LOGS, GROUP, WRITE])
    assert poller.poll() == []  # it has not heard of it
    core.controls.reconnect(leader)
    core.deliver()
    assert poller.poll() == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]


def test_a_token_expires_though_the_broker_does_not_reach_its_controller() -> None:
    core = ClusterCore(topics={"orders": 1}, config={**LOGINS, **TOKENS})
    owner = logged_in(core)
    owner.send(CreateDelegationTokenRequest(None, None, [], -1), 3)
    core.advance(1)
    made = owner.receive(CreateDelegationTokenResponse)
    client, _ = token_login(core, made.token_id, made.hmac)
    core.controls.isolate(1)
    rule = arm(core, expire_token=True, stage="after")
    client.call(MetadataRequest(None), 5, MetadataResponse)
    (left,) = core.cluster.metadata.delegation_tokens.values()
    assert (rule.hits, left.expiry_wall_ms) == (1, core.cluster.clock.wall_ms())


def test_a_scope_gives_them_back() -> None:
    core = guarded()
    scoped = Scoped(core)
    end = scoped.begin()
    poller = Poller(core, core.client())
    arm(core, api="Fetch", revoke_acl="ANY", count=1)
    failed = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert poller.poll() == [failed, failed]
    end()
    assert kept(core) == ACLS
    assert Poller(core, core.client()).poll() == [0, 0]


def test_operations_are_those_of_acls() -> None:
    assert (ANY_OPERATION, *AclOperation.__members__) == OPERATIONS
    with pytest.raises(FaultError, match="revoke_acl: 'FETCH' is no operation; allowed: ANY, READ"):
        Fault(revoke_acl="FETCH")
