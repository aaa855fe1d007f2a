"""Those who make ACLs and hold brokers to them, where a seed draws "acls".

What everybody else is, is a super user then; an ACL checker asks as somebody else, from its
address, what it may do: by the fields of authorized operations (KIP-430), and by the refusals that
follow.
Each broker is held to the ACLs that it has heard of. Answers are compared with `acl_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.metadata.acls import Acl
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode as Code
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse
from mockbroker_protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from mockbroker_protocol.plan import decode
from simulation.clients import frame_of
from simulation.cluster import acl_rules as rules
from simulation.cluster.acl_revocations import revoke
from simulation.cluster.acl_sessions import sessions
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.node.broker import Broker
    from simulation.cluster.acl_sessions import CheckedSession
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

T = TypeVar("T")
PAUSE_MS = 60.0
MANY = 24
"""So many ACLs are enough: some go before others come."""
GROUPS = 1000
"""Among so many names there is mostly one of no group yet."""
PRINCIPALS: Final = ("User:ann", "User:bob", "User:*")
HOSTS: Final = ("*", "127.0.0.1", "10.0.0.1")
HOST: Final = "127.0.0.1"
NAMES: Final = ("la", "lab", "law", "*")
KINDS: Final = (rules.TOPIC, rules.GROUP, rules.CLUSTER, rules.TRANSACTIONAL_ID)
CLUSTER_NAME: Final = "kafka-cluster"
ASKED_GROUPS, ASKED_IDS = ("l", "la", "lab", "labour", "law"), ("la", "lawn", "x")
UNREACHABLE: Final = frozenset((Code.REQUEST_TIMED_OUT, Code.NOT_CONTROLLER))
GROUP_KEY, TRANSACTION_KEY = 0, 1


class AclChecker(ClusterClient):
    """Makes ACLs, deletes some, and asks what they allow."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.everyone = plan.everyone
        self.checks = self.changes = self.polls = self.expressions = 0
        self.reader = rng.choice(PRINCIPALS[:2])
        self.sessions: dict[int, CheckedSession] = {}
        """The reader's, by broker."""
        self._doubtful = False
        """Whether a change that was not answered may still be carried out."""

    def begin(self) -> None:
        roll, known = self.rng.random(), len(self.world.cluster.metadata.acls)
        if roll < 0.2 and known < MANY:
            self._create()
        elif roll < 0.3 or known >= MANY:
            self._delete()
        elif roll < 0.4:
            self._revoke()
        else:
            self._hold_to_it()
            self.later(self.rng.random() * PAUSE_MS)

    # -- changes ---------------------------------------------------------------------------

    def _create(self) -> None:
        rng = self.rng
        made = []
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(KINDS)
            name = rng.choice((*NAMES, *self.topics)) if kind != rules.CLUSTER else CLUSTER_NAME
            literal = name == "*" or kind == rules.CLUSTER or rng.random() < 0.5
            made.append(
                AclCreation(
                    kind,
                    name,
                    rules.LITERAL if literal else rules.PREFIXED,
                    rng.choice(PRINCIPALS),
                    rng.choice(HOSTS),
                    rng.choice((rules.ALL, *rules.OPERATIONS[kind])),
                    rng.choice((rules.DENY, rules.ALLOW, rules.ALLOW)),
                )
            )

        def answered(answer: CreateAclsResponse | None) -> None:
            errors = self._errors_of(answer, "results")
            self.note(f"makes {len(made)} ACLs: {errors}")
            there = self.world.cluster.metadata.acls
            for creation, error in zip(made, errors, strict=False):
                if error == Code.NONE and not self._doubtful and _acl_of(creation) not in there:
                    self._wrong(f"{creation} was acknowledged, and is not there")
                elif error not in (Code.NONE, *UNREACHABLE):
                    self._wrong(f"{creation} is answered {error}")
            self.later(self.rng.random() * PAUSE_MS)

        version = rng.randint(1, 3)
        self.ask(self.any_node(), CreateAclsRequest(made), version, CreateAclsResponse, answered)

    def _delete(self) -> None:
        rng, there = self.rng, self.world.cluster.metadata.acls
        asked = DeleteAclsFilter(
            rng.choice((rules.ANY, *KINDS)),
            rng.choice((None, *NAMES, "labour")),
            rng.choice((rules.ANY, rules.MATCH, rules.LITERAL, rules.PREFIXED)),
            rng.choice((None, *PRINCIPALS)),
            rng.choice((None, *HOSTS)),
            rules.ANY,
            rng.choice((rules.ANY, rules.DENY, rules.ALLOW)),
        )
        wanted = {acl for acl in there if rules.acl_fits(acl, asked)}
        doubtful = self._doubtful

        def answered(answer: DeleteAclsResponse | None) -> None:
            errors = self._errors_of(answer, "filter_results")
            self.note(f"deletes {len(wanted)} ACLs: {errors}")
            if answer is not None and errors == [Code.NONE]:
                matching = answer.filter_results[0].matching_acls
                told = {
                    Acl(one.resource_type, one.resource_name, one.pattern_type, one.principal,
                        one.host, one.operation, one.permission_type)
                    for one in matching
                }  # fmt: skip
                if told != wanted and not doubtful:
                    self._wrong(f"{asked} deletes {told}, not {wanted}")
                if left := told.intersection(self.world.cluster.metadata.acls):
                    self._wrong(f"{left} were deleted, and are there")
            self.later(self.rng.random() * PAUSE_MS)

        version = rng.randint(1, 3)
        self.ask(self.any_node(), DeleteAclsRequest([asked]), version, DeleteAclsResponse, answered)

    def _errors_of(self, answer: object | None, field: str) -> list[int]:
        errors = [] if answer is None else [one.error_code for one in getattr(answer, field)]
        if answer is None or UNREACHABLE.intersection(errors):
            self._doubtful = True
        else:
            self.changes += 1
        return errors

    # -- what they allow -------------------------------------------------------------------

    def _hold_to_it(self) -> None:
        """Ask a broker as one of those whom the ACLs are about."""
        broker = self.world.cluster.broker(self.any_node())
        if broker is None:
            return
        self.world.finish_work()
        principal = self.rng.choice(("User:ann", "User:bob", "User:eve", "User:ANONYMOUS"))
        self.rng.choice(QUESTIONS)(self, broker, principal, self._rights_for(broker, principal))
        sessions(self, broker, self.reader, self._rights_for(broker, self.reader))
        self.checks += 1

    def _revoke(self) -> None:
        """Have a rule take from the reader what it may do."""
        broker = self.world.cluster.broker(self.any_node())
        if broker is not None and not self._doubtful:
            self.world.finish_work()
            revoke(self, broker)
            self.changes += 1
        self.later(self.rng.random() * PAUSE_MS)

    def _rights_for(self, broker: Broker, principal: str) -> rules.ExpectedRights:
        return rules.ExpectedRights(
            broker.services.metadata.acls,
            principal,
            HOST,
            everyone=self.everyone,
            is_super=principal == "User:ANONYMOUS",
        )

    def asked_as(
        self, broker: Broker, principal: str, request: object, version: int, kind: type[T]
    ) -> T | None:
        """The answer; None: it is not there at once."""
        frame = frame_of(request, version, 1, self.name)
        answers = self.world.probe(frame, broker, principal)
        if not answers:
            return None
        key = ApiKey(request.API_KEY)  # type: ignore[attr-defined]
        _, pos = decode_response_header(answers[0], key, version)
        return decode(kind, version, answers[0], pos)[0]

    def expect(self, principal: str, what: str, told: object, wanted: object) -> None:
        """It is a violation if they differ."""
        if told != wanted:
            self._wrong(f"{principal}, {what}: {told}, not {wanted}")

    def _wrong(self, what: str) -> None:
        self.world.violate(f"{self.name}: {what}")


