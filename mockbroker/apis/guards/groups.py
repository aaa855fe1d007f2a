"""Guards of the APIs about groups, their offsets, and transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import NOT_ASKED, AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribedGroup,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsResponse,
)
from mockbroker_protocol.messages.group_membership import JoinGroupResponse, SyncGroupRequest
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeTransactionsResponseTransactionState,
    ListTransactionsResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
)

if TYPE_CHECKING:
    from mockbroker.apis.guards.asked import Asked

GROUP = ResourceType.GROUP
TOPIC = ResourceType.TOPIC
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
READ, DESCRIBE, DELETE, WRITE = (
    AclOperation.READ,
    AclOperation.DESCRIBE,
    AclOperation.DELETE,
    AclOperation.WRITE,
)
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
TRANSACTIONAL_ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
CLUSTER_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_FIRST_BATCHED_FIND: Final = 4
_FIRST_JOIN_WITH_TYPE: Final = 7
_FIRST_SYNC_WITH_TYPE: Final = 5
_FIRST_BATCHED_OFFSETS: Final = 8
_FIRST_ADD_BY_BROKERS: Final = 4
_KINDS: Final = {0: (GROUP, GROUP_DENIED), 1: (TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED)}
_MESSAGES: Final = {
    GROUP_DENIED: "Group authorization failed.",
    TRANSACTIONAL_ID_DENIED: "Transactional Id authorization failed.",
}


def member(asked: Asked) -> object | None:
    """Joining, syncing, heartbeats and leaving: READ on the group."""
    group_id = getattr(asked.request, "group_id", "")
    if asked.may(READ, GROUP, group_id):
        return None
    response = asked.refuse(GROUP_DENIED)
    if isinstance(response, JoinGroupResponse) and asked.version >= _FIRST_JOIN_WITH_TYPE:
        response.protocol_name = None
    return response


def sync_group(asked: Asked) -> object | None:
    """As `member`, but a protocol that is not named (v5+) is an error that comes first."""
    request = asked.request
    assert isinstance(request, SyncGroupRequest)
    if asked.version >= _FIRST_SYNC_WITH_TYPE and (
        request.protocol_type is None or request.protocol_name is None
    ):
        return None
    return member(asked)


def consumer_group_heartbeat(asked: Asked) -> object | None:
    """READ on the group, and DESCRIBE on each topic that is subscribed to."""
    request = asked.request
    assert isinstance(request, ConsumerGroupHeartbeatRequest)
    if not asked.may(READ, GROUP, request.group_id):
        return asked.refuse(GROUP_DENIED)
    for name in request.subscribed_topic_names or ():
        if not asked.may(DESCRIBE, TOPIC, name):
            return asked.refuse(TOPIC_DENIED)
    return None


def find_coordinator(asked: Asked) -> object | None:
    """DESCRIBE on each group or transactional id."""
    request = asked.request
    assert isinstance(request, FindCoordinatorRequest)
    kind = _KINDS.get(request.key_type)
    if kind is None:
        return None
    resource_type, error = kind
    if asked.version < _FIRST_BATCHED_FIND:
        if asked.may(DESCRIBE, resource_type, request.key):
            return None
        return FindCoordinatorResponse(
            asked.ctx.throttle_time_ms, error, _MESSAGES[error], -1, "", -1
        )
    told = [
        Coordinator(key, -1, "", -1, error, "")
        for key in request.coordinator_keys
        if not asked.may(DESCRIBE, resource_type, key)
    ]
    if told:
        refused = {one.key for one in told}
        request.coordinator_keys = [key for key in request.coordinator_keys if key not in refused]

        def amend(response: object) -> object:
            assert isinstance(response, FindCoordinatorResponse)
            response.coordinators += told
            return response

        if not request.coordinator_keys:
            return amend(FindCoordinatorResponse(asked.ctx.throttle_time_ms))
        asked.amendments.append(amend)
    return None


# -- groups as a whole -----------------------------------------------------------------------


def describe_groups(asked: Asked) -> None:
    request = asked.request
    assert isinstance(request, DescribeGroupsRequest)
    refused = [name for name in request.groups if not asked.may(DESCRIBE, GROUP, name)]
    request.groups = [name for name in request.groups if name not in refused]

    def amend(response: object) -> object:
        assert isinstance(response, DescribeGroupsResponse)
        for group in response.groups:
            if group.authorized_operations != NOT_ASKED and not group.error_code:
                group.authorized_operations = asked.operations(GROUP, group.group_id)
        response.groups += [DescribedGroup(GROUP_DENIED, None, name) for name in refused]
        for group in response.groups[len(response.groups) - len(refused) :]:
            group.authorized_operations = NOT_ASKED
        return response

    asked.amendments.append(amend)


def consumer_group_describe(asked: Asked) -> None:
    """DESCRIBE on the group and on each topic that its members have to do with."""
    request = asked.request
    assert isinstance(request, ConsumerGroupDescribeRequest)
    refused = [name for name in request.group_ids if not asked.may(DESCRIBE, GROUP, name)]
    request.group_ids = [name for name in request.group_ids if name not in refused]

    def amend(response: object) -> object:
        assert isinstance(response, ConsumerGroupDescribeResponse)
        for group in response.groups:
            if request.include_authorized_operations and not group.error_code:
                group.authorized_operations = asked.operations(GROUP, group.group_id)
            if not all(asked.may(DESCRIBE, TOPIC, name) for name in _topics_of(group)):
                group.error_code = TOPIC_DENIED
                group.error_message = (
                    "The group has described topic(s) that the client is not authorized to "
                    "describe."
                )
                group.members = []
        for name in refused:
            told = ConsumerGroupDescribedGroup(GROUP_DENIED, None, name)
            response.groups.append(told)
        return response

    asked.amendments.append(amend)


def _topics_of(group: ConsumerGroupDescribedGroup) -> set[str]:
    return {
        topic.topic_name
        for each in group.members
        for assignment in (each.assignment, each.target_assignment)
        for topic in assignment.topic_partitions
    } | {name for each in group.members for name in each.subscribed_topic_names}


def list_groups(asked: Asked) -> None:
    """Groups that may not be described are hidden, unless the cluster may be."""
    if asked.may_cluster(DESCRIBE):
        return

    def amend(response: object) -> object:
        assert isinstance(response, ListGroupsResponse)
        response.groups = [
            group for group in response.groups if asked.may(DESCRIBE, GROUP, group.group_id)
        ]
        return response

    asked.amendments.append(amend)


def delete_groups(asked: Asked) -> None:
    request = asked.request
    assert isinstance(request, DeleteGroupsRequest)
    refused = [name for name in request.groups_names if not asked.may(DELETE, GROUP, name)]
    request.groups_names = [name for name in request.groups_names if name not in refused]

    def amend(response: object) -> object:
        assert isinstance(response, DeleteGroupsResponse)
        response.results += [DeletableGroupResult(name, GROUP_DENIED) for name in refused]
        return response

    asked.amendments.append(amend)


# -- offsets ---------------------------------------------------------------------------------


def offset_commit(asked: Asked) -> object | None:
    request = asked.request
    assert isinstance(request, OffsetCommitRequest)
    if not asked.may(READ, GROUP, request.group_id):
        return asked.refuse(GROUP_DENIED)
    return asked.refuse_topics(READ, TOPIC_DENIED)


def offset_delete(asked: Asked) -> object | None:
    request = asked.request
    assert isinstance(request, OffsetDeleteRequest)
    if not asked.may(DELETE, GROUP, request.group_id):
        return asked.refuse(GROUP_DENIED, "top")
    return asked.refuse_topics(READ, TOPIC_DENIED)


def offset_fetch(asked: Asked) -> object | None:
    """DESCRIBE on each group, and on each topic: those of all topics are hidden."""
    request = asked.request
    assert isinstance(request, OffsetFetchRequest)
    if asked.version < _FIRST_BATCHED_OFFSETS:
        if not asked.may(DESCRIBE, GROUP, request.group_id):
            return asked.refuse(GROUP_DENIED)
        if request.topics is None:
            asked.amendments.append(lambda response: _visible_offsets(asked, response))
            return None
        return asked.refuse_topics(DESCRIBE, TOPIC_DENIED, _without_metadata)
    refused = [
        one.group_id for one in request.groups if not asked.may(DESCRIBE, GROUP, one.group_id)
    ]
    request.groups = [one for one in request.groups if one.group_id not in refused]
    told = [OffsetFetchResponseGroup(name, [], GROUP_DENIED) for name in refused]
    hidden = {one.group_id: _take_topics_out(asked, one) for one in request.groups}

    def amend(response: object) -> object:
        assert isinstance(response, OffsetFetchResponse)
        for group in response.groups:
            if not group.error_code:
                group.topics += hidden.get(group.group_id, [])
        response.groups += told
        return _visible_offsets(asked, response)

    asked.amendments.append(amend)
    return None


def _take_topics_out(
    asked: Asked, group: OffsetFetchRequestGroup
) -> list[OffsetFetchResponseTopics]:
    """What is told of the topics in it that may not be described; the others stay."""
    kept: list[OffsetFetchRequestTopics] = []
    told: list[OffsetFetchResponseTopics] = []
    for topic in group.topics or ():
        name = topic.name or asked.services.metadata.topic_name(topic.topic_id)
        if name is None or asked.may(DESCRIBE, TOPIC, name):
            kept.append(topic)
            continue
        parts = [
            OffsetFetchResponsePartitions(index, -1, -1, "", TOPIC_DENIED)
            for index in topic.partition_indexes
        ]
        told.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, parts))
    if told:
        group.topics = kept
    return told


def _without_metadata(refused: object) -> None:
    """Kafka tells an empty metadata beside the error, and no epoch."""
    assert isinstance(refused, OffsetFetchResponse)
    for topic in refused.topics:
        for one in topic.partitions:
            one.metadata = ""
            one.committed_leader_epoch = -1


def _visible_offsets(asked: Asked, response: object) -> object:
    assert isinstance(response, OffsetFetchResponse)
    response.topics = [
        topic
        for topic in response.topics
        if asked.may(DESCRIBE, TOPIC, topic.name)
        or any(one.error_code == TOPIC_DENIED for one in topic.partitions)
    ]
    for group in response.groups:
        group.topics = [
            topic
            for topic in group.topics
            if not topic.name
            or asked.may(DESCRIBE, TOPIC, topic.name)
            or any(one.error_code == TOPIC_DENIED for one in topic.partitions)
        ]
    return response


# -- transactions ----------------------------------------------------------------------------


def init_producer_id(asked: Asked) -> object | None:
    """WRITE on the transactional id; without one IDEMPOTENT_WRITE, or WRITE on some topic."""
    request = asked.request
    assert isinstance(request, InitProducerIdRequest)
    if request.transactional_id is not None:
        if asked.may(WRITE, TRANSACTIONAL_ID, request.transactional_id):
            return None
        error = TRANSACTIONAL_ID_DENIED
    elif asked.may_cluster(AclOperation.IDEMPOTENT_WRITE) or asked.may_some(WRITE, TOPIC):
        return None
    else:
        error = CLUSTER_DENIED
    return InitProducerIdResponse(asked.ctx.throttle_time_ms, error, -1, -1)


def end_txn(asked: Asked) -> object | None:
    transactional_id = getattr(asked.request, "transactional_id", "")
    if asked.may(WRITE, TRANSACTIONAL_ID, transactional_id):
        return None
    return asked.refuse(TRANSACTIONAL_ID_DENIED)


def add_offsets_to_txn(asked: Asked) -> object | None:
    request = asked.request
    assert isinstance(request, AddOffsetsToTxnRequest)
    if not asked.may(WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return asked.refuse(TRANSACTIONAL_ID_DENIED)
    return None if asked.may(READ, GROUP, request.group_id) else asked.refuse(GROUP_DENIED)


def txn_offset_commit(asked: Asked) -> object | None:
    request = asked.request
    assert isinstance(request, TxnOffsetCommitRequest)
    if not asked.may(WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return asked.refuse(TRANSACTIONAL_ID_DENIED)
    if not asked.may(READ, GROUP, request.group_id):
        return asked.refuse(GROUP_DENIED)
    return asked.refuse_topics(READ, TOPIC_DENIED)


def add_partitions_to_txn(asked: Asked) -> object | None:
    """Brokers need CLUSTER_ACTION; clients WRITE on the id, and on all topics or none is added."""
    request = asked.request
    assert isinstance(request, AddPartitionsToTxnRequest)
    if asked.version >= _FIRST_ADD_BY_BROKERS:
        if asked.may_cluster(AclOperation.CLUSTER_ACTION):
            return None
        return asked.refuse(CLUSTER_DENIED)
    if not asked.may(WRITE, TRANSACTIONAL_ID, request.v3_and_below_transactional_id):
        return asked.refuse(TRANSACTIONAL_ID_DENIED)
    topics = list(request.v3_and_below_topics)
    partitions = {topic.name: list(topic.partitions) for topic in topics}
    denied = {topic.name for topic in topics if not asked.may(WRITE, TOPIC, topic.name)}
    if not denied:
        return None
    answer = asked.refuse(TOPIC_DENIED)
    known = asked.services.metadata.topics
    for result in answer.results_by_topic_v3_and_below:  # type: ignore[attr-defined]  # its class
        if result.name not in denied:
            count = len(known[result.name].partitions) if result.name in known else 0
            for one, index in zip(
                result.results_by_partition, partitions[result.name], strict=True
            ):
                one.partition_error_code = (
                    ErrorCode.OPERATION_NOT_ATTEMPTED
                    if 0 <= index < count
                    else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
    return answer


def describe_transactions(asked: Asked) -> None:
    """DESCRIBE on the id; topics that may not be described are left out."""
    request = asked.request
    assert isinstance(request, DescribeTransactionsRequest)
    ids = request.transactional_ids
    refused = [one for one in ids if not asked.may(DESCRIBE, TRANSACTIONAL_ID, one)]
    request.transactional_ids = [one for one in ids if one not in refused]

    def amend(response: object) -> object:
        assert isinstance(response, DescribeTransactionsResponse)
        for state in response.transaction_states:
            state.topics = [
                topic for topic in state.topics if asked.may(DESCRIBE, TOPIC, topic.topic)
            ]
        response.transaction_states += [
            DescribeTransactionsResponseTransactionState(TRANSACTIONAL_ID_DENIED, one)
            for one in refused
        ]
        return response

    asked.amendments.append(amend)


def list_transactions(asked: Asked) -> None:
    def amend(response: object) -> object:
        assert isinstance(response, ListTransactionsResponse)
        response.transaction_states = [
            state
            for state in response.transaction_states
            if asked.may(DESCRIBE, TRANSACTIONAL_ID, state.transactional_id)
        ]
        return response

    asked.amendments.append(amend)
