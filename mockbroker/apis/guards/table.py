"""The guard of each API, and those that ask for the cluster alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.guards import groups, topics
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    CreateAclsResponse,
    DeleteAclsResponse,
    DescribeAclsResponse,
)
from mockbroker_protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.guards.asked import Asked

    Check = Callable[[Asked], object | None]

_DENIED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_DENIED_MESSAGE: Final = "The request is not authorized."


def cluster(operation: AclOperation) -> Check:
    """A guard that asks for one operation on the cluster."""

    def check(asked: Asked) -> object | None:
        return None if asked.may_cluster(operation) else asked.refuse(_DENIED)

    return check


def acls(operation: AclOperation) -> Check:
    """The same; the error has a message, once or for each ACL or filter (Kafka: AclApis)."""

    def check(asked: Asked) -> object | None:
        if asked.may_cluster(operation):
            return None
        response = asked.refuse(_DENIED)
        if isinstance(response, DescribeAclsResponse):
            response.error_message = _DENIED_MESSAGE
        elif isinstance(response, CreateAclsResponse):
            for created in response.results:
                created.error_message = _DENIED_MESSAGE
        elif isinstance(response, DeleteAclsResponse):
            for result in response.filter_results:
                result.error_message = _DENIED_MESSAGE
        return response

    return check


def write_txn_markers(asked: Asked) -> object | None:
    """ALTER will do too, for tools that end hanging transactions."""
    if asked.may_cluster(AclOperation.ALTER) or asked.may_cluster(AclOperation.CLUSTER_ACTION):
        return None
    return asked.refuse(_DENIED)


def describe_cluster(asked: Asked) -> None:
    request = asked.request
    assert isinstance(request, DescribeClusterRequest)
    if not request.include_cluster_authorized_operations:
        return

    def amend(response: object) -> object:
        assert isinstance(response, DescribeClusterResponse)
        if not response.error_code:
            response.cluster_authorized_operations = topics.cluster_operations(asked)
        return response

    asked.amendments.append(amend)


GUARDS: Final[dict[ApiKey, Check]] = {
    ApiKey.PRODUCE: topics.produce,
    ApiKey.FETCH: topics.fetch,
    ApiKey.LIST_OFFSETS: topics.list_offsets,
    ApiKey.METADATA: topics.metadata,
    ApiKey.OFFSET_COMMIT: groups.offset_commit,
    ApiKey.OFFSET_FETCH: groups.offset_fetch,
    ApiKey.FIND_COORDINATOR: groups.find_coordinator,
    ApiKey.JOIN_GROUP: groups.member,
    ApiKey.HEARTBEAT: groups.member,
    ApiKey.LEAVE_GROUP: groups.member,
    ApiKey.SYNC_GROUP: groups.sync_group,
    ApiKey.DESCRIBE_GROUPS: groups.describe_groups,
    ApiKey.LIST_GROUPS: groups.list_groups,
    ApiKey.CREATE_TOPICS: topics.create_topics,
    ApiKey.DELETE_TOPICS: topics.delete_topics,
    ApiKey.DELETE_RECORDS: topics.delete_records,
    ApiKey.INIT_PRODUCER_ID: groups.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: topics.offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: groups.add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: groups.add_offsets_to_txn,
    ApiKey.END_TXN: groups.end_txn,
    ApiKey.WRITE_TXN_MARKERS: write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: groups.txn_offset_commit,
    ApiKey.DESCRIBE_ACLS: acls(AclOperation.DESCRIBE),
    ApiKey.CREATE_ACLS: acls(AclOperation.ALTER),
    ApiKey.DELETE_ACLS: acls(AclOperation.ALTER),
    ApiKey.DESCRIBE_CONFIGS: topics.describe_configs,
    ApiKey.ALTER_CONFIGS: topics.alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: cluster(AclOperation.ALTER),
    ApiKey.DESCRIBE_LOG_DIRS: cluster(AclOperation.DESCRIBE),
    ApiKey.CREATE_PARTITIONS: topics.create_partitions,
    ApiKey.DELETE_GROUPS: groups.delete_groups,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: topics.alter_configs,
    ApiKey.ELECT_LEADERS: cluster(AclOperation.ALTER),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: cluster(AclOperation.ALTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: cluster(AclOperation.DESCRIBE),
    ApiKey.OFFSET_DELETE: groups.offset_delete,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: cluster(AclOperation.DESCRIBE_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: cluster(AclOperation.ALTER_CONFIGS),
    ApiKey.DESCRIBE_QUORUM: cluster(AclOperation.DESCRIBE),
    ApiKey.UPDATE_FEATURES: cluster(AclOperation.ALTER),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: groups.consumer_group_describe,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster,
    ApiKey.UNREGISTER_BROKER: cluster(AclOperation.ALTER),
    ApiKey.DESCRIBE_PRODUCERS: topics.describe_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: groups.describe_transactions,
    ApiKey.LIST_TRANSACTIONS: groups.list_transactions,
    ApiKey.LIST_CONFIG_RESOURCES: cluster(AclOperation.DESCRIBE_CONFIGS),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: topics.describe_topic_partitions,
    ApiKey.ADD_RAFT_VOTER: cluster(AclOperation.ALTER),
    ApiKey.REMOVE_RAFT_VOTER: cluster(AclOperation.ALTER),
    ApiKey.UNREGISTER_CONTROLLER: cluster(AclOperation.ALTER),
}