def _acl_of(made: AclCreation) -> Acl:
    return Acl(
        made.resource_type, made.resource_name, made.resource_pattern_type, made.principal,
        made.host, made.operation, made.permission_type,
    )  # fmt: skip


# -- questions ------------------------------------------------------------------------------------


def groups(
    checker: AclChecker, broker: Broker, principal: str, rights: rules.ExpectedRights
) -> None:
    """Whoever coordinates it: a group is described to those who may know of it."""
    request = DescribeGroupsRequest([*ASKED_GROUPS], include_authorized_operations=True)
    answer = checker.asked_as(
        broker, principal, request, checker.rng.randint(3, 5), DescribeGroupsResponse
    )
    assert answer is not None
    for one in answer.groups:
        refused = one.error_code == Code.GROUP_AUTHORIZATION_FAILED
        may = rights.allows(rules.DESCRIBE, rules.GROUP, one.group_id)
        checker.expect(principal, f"group {one.group_id} is refused", refused, not may)
        if one.error_code == Code.NONE:
            wanted = rights.bits(rules.GROUP, one.group_id)
            checker.expect(principal, f"group {one.group_id}", one.authorized_operations, wanted)


def topics(
    checker: AclChecker, broker: Broker, principal: str, rights: rules.ExpectedRights
) -> None:
    """Topics that are there, and some that are not."""
    names = [*checker.topics, "la", "labour"]
    request = MetadataRequest(
        [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    answer = checker.asked_as(
        broker, principal, request, checker.rng.randint(8, 13), MetadataResponse
    )
    assert answer is not None
    for one in answer.topics:
        assert one.name is not None
        refused = one.error_code == Code.TOPIC_AUTHORIZATION_FAILED
        may = rights.allows(rules.DESCRIBE, rules.TOPIC, one.name)
        checker.expect(principal, f"topic {one.name} is refused", refused, not may)
        if one.error_code == Code.NONE:
            wanted = rights.bits(rules.TOPIC, one.name)
            told = one.topic_authorized_operations
            checker.expect(principal, f"topic {one.name}", told, wanted)


def cluster(
    checker: AclChecker, broker: Broker, principal: str, rights: rules.ExpectedRights
) -> None:
    """The cluster itself."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = checker.asked_as(
        broker, principal, request, checker.rng.randint(0, 1), DescribeClusterResponse
    )
    assert answer is not None
    may = rights.allows(rules.DESCRIBE, rules.CLUSTER, CLUSTER_NAME)
    wanted = rights.bits(rules.CLUSTER, CLUSTER_NAME) if may else 0
    checker.expect(principal, "the cluster", answer.cluster_authorized_operations, wanted)


def coordinators(
    checker: AclChecker, broker: Broker, principal: str, rights: rules.ExpectedRights
) -> None:
    """Who coordinates what, for those who may know of it."""
    kind, key_type, refusal = checker.rng.choice(
        (
            (rules.GROUP, GROUP_KEY, Code.GROUP_AUTHORIZATION_FAILED),
            (
                rules.TRANSACTIONAL_ID,
                TRANSACTION_KEY,
                Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            ),
        )
    )
    names = [name for name in ASKED_IDS if not rights.allows(rules.DESCRIBE, kind, name)]
    if not names:
        return  # a topic of coordinators would be made for the others
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=names)
    answer = checker.asked_as(
        broker, principal, request, checker.rng.randint(4, 5), FindCoordinatorResponse
    )
    assert answer is not None
    told = [one.error_code for one in answer.coordinators]
    checker.expect(principal, f"coordinators of {names}", told, [refusal] * len(names))


def idempotent_writes(
    checker: AclChecker, broker: Broker, principal: str, rights: rules.ExpectedRights
) -> None:
    """Who may write something somewhere may be an idempotent producer (KIP-679)."""
    may = rights.allows(rules.IDEMPOTENT_WRITE, rules.CLUSTER, CLUSTER_NAME) or rights.allows_some(
        rules.WRITE, rules.TOPIC
    )
    request = InitProducerIdRequest(None, 1000)
    answer = checker.asked_as(broker, principal, request, 4, InitProducerIdResponse)
    error = Code.NONE if answer is None else answer.error_code
    refused = error == Code.CLUSTER_AUTHORIZATION_FAILED
    checker.expect(principal, "an idempotent producer is refused", refused, not may)


def expressions(
    checker: AclChecker, broker: Broker, principal: str, rights: rules.ExpectedRights
) -> None:
    """A consumer group's expression leaves out topics that its first member may not describe."""
    group = f"la{checker.rng.randint(1, GROUPS)}"
    services = broker.services
    shard = services.groups.service.runtime.shard_for(group) if services.groups.in_use else None
    if shard is None or group in shard.consumer_groups or group in shard.groups:
        return  # what others may describe counts there
    request = ConsumerGroupHeartbeatRequest(
        group,
        "acl-checker",
        rebalance_timeout_ms=1000,
        subscribed_topic_regex=".*",
        topic_partitions=[],
    )
    answer = checker.asked_as(broker, principal, request, 1, ConsumerGroupHeartbeatResponse)
    may_read = rights.allows(rules.READ, rules.GROUP, group)
    if answer is not None:
        refused = answer.error_code == Code.GROUP_AUTHORIZATION_FAILED
        checker.expect(principal, f"to be in {group} is refused", refused, not may_read)
    made = shard.consumer_groups.get(group)
    if made is not None and ".*" in made.resolved:
        names = services.metadata.topics
        shown = {name for name in names if rights.allows(rules.DESCRIBE, rules.TOPIC, name)}
        checker.expect(principal, f"topics of {group}", set(made.resolved[".*"].topics), shown)
        checker.expressions += 1
        leave = ConsumerGroupHeartbeatRequest(group, "acl-checker", -1)
        checker.asked_as(broker, principal, leave, 1, ConsumerGroupHeartbeatResponse)


QUESTIONS: Final[tuple[Callable[[AclChecker, Broker, str, rules.ExpectedRights], None], ...]] = (
    groups,
    topics,
    cluster,
    coordinators,
    idempotent_writes,
    expressions,
)


class AclCheckerCrew(Crew):
    """One of them, where a seed draws "acls": he alone changes ACLs."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.checkers = setting.hire(AclChecker, "acl-checker", int(self.plan.on["acls"]))
        self.clients = [*self.checkers]

    def counts(self) -> dict[str, int]:
        return {
            "ACLs changed": sum(each.changes for each in self.checkers),
            "held to ACLs": sum(each.checks for each in self.checkers),
            "sessions held to ACLs": sum(each.polls for each in self.checkers),
            "expressions held to ACLs": sum(each.expressions for each in self.checkers),
        }
