"""Which APIs this broker serves, in which versions, and the code behind each.

`broker` looks a request up here; `apis.api_versions` advertises the same table, so nothing is
advertised that is not served. The handler's module and the message's classes are imported at the
first request of their API: a broker that starts has imported none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.primitives import Buffer

    Decode = Callable[[Buffer, int, int], object]
    Encode = Callable[[object, int], list[Buffer]]


class Handle(Protocol):
    """A handler: a response message or one of the sentinels of `apis.context`."""

    def __call__(self, services: Services, ctx: RequestContext, request: object) -> object: ...


class VersionRange(NamedTuple):
    """Versions of one API, both ends included."""

    min_version: int
    max_version: int


SERVED: Final[dict[ApiKey, str]] = {
    ApiKey.PRODUCE: "produce",
    ApiKey.FETCH: "fetch",
    ApiKey.LIST_OFFSETS: "list_offsets",
    ApiKey.METADATA: "metadata",
    ApiKey.OFFSET_COMMIT: "offset_commit",
    ApiKey.OFFSET_FETCH: "offset_fetch",
    ApiKey.FIND_COORDINATOR: "find_coordinator",
    ApiKey.JOIN_GROUP: "join_group",
    ApiKey.HEARTBEAT: "heartbeat",
    ApiKey.LEAVE_GROUP: "leave_group",
    ApiKey.SYNC_GROUP: "sync_group",
    ApiKey.DESCRIBE_GROUPS: "describe_groups",
    ApiKey.LIST_GROUPS: "list_groups",
    ApiKey.API_VERSIONS: "api_versions",
    ApiKey.CREATE_TOPICS: "create_topics",
    ApiKey.DELETE_TOPICS: "delete_topics",
    ApiKey.DELETE_RECORDS: "delete_records",
    ApiKey.INIT_PRODUCER_ID: "init_producer_id",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    ApiKey.ADD_PARTITIONS_TO_TXN: "add_partitions_to_txn",
    ApiKey.ADD_OFFSETS_TO_TXN: "add_offsets_to_txn",
    ApiKey.END_TXN: "end_txn",
    ApiKey.WRITE_TXN_MARKERS: "write_txn_markers",
    ApiKey.TXN_OFFSET_COMMIT: "txn_offset_commit",
    ApiKey.DESCRIBE_ACLS: "describe_acls",
    ApiKey.CREATE_ACLS: "create_acls",
    ApiKey.DELETE_ACLS: "delete_acls",
    ApiKey.DESCRIBE_CONFIGS: "describe_configs",
    ApiKey.ALTER_CONFIGS: "alter_configs",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "alter_replica_log_dirs",
    ApiKey.DESCRIBE_LOG_DIRS: "describe_log_dirs",
    ApiKey.CREATE_PARTITIONS: "create_partitions",
    ApiKey.DELETE_GROUPS: "delete_groups",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "incremental_alter_configs",
    ApiKey.ELECT_LEADERS: "elect_leaders",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "alter_partition_reassignments",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "list_partition_reassignments",
    ApiKey.OFFSET_DELETE: "offset_delete",
    ApiKey.DESCRIBE_CLIENT_QUOTAS: "describe_client_quotas",
    ApiKey.ALTER_CLIENT_QUOTAS: "alter_client_quotas",
    ApiKey.DESCRIBE_QUORUM: "describe_quorum",
    ApiKey.UPDATE_FEATURES: "update_features",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer_group_heartbeat",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "consumer_group_describe",
    ApiKey.DESCRIBE_CLUSTER: "describe_cluster",
    ApiKey.DESCRIBE_PRODUCERS: "describe_producers",
    ApiKey.UNREGISTER_BROKER: "unregister_broker",
    ApiKey.DESCRIBE_TRANSACTIONS: "describe_transactions",
    ApiKey.LIST_TRANSACTIONS: "list_transactions",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "get_telemetry_subscriptions",
    ApiKey.PUSH_TELEMETRY: "push_telemetry",
    ApiKey.LIST_CONFIG_RESOURCES: "list_config_resources",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "describe_topic_partitions",
    ApiKey.ADD_RAFT_VOTER: "add_raft_voter",
    ApiKey.REMOVE_RAFT_VOTER: "remove_raft_voter",
    ApiKey.UNREGISTER_CONTROLLER: "unregister_controller",
}

CONTROLLER_SERVED: Final[dict[ApiKey, str]] = {
    ApiKey.FETCH: "controller.fetch",
    ApiKey.API_VERSIONS: "api_versions",
    ApiKey.CREATE_TOPICS: "create_topics",
    ApiKey.DELETE_TOPICS: "delete_topics",
    ApiKey.ALTER_CONFIGS: "alter_configs",
    ApiKey.CREATE_PARTITIONS: "create_partitions",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "incremental_alter_configs",
    ApiKey.DESCRIBE_QUORUM: "describe_quorum",
    ApiKey.ALTER_PARTITION: "controller.alter_partition",
    ApiKey.ENVELOPE: "controller.envelope",
    ApiKey.FETCH_SNAPSHOT: "controller.fetch_snapshot",
    ApiKey.BROKER_REGISTRATION: "controller.broker_registration",
    ApiKey.BROKER_HEARTBEAT: "controller.broker_heartbeat",
    ApiKey.UNREGISTER_BROKER: "unregister_broker",
    ApiKey.ALLOCATE_PRODUCER_IDS: "controller.allocate_producer_ids",
    ApiKey.ADD_RAFT_VOTER: "add_raft_voter",
    ApiKey.REMOVE_RAFT_VOTER: "remove_raft_voter",
    ApiKey.UNREGISTER_CONTROLLER: "unregister_controller",
}
"""What a controller's listener serves, by the module under `apis`."""


