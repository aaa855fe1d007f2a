"""The APIs of Kafka 4.4: one line each says what is of the wire, and all tables derive from it.

A line of `ApiKey` has the key, the module of `messages` that declares its request and response, the
versions that this codec decodes and the first flexible one. The ranges are those of a broker's
listener of Kafka 4.4, widened where older clients need it: Fetch begins at 3 and Produce at 0. What
is advertised is decided elsewhere. Source: Kafka's message schemas (RequestName.json: apiKey,
validVersions, flexibleVersions, listeners); unstable versions (latestVersionUnstable) are left out.
Keys without more are of APIs that Kafka removed, or that nobody here speaks.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self

from mockbroker_protocol.named_tuple import NamedTuple

NEVER: Final = 32767
"""As a first flexible version: no version of this API is flexible."""
BROKER: Final = "broker"
CONTROLLER: Final = "controller"
"""The listeners that serve an API, as in Kafka's schemas; one on both is a broker's here."""
EXTENSION: Final = "extension"
"""The same of APIs that Kafka does not have: a broker's listener with `coop.extension.enable`."""


class ApiKey(IntEnum):
    """Numbers of org.apache.kafka.common.protocol.ApiKeys.

    key, module of its messages, first and last version, first flexible version (, listener)
    """

    messages: str
    min_version: int
    max_version: int
    flexible: int
    listener: str

    def __new__(
        cls,
        key: int,
        messages: str = "",
        min_version: int = 0,
        max_version: int = -1,
        flexible: int = NEVER,
        listener: str = BROKER,
    ) -> Self:
        api = int.__new__(cls, key)
        api._value_ = key
        api.messages = messages
        api.min_version = min_version
        api.max_version = max_version
        api.flexible = flexible
        api.listener = listener
        return api

    PRODUCE = 0, "produce", 0, 13, 9
    FETCH = 1, "fetch", 3, 18, 12
    LIST_OFFSETS = 2, "list_offsets", 1, 11, 6
    METADATA = 3, "metadata", 0, 13, 9
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8, "group_offsets", 2, 10, 8
    OFFSET_FETCH = 9, "group_offsets", 1, 10, 6
    FIND_COORDINATOR = 10, "find_coordinator", 0, 6, 3
    JOIN_GROUP = 11, "group_membership", 0, 9, 6
    HEARTBEAT = 12, "group_membership", 0, 4, 4
    LEAVE_GROUP = 13, "group_membership", 0, 5, 4
    SYNC_GROUP = 14, "group_membership", 0, 5, 4
    DESCRIBE_GROUPS = 15, "group_admin", 0, 6, 5
    LIST_GROUPS = 16, "group_admin", 0, 5, 3
    SASL_HANDSHAKE = 17, "sasl", 0, 1, NEVER
    API_VERSIONS = 18, "api_versions", 0, 5, 3
    CREATE_TOPICS = 19, "topics", 2, 7, 5
    DELETE_TOPICS = 20, "topics", 1, 6, 4
    DELETE_RECORDS = 21, "topics", 0, 2, 2
    INIT_PRODUCER_ID = 22, "transactions", 0, 5, 2
    OFFSET_FOR_LEADER_EPOCH = 23, "list_offsets", 2, 4, 4
    ADD_PARTITIONS_TO_TXN = 24, "transactions", 0, 5, 3
    ADD_OFFSETS_TO_TXN = 25, "transactions", 0, 4, 3
    END_TXN = 26, "transactions", 0, 5, 3
    WRITE_TXN_MARKERS = 27, "transaction_admin", 1, 2, 1
    TXN_OFFSET_COMMIT = 28, "transactions", 0, 6, 3
    DESCRIBE_ACLS = 29, "acls", 1, 3, 2
    CREATE_ACLS = 30, "acls", 1, 3, 2
    DELETE_ACLS = 31, "acls", 1, 3, 2
    DESCRIBE_CONFIGS = 32, "configs", 1, 4, 4
    ALTER_CONFIGS = 33, "configs", 0, 2, 2
    ALTER_REPLICA_LOG_DIRS = 34, "log_dirs", 1, 2, 2
    DESCRIBE_LOG_DIRS = 35, "log_dirs", 1, 5, 2
    SASL_AUTHENTICATE = 36, "sasl", 0, 2, 2
    CREATE_PARTITIONS = 37, "topics", 0, 3, 2
    CREATE_DELEGATION_TOKEN = 38, "delegation_tokens", 1, 3, 2
    RENEW_DELEGATION_TOKEN = 39, "delegation_tokens", 1, 2, 2
    EXPIRE_DELEGATION_TOKEN = 40, "delegation_tokens", 1, 2, 2
    DESCRIBE_DELEGATION_TOKEN = 41, "delegation_tokens", 1, 3, 2
    DELETE_GROUPS = 42, "group_admin", 0, 3, 2
    ELECT_LEADERS = 43, "reassignments", 0, 2, 2
    INCREMENTAL_ALTER_CONFIGS = 44, "configs", 0, 1, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, "reassignments", 0, 1, 0
    LIST_PARTITION_REASSIGNMENTS = 46, "reassignments", 0, 0, 0
    OFFSET_DELETE = 47, "group_offsets", 0, 0, NEVER
    DESCRIBE_CLIENT_QUOTAS = 48, "quotas", 0, 1, 1
    ALTER_CLIENT_QUOTAS = 49, "quotas", 0, 1, 1
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, "scram", 0, 0, 0
    ALTER_USER_SCRAM_CREDENTIALS = 51, "scram", 0, 0, 0
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55, "quorum", 0, 2, 0
    ALTER_PARTITION = 56, "controller_apis", 2, 3, 0, CONTROLLER
    UPDATE_FEATURES = 57, "features", 0, 2, 0
    ENVELOPE = 58, "controller_apis", 0, 0, 0, CONTROLLER
    FETCH_SNAPSHOT = 59, "raft", 0, 1, 0, CONTROLLER
    DESCRIBE_CLUSTER = 60, "metadata", 0, 2, 0
    DESCRIBE_PRODUCERS = 61, "transaction_admin", 0, 0, 0
    BROKER_REGISTRATION = 62, "controller_apis", 0, 4, 0, CONTROLLER
    BROKER_HEARTBEAT = 63, "controller_apis", 0, 2, 0, CONTROLLER
    UNREGISTER_BROKER = 64, "quorum", 0, 0, 0
    DESCRIBE_TRANSACTIONS = 65, "transaction_admin", 0, 0, 0
    LIST_TRANSACTIONS = 66, "transaction_admin", 0, 2, 0
    ALLOCATE_PRODUCER_IDS = 67, "controller_apis", 0, 0, 0, CONTROLLER
    CONSUMER_GROUP_HEARTBEAT = 68, "consumer_group", 0, 1, 0
    CONSUMER_GROUP_DESCRIBE = 69, "group_admin", 0, 1, 0
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71, "telemetry", 0, 0, 0
    PUSH_TELEMETRY = 72, "telemetry", 0, 0, 0
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74, "configs", 0, 1, 0
    DESCRIBE_TOPIC_PARTITIONS = 75, "metadata", 0, 0, 0
    SHARE_GROUP_HEARTBEAT = 76, "share_groups", 1, 1, 0
    SHARE_GROUP_DESCRIBE = 77, "share_groups", 1, 1, 0
    SHARE_FETCH = 78, "share_fetch", 1, 2, 0
    SHARE_ACKNOWLEDGE = 79, "share_fetch", 1, 2, 0
    ADD_RAFT_VOTER = 80, "quorum", 0, 1, 0
    REMOVE_RAFT_VOTER = 81, "quorum", 0, 0, 0
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83, "share_state", 0, 0, 0
    READ_SHARE_GROUP_STATE = 84, "share_state", 0, 0, 0
    WRITE_SHARE_GROUP_STATE = 85, "share_state", 0, 1, 0
    DELETE_SHARE_GROUP_STATE = 86, "share_state", 0, 0, 0
    READ_SHARE_GROUP_STATE_SUMMARY = 87, "share_state", 0, 1, 0
    STREAMS_GROUP_HEARTBEAT = 88, "streams_groups", 0, 1, 0
    STREAMS_GROUP_DESCRIBE = 89, "streams_group_admin", 0, 1, 0
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, "share_groups", 0, 1, 0
    ALTER_SHARE_GROUP_OFFSETS = 91, "share_groups", 0, 0, 0
    DELETE_SHARE_GROUP_OFFSETS = 92, "share_groups", 0, 0, 0
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93, "streams_group_admin", 0, 0, 0
    UNREGISTER_CONTROLLER = 94, "quorum", 0, 0, 0
    DESCRIBE_INDIVIDUAL_COMMITS = 19700, "cooperation", 0, 0, 0, EXTENSION
    REGISTER_KEY_RANGE_FILTER = 19701, "cooperation", 0, 0, 0, EXTENSION


class VersionRange(NamedTuple):
    """Versions of one API, both ends included."""

    min_version: int
    max_version: int


class ApiSpec(NamedTuple):
    """One API: versions are inclusive, `flexible` is the first flexible version or NEVER.

    `name` is Kafka's, such as JoinGroup; `messages` the module that declares its classes.
    """

    key: ApiKey
    name: str
    min_version: int
    max_version: int
    flexible: int
    messages: str


ALL_SPECS: Final[dict[int, ApiSpec]] = {
    int(key): ApiSpec(
        key,
        key.name.title().replace("_", ""),
        key.min_version,
        key.max_version,
        key.flexible,
        key.messages,
    )
    for key in ApiKey
    if key.messages
}
API_SPECS: Final[dict[int, ApiSpec]] = {
    key: spec for key, spec in ALL_SPECS.items() if spec.key.listener == BROKER
}
"""Those that a broker's listener serves in Kafka; the others are a controller's alone."""
