"""What the simulation's admins look at, and what is wrong with what they are told.

Each look asks one broker: topics page by page, configs, quotas, ACLs, features, brokers, log
directories, reassignments, elections. What is told of the metadata goes to the admin's history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.store import RESOURCE_CLIENT_METRICS, RESOURCE_GROUP
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import DescribeAclsRequest, DescribeAclsResponse
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from mockbroker_protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from mockbroker_protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from mockbroker_protocol.messages.quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from simulation.cluster.admin_changes import ENTITIES, FEATURES
from simulation.cluster.metadata_history import ACLS, resource

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.cluster.metadata_history import MetadataHistory, Subject
    from simulation.cluster.world import ClusterWorld

T = TypeVar("T")
PAGE = 2
ANY, EXACT, LITERAL = 1, 0, 3
NOT_NOW: Final = frozenset(
    (
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    )
)
"""What an election or a reassignment may be answered with."""


class Looker(Protocol):
    """Whoever looks."""

    name: str
    rng: Random
    world: ClusterWorld
    history: MetadataHistory
    topics: dict[str, int]
    parts: list[tuple[str, int]]

    def ask(
        self,
        node: int,
        request: object,
        version: int,
        kind: type[T],
        on_answer: Callable[[T | None], None],
    ) -> None:
        """Ask a broker; None answers when no answer comes."""

    def tell(self, node: int, subject: Subject, value: object, since: int) -> None:
        """The broker told that value, `since` was known before."""

    def looked(self, what: str, error: int) -> None:
        """The look is over; -1: without an answer."""


def _ask(
    admin: Looker,
    node: int,
    what: str,
    call: tuple[object, int, type[T]],
    take: Callable[[T], int],
) -> None:
    """`take` gives the error of an answer after what it tells was looked at."""
    request, version, kind = call

    def answered(answer: T | None) -> None:
        admin.looked(f"{what} at {node}", -1 if answer is None else take(answer))

    admin.ask(node, request, version, kind, answered)


def look_at_quotas(admin: Looker, node: int) -> None:
    """The quotas of one entity."""
    entity = admin.rng.choice(ENTITIES)
    subject = "quota", entity
    since = admin.history.since(node, subject)
    components = [
        ComponentData(kind, EXACT if name is not None else 1, name) for kind, name in entity
    ]

    def take(answer: DescribeClientQuotasResponse) -> int:
        told = {value.key: value.value for entry in answer.entries or () for value in entry.values}
        if not answer.error_code:
            admin.tell(node, subject, told, since)
        return answer.error_code

    call = DescribeClientQuotasRequest(components, strict=True), 1, DescribeClientQuotasResponse
    _ask(admin, node, "quotas", call, take)


def look_at_acls(admin: Looker, node: int) -> None:
    """All ACLs."""
    since = admin.history.since(node, ACLS)

    def take(answer: DescribeAclsResponse) -> int:
        told = frozenset(
            Acl(
                of.resource_type,
                of.resource_name,
                of.pattern_type,
                one.principal,
                one.host,
                one.operation,
                one.permission_type,
            )
            for of in answer.resources
            for one in of.acls
        )
        if not answer.error_code:
            admin.tell(node, ACLS, told, since)
        return answer.error_code

    request = DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY)
    _ask(admin, node, "ACLs", (request, 3, DescribeAclsResponse), take)


def look_at_features(admin: Looker, node: int) -> None:
    """The finalized levels."""
    since = {name: admin.history.since(node, ("feature", name)) for name in FEATURES}

    def take(answer: ApiVersionsResponse) -> int:
        levels = {each.name: each.max_version_level for each in answer.finalized_features}
        for name in FEATURES:
            admin.tell(node, ("feature", name), levels.get(name, 0), since[name])
        return answer.error_code

    call = ApiVersionsRequest("simulation", "1"), 3, ApiVersionsResponse
    _ask(admin, node, "features", call, take)


def look_at_configs(admin: Looker, node: int) -> None:
    """What was set on a group or on a subscription to metrics."""
    kind = admin.rng.choice((RESOURCE_GROUP, RESOURCE_CLIENT_METRICS))
    subject = resource(kind, "of-nobody")
    since = admin.history.since(node, subject)
    asked = DescribeConfigsResource(kind, "of-nobody", None)
    set_here = {RESOURCE_GROUP: 8, RESOURCE_CLIENT_METRICS: 7}[kind]

    def take(answer: DescribeConfigsResponse) -> int:
        result = answer.results[0]
        told = {one.name: one.value for one in result.configs if one.config_source == set_here}
        if not result.error_code:
            admin.tell(node, subject, told, since)
        return result.error_code

    request = DescribeConfigsRequest([asked], include_synonyms=admin.rng.random() < 0.5)
    _ask(admin, node, f"configs of {kind}", (request, 4, DescribeConfigsResponse), take)


def list_resources(admin: Looker, node: int) -> None:
    """Each topic is a resource with configs."""

    def take(answer: ListConfigResourcesResponse) -> int:
        listed = {each.resource_name for each in answer.config_resources}
        missing = set(admin.topics) - listed
        if missing and not answer.error_code:
            admin.world.violate(f"{admin.name}: broker {node} does not list {sorted(missing)}")
        return answer.error_code

    _ask(
        admin,
        node,
        "resources",
        (ListConfigResourcesRequest(), 1, ListConfigResourcesResponse),
        take,
    )


def page_through_topics(admin: Looker, node: int) -> None:
    """Two partitions a page: none is left out, none comes twice."""
    names = sorted(admin.topics)
    seen: list[tuple[str, int]] = []
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], PAGE, None)

    def answered(answer: DescribeTopicPartitionsResponse | None) -> None:
        if answer is None:
            admin.looked(f"pages at {node}", -1)
            return
        seen.extend(
            (topic.name or "", partition.partition_index)
            for topic in answer.topics
            for partition in topic.partitions
        )
        request.cursor = answer.next_cursor
        if request.cursor is not None:
            ask()
            return
        if seen != sorted(admin.parts):
            admin.world.violate(f"{admin.name}: the pages of broker {node} have {seen}")
        admin.looked(f"pages at {node}", ErrorCode.NONE)

    def ask() -> None:
        admin.ask(node, request, 0, DescribeTopicPartitionsResponse, answered)

    ask()


def look_at_brokers(admin: Looker, node: int) -> None:
    """With those that are fenced, all are there."""

    def take(answer: DescribeClusterResponse) -> int:
        told = [each.broker_id for each in answer.brokers]
        if not set(told) <= set(admin.world.nodes) or node not in told:
            admin.world.violate(f"{admin.name}: broker {node} knows brokers {told}")
        return answer.error_code

    request = DescribeClusterRequest(include_fenced_brokers=True)
    _ask(admin, node, "brokers", (request, 2, DescribeClusterResponse), take)


def look_at_log_dirs(admin: Looker, node: int) -> None:
    """Nothing is there but replicas of the broker."""

    def take(answer: DescribeLogDirsResponse) -> int:
        for directory in answer.results:
            for of in directory.topics:
                for partition in of.partitions:
                    if partition.partition_size < 0 or partition.is_future_key:
                        admin.world.violate(f"{admin.name}: {of.name} at {node}: {partition}")
        return answer.error_code

    _ask(admin, node, "log dirs", (DescribeLogDirsRequest(None), 4, DescribeLogDirsResponse), take)


def elect(admin: Looker, node: int) -> None:
    """Let the preferred replica of a partition lead."""
    name, index = admin.rng.choice(admin.parts)
    of_all = admin.rng.random() < 0.3
    request = ElectLeadersRequest(0, None if of_all else [TopicPartitions(name, [index])])

    def take(answer: ElectLeadersResponse) -> int:
        errors = {
            one.error_code for of in answer.replica_election_results for one in of.partition_result
        }
        return _refuse_others(admin, "elect", errors - {ErrorCode.NONE}) or answer.error_code

    _ask(admin, node, "elects", (request, 2, ElectLeadersResponse), take)


def take_back(admin: Looker, node: int) -> None:
    """Cancel a reassignment, that there may be, of a partition that nobody reads."""
    name, index = admin.rng.choice(admin.parts)
    one = ReassignablePartition(index, None)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name, [one])])

    def take(answer: AlterPartitionReassignmentsResponse) -> int:
        error = answer.responses[0].partitions[0].error_code
        return _refuse_others(admin, "take back", {error} - {ErrorCode.NONE})

    _ask(admin, node, "takes back", (request, 1, AlterPartitionReassignmentsResponse), take)


def _refuse_others(admin: Looker, what: str, errors: set[int]) -> int:
    """What may not be right now is nothing wrong."""
    for error in errors - NOT_NOW:
        admin.world.violate(f"{admin.name}: {what} answers {error}")
    return -1 if ErrorCode.REQUEST_TIMED_OUT in errors else 0


def look_at_reassignments(admin: Looker, node: int) -> None:
    """Who is being added or removed is a replica."""

    def take(answer: ListPartitionReassignmentsResponse) -> int:
        for of in answer.topics:
            for one in of.partitions:
                moving = {*one.adding_replicas, *one.removing_replicas}
                if not moving or not moving <= set(one.replicas):
                    admin.world.violate(f"{admin.name}: {of.name} is reassigned as {one}")
        return answer.error_code

    request = ListPartitionReassignmentsRequest()
    _ask(admin, node, "reassignments", (request, 0, ListPartitionReassignmentsResponse), take)


LOOKS: Final[tuple[Callable[[Looker, int], None], ...]] = (
    look_at_quotas,
    look_at_acls,
    look_at_features,
    look_at_configs,
    list_resources,
    page_through_topics,
    look_at_brokers,
    look_at_log_dirs,
    elect,
    take_back,
    look_at_reassignments,
)