PROFILES: Final[dict[str, dict[ApiKey, VersionRange]]] = {
    "widest": {},
    "4.4": {ApiKey.FETCH: VersionRange(4, 18), ApiKey.PRODUCE: VersionRange(3, 13)},
}
"""What each value of `mockbroker.version.profile` narrows; all else is the codec's range."""

_MIN_CONTROLLER_FETCH: Final = 4
PRODUCE_ADVERTISED_MIN: Final = 0
"""Apache Kafka 4 advertises Produce from 0 and serves it from 3, because older librdkafka derives
the compression types from it (KAFKA-18659)."""


class Api:
    """One API: its range, and its code, which is imported at the first request.

    `decode` reads a request body at a position of a frame, `encode` makes a response's chunks;
    `requests` counts what was handled; of one that is `guarded`, an authorizer decides what may be.
    """

    __slots__ = (
        "decode",
        "encode",
        "guarded",
        "handle",
        "key",
        "max_version",
        "min_version",
        "module",
        "name",
        "requests",
    )

    def __init__(
        self,
        key: ApiKey,
        module: str,
        min_version: int,
        max_version: int,
        *,
        guarded: bool = False,
    ) -> None:
        self.key = key
        self.guarded = guarded
        self.module = module
        self.name = ALL_SPECS[key].name
        self.min_version = min_version
        self.max_version = max_version
        self.requests = 0
        self.handle: Handle = self._load_and_handle
        self.decode: Decode = self._load_and_decode
        self.encode: Encode = self._load_and_encode

    def load(self) -> None:
        """Import the handler's module and the codec of its messages."""
        module = import_module(f"mockbroker.apis.{self.module}")
        self.handle = cast("Handle", module.handle)
        if self.guarded:
            from mockbroker.apis.authorization import guard

            self.handle = guard(self.key, self.handle)
        self.decode, self.encode = _fetch_codec() if self.key is ApiKey.FETCH else _codec(self.key)

    def _load_and_handle(self, services: Services, ctx: RequestContext, request: object) -> object:
        self.load()
        return self.handle(services, ctx, request)

    def _load_and_decode(self, buf: Buffer, pos: int, version: int) -> object:
        self.load()
        return self.decode(buf, pos, version)

    def _load_and_encode(self, response: object, version: int) -> list[Buffer]:
        self.load()
        return self.encode(response, version)


class Registry:
    """The APIs of one listener: `served` names their modules, `narrowed` versions of some.

    `guarded`: what requests may do is up to the broker's authorizer.
    """

    def __init__(
        self,
        profile: str = "widest",
        served: Mapping[ApiKey, str] = SERVED,
        narrowed: Mapping[ApiKey, VersionRange] | None = None,
        *,
        guarded: bool = False,
    ) -> None:
        if narrowed is None:
            narrowed = PROFILES[profile]
        self._apis: dict[int, Api] = {}
        for key, module in served.items():
            spec = ALL_SPECS[key]
            versions = narrowed.get(key, VersionRange(spec.min_version, spec.max_version))
            self._apis[int(key)] = Api(
                key, module, versions.min_version, versions.max_version, guarded=guarded
            )

    def get(self, api_key: int) -> Api | None:
        """The API, whether or not the version is served."""
        return self._apis.get(api_key)

    def apis(self) -> Iterable[Api]:
        """All of them."""
        return self._apis.values()

    def advertised(self) -> dict[int, VersionRange]:
        """What ApiVersions tells clients, by ascending key."""
        ranges = {
            key: VersionRange(api.min_version, api.max_version)
            for key, api in sorted(self._apis.items())
        }
        produce = ranges.get(ApiKey.PRODUCE)
        if produce is not None:
            ranges[ApiKey.PRODUCE] = produce._replace(min_version=PRODUCE_ADVERTISED_MIN)
        return ranges


def controller_registry(max_fetch_version: int) -> Registry:
    """The APIs of a controller's listener; Fetch up to that version (18: KIP-1166)."""
    fetch = VersionRange(_MIN_CONTROLLER_FETCH, max_fetch_version)
    return Registry(served=CONTROLLER_SERVED, narrowed={ApiKey.FETCH: fetch})


def _fetch_codec() -> tuple[Decode, Encode]:
    """Fetch is decoded and encoded by hand."""
    from mockbroker_protocol.fetch_codec import decode_fetch_request, encode_fetch_response

    return decode_fetch_request, cast("Encode", encode_fetch_response)


def _codec(key: ApiKey) -> tuple[Decode, Encode]:
    """All other messages go through their plans."""
    from mockbroker_protocol.messages.catalog import request_class
    from mockbroker_protocol.plan import decode, encode

    message_class: type[object] = request_class(key)

    def decode_request(buf: Buffer, pos: int, version: int) -> object:
        return decode(message_class, version, buf, pos)[0]

    return decode_request, encode
