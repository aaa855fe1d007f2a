"""Which module declares which API, so that a message class is imported when first needed.

Called by whoever turns an API key into a class: the request boundary, the tools, the tests. The
table covers every API in `api_keys.ALL_SPECS`. Handlers import their own classes plainly.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from mockbroker_protocol.api_keys import ApiKey

CATALOG: Final[dict[int, tuple[str, str, str]]] = {
    ApiKey.PRODUCE: ("produce", "ProduceRequest", "ProduceResponse"),
    ApiKey.FETCH: ("fetch", "FetchRequest", "FetchResponse"),
    ApiKey.LIST_OFFSETS: ("list_offsets", "ListOffsetsRequest", "ListOffsetsResponse"),
    ApiKey.METADATA: ("metadata", "MetadataRequest", "MetadataResponse"),
    ApiKey.OFFSET_COMMIT: ("group_offsets", "OffsetCommitRequest", "OffsetCommitResponse"),
    ApiKey.OFFSET_FETCH: ("group_offsets", "OffsetFetchRequest", "OffsetFetchResponse"),
    ApiKey.FIND_COORDINATOR: (
        "find_coordinator",
        "FindCoordinatorRequest",
        "FindCoordinatorResponse",
    ),
    ApiKey.JOIN_GROUP: ("group_membership", "JoinGroupRequest", "JoinGroupResponse"),
    ApiKey.HEARTBEAT: ("group_membership", "HeartbeatRequest", "HeartbeatResponse"),
    ApiKey.LEAVE_GROUP: ("group_membership", "LeaveGroupRequest", "LeaveGroupResponse"),
    ApiKey.SYNC_GROUP: ("group_membership", "SyncGroupRequest", "SyncGroupResponse"),
    ApiKey.DESCRIBE_GROUPS: ("group_admin", "DescribeGroupsRequest", "DescribeGroupsResponse"),
    ApiKey.LIST_GROUPS: ("group_admin", "ListGroupsRequest", "ListGroupsResponse"),
    ApiKey.SASL_HANDSHAKE: ("sasl", "SaslHandshakeRequest", "SaslHandshakeResponse"),
    ApiKey.API_VERSIONS: ("api_versions", "ApiVersionsRequest", "ApiVersionsResponse"),
    ApiKey.CREATE_TOPICS: ("topics", "CreateTopicsRequest", "CreateTopicsResponse"),
    ApiKey.DELETE_TOPICS: ("topics", "DeleteTopicsRequest", "DeleteTopicsResponse"),
    ApiKey.DELETE_RECORDS: ("topics", "DeleteRecordsRequest", "DeleteRecordsResponse"),
    ApiKey.INIT_PRODUCER_ID: ("transactions", "InitProducerIdRequest", "InitProducerIdResponse"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        "list_offsets",
        "OffsetForLeaderEpochRequest",
        "OffsetForLeaderEpochResponse",
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        "transactions",
        "AddPartitionsToTxnRequest",
        "AddPartitionsToTxnResponse",
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (
        "transactions",
        "AddOffsetsToTxnRequest",
        "AddOffsetsToTxnResponse",
    ),
    ApiKey.END_TXN: ("transactions", "EndTxnRequest", "EndTxnResponse"),
    ApiKey.WRITE_TXN_MARKERS: (
        "transaction_admin",
        "WriteTxnMarkersRequest",
        "WriteTxnMarkersResponse",
    ),
    ApiKey.TXN_OFFSET_COMMIT: ("transactions", "TxnOffsetCommitRequest", "TxnOffsetCommitResponse"),
    ApiKey.DESCRIBE_ACLS: ("acls", "DescribeAclsRequest", "DescribeAclsResponse"),
    ApiKey.CREATE_ACLS: ("acls", "CreateAclsRequest", "CreateAclsResponse"),
    ApiKey.DELETE_ACLS: ("acls", "DeleteAclsRequest", "DeleteAclsResponse"),
    ApiKey.DESCRIBE_CONFIGS: ("configs", "DescribeConfigsRequest", "DescribeConfigsResponse"),
    ApiKey.ALTER_CONFIGS: ("configs", "AlterConfigsRequest", "AlterConfigsResponse"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (
        "log_dirs",
        "AlterReplicaLogDirsRequest",
        "AlterReplicaLogDirsResponse",
    ),
    ApiKey.DESCRIBE_LOG_DIRS: ("log_dirs", "DescribeLogDirsRequest", "DescribeLogDirsResponse"),
    ApiKey.SASL_AUTHENTICATE: ("sasl", "SaslAuthenticateRequest", "SaslAuthenticateResponse"),
    ApiKey.CREATE_PARTITIONS: ("topics", "CreatePartitionsRequest", "CreatePartitionsResponse"),
    ApiKey.CREATE_DELEGATION_TOKEN: (
        "delegation_tokens",
        "CreateDelegationTokenRequest",
        "CreateDelegationTokenResponse",
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: (
        "delegation_tokens",
        "RenewDelegationTokenRequest",
        "RenewDelegationTokenResponse",
    ),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (
        "delegation_tokens",
        "ExpireDelegationTokenRequest",
        "ExpireDelegationTokenResponse",
    ),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (
        "delegation_tokens",
        "DescribeDelegationTokenRequest",
        "DescribeDelegationTokenResponse",
    ),
    ApiKey.DELETE_GROUPS: ("group_admin", "DeleteGroupsRequest", "DeleteGroupsResponse"),
    ApiKey.ELECT_LEADERS: ("reassignments", "ElectLeadersRequest", "ElectLeadersResponse"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        "configs",
        "IncrementalAlterConfigsRequest",
        "IncrementalAlterConfigsResponse",
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
        "reassignments",
        "AlterPartitionReassignmentsRequest",
        "AlterPartitionReassignmentsResponse",
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (
        "reassignments",
        "ListPartitionReassignmentsRequest",
        "ListPartitionReassignmentsResponse",
    ),
    ApiKey.OFFSET_DELETE: ("group_offsets", "OffsetDeleteRequest", "OffsetDeleteResponse"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (
        "quotas",
        "DescribeClientQuotasRequest",
        "DescribeClientQuotasResponse",
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: ("quotas", "AlterClientQuotasRequest", "AlterClientQuotasResponse"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (
        "scram",
        "DescribeUserScramCredentialsRequest",
        "DescribeUserScramCredentialsResponse",
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (
        "scram",
        "AlterUserScramCredentialsRequest",
        "AlterUserScramCredentialsResponse",
    ),
    ApiKey.DESCRIBE_QUORUM: ("quorum", "DescribeQuorumRequest", "DescribeQuorumResponse"),
    ApiKey.UPDATE_FEATURES: ("features", "UpdateFeaturesRequest", "UpdateFeaturesResponse"),
    ApiKey.DESCRIBE_CLUSTER: ("metadata", "DescribeClusterRequest", "DescribeClusterResponse"),
    ApiKey.DESCRIBE_PRODUCERS: (
        "transaction_admin",
        "DescribeProducersRequest",
        "DescribeProducersResponse",
    ),
    ApiKey.UNREGISTER_BROKER: ("quorum", "UnregisterBrokerRequest", "UnregisterBrokerResponse"),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        "transaction_admin",
        "DescribeTransactionsRequest",
        "DescribeTransactionsResponse",
    ),
    ApiKey.LIST_TRANSACTIONS: (
        "transaction_admin",
        "ListTransactionsRequest",
        "ListTransactionsResponse",
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        "consumer_group",
        "ConsumerGroupHeartbeatRequest",
        "ConsumerGroupHeartbeatResponse",
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (
        "group_admin",
        "ConsumerGroupDescribeRequest",
        "ConsumerGroupDescribeResponse",
    ),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: (
        "telemetry",
        "GetTelemetrySubscriptionsRequest",
        "GetTelemetrySubscriptionsResponse",
    ),
    ApiKey.PUSH_TELEMETRY: ("telemetry", "PushTelemetryRequest", "PushTelemetryResponse"),
    ApiKey.LIST_CONFIG_RESOURCES: (
        "configs",
        "ListConfigResourcesRequest",
        "ListConfigResourcesResponse",
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        "metadata",
        "DescribeTopicPartitionsRequest",
        "DescribeTopicPartitionsResponse",
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: (
        "share_groups",
        "ShareGroupHeartbeatRequest",
        "ShareGroupHeartbeatResponse",
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: (
        "share_groups",
        "ShareGroupDescribeRequest",
        "ShareGroupDescribeResponse",
    ),
    ApiKey.SHARE_FETCH: ("share_fetch", "ShareFetchRequest", "ShareFetchResponse"),
    ApiKey.SHARE_ACKNOWLEDGE: (
        "share_fetch",
        "ShareAcknowledgeRequest",
        "ShareAcknowledgeResponse",
    ),
    ApiKey.ADD_RAFT_VOTER: ("quorum", "AddRaftVoterRequest", "AddRaftVoterResponse"),
    ApiKey.REMOVE_RAFT_VOTER: ("quorum", "RemoveRaftVoterRequest", "RemoveRaftVoterResponse"),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (
        "share_state",
        "InitializeShareGroupStateRequest",
        "InitializeShareGroupStateResponse",
    ),
    ApiKey.READ_SHARE_GROUP_STATE: (
        "share_state",
        "ReadShareGroupStateRequest",
        "ReadShareGroupStateResponse",
    ),
    ApiKey.WRITE_SHARE_GROUP_STATE: (
        "share_state",
        "WriteShareGroupStateRequest",
        "WriteShareGroupStateResponse",
    ),
    ApiKey.DELETE_SHARE_GROUP_STATE: (
        "share_state",
        "DeleteShareGroupStateRequest",
        "DeleteShareGroupStateResponse",
    ),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (
        "share_state",
        "ReadShareGroupStateSummaryRequest",
        "ReadShareGroupStateSummaryResponse",
    ),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (
        "streams_groups",
        "StreamsGroupHeartbeatRequest",
        "StreamsGroupHeartbeatResponse",
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: (
        "streams_group_admin",
        "StreamsGroupDescribeRequest",
        "StreamsGroupDescribeResponse",
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        "share_groups",
        "DescribeShareGroupOffsetsRequest",
        "DescribeShareGroupOffsetsResponse",
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (
        "share_groups",
        "AlterShareGroupOffsetsRequest",
        "AlterShareGroupOffsetsResponse",
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (
        "share_groups",
        "DeleteShareGroupOffsetsRequest",
        "DeleteShareGroupOffsetsResponse",
    ),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: (
        "streams_group_admin",
        "StreamsGroupTopologyDescriptionUpdateRequest",
        "StreamsGroupTopologyDescriptionUpdateResponse",
    ),
    ApiKey.UNREGISTER_CONTROLLER: (
        "quorum",
        "UnregisterControllerRequest",
        "UnregisterControllerResponse",
    ),
    ApiKey.VOTE: ("raft", "VoteRequest", "VoteResponse"),
    ApiKey.BEGIN_QUORUM_EPOCH: ("raft", "BeginQuorumEpochRequest", "BeginQuorumEpochResponse"),
    ApiKey.END_QUORUM_EPOCH: ("raft", "EndQuorumEpochRequest", "EndQuorumEpochResponse"),
    ApiKey.ALTER_PARTITION: ("controller_apis", "AlterPartitionRequest", "AlterPartitionResponse"),
    ApiKey.ENVELOPE: ("controller_apis", "EnvelopeRequest", "EnvelopeResponse"),
    ApiKey.FETCH_SNAPSHOT: ("raft", "FetchSnapshotRequest", "FetchSnapshotResponse"),
    ApiKey.BROKER_REGISTRATION: (
        "controller_apis",
        "BrokerRegistrationRequest",
        "BrokerRegistrationResponse",
    ),
    ApiKey.BROKER_HEARTBEAT: (
        "controller_apis",
        "BrokerHeartbeatRequest",
        "BrokerHeartbeatResponse",
    ),
    ApiKey.ALLOCATE_PRODUCER_IDS: (
        "controller_apis",
        "AllocateProducerIdsRequest",
        "AllocateProducerIdsResponse",
    ),
    ApiKey.CONTROLLER_REGISTRATION: (
        "controller_apis",
        "ControllerRegistrationRequest",
        "ControllerRegistrationResponse",
    ),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: (
        "controller_apis",
        "AssignReplicasToDirsRequest",
        "AssignReplicasToDirsResponse",
    ),
    ApiKey.UPDATE_RAFT_VOTER: ("raft", "UpdateRaftVoterRequest", "UpdateRaftVoterResponse"),
}
"""API key → (module in this package, request class, response class)."""

_classes: Final[dict[int, tuple[type, type]]] = {}


def request_class(api_key: int) -> type:
    """The request class of an API; imports its module on first use. KeyError if unknown."""
    return (_classes.get(api_key) or _load(api_key))[0]


def response_class(api_key: int) -> type:
    """The response class of an API; imports its module on first use. KeyError if unknown."""
    return (_classes.get(api_key) or _load(api_key))[1]


def _load(api_key: int) -> tuple[type, type]:
    name, request, response = CATALOG[api_key]
    module = import_module(f"mockbroker_protocol.messages.{name}")
    classes: tuple[type, type] = (getattr(module, request), getattr(module, response))
    _classes[api_key] = classes
    return classes
