"""Which APIs this broker serves, in which versions, and the code behind each.

What is of the wire (versions, messages) is the API's line in `mockbroker_protocol.api_keys`; what
this broker does is its module here: `handle` answers a request, `guard` asks an authorizer first.
All tables derive from the two. `broker` looks a request up in a `Registry`, `apis.api_versions`
advertises the same, so nothing is advertised that is not served. Modules and messages are imported
at the first request of their API: a broker that starts has imported none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from mockbroker.apis.context import ServedApi
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey, VersionRange
from mockbroker_protocol.api_keys import EXTENSION as EXTENSION_API

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.apis.context import Decode, Encode, Handle, RequestContext, Services
    from mockbroker_protocol.primitives import Buffer


def _by_key(modules: str) -> dict[ApiKey, str]:
    return {
        ApiKey[name.rpartition(".")[2].upper()]: f"mockbroker.apis.{name}"
        for name in modules.split()
    }


SERVED: Final = _by_key(
    """
    produce
    fetch
    list_offsets
    metadata
    offset_commit
    offset_fetch
    find_coordinator
    join_group
    heartbeat
    leave_group
    sync_group
    describe_groups
    list_groups
    sasl_handshake
    api_versions
    create_topics
    delete_topics
    delete_records
    init_producer_id
    offset_for_leader_epoch
    add_partitions_to_txn
    add_offsets_to_txn
    end_txn
    write_txn_markers
    txn_offset_commit
    describe_acls
    create_acls
    delete_acls
    describe_configs
    alter_configs
    alter_replica_log_dirs
    describe_log_dirs
    sasl_authenticate
    create_partitions
    create_delegation_token
    renew_delegation_token
    expire_delegation_token
    describe_delegation_token
    delete_groups
    incremental_alter_configs
    elect_leaders
    alter_partition_reassignments
    list_partition_reassignments
    offset_delete
    describe_client_quotas
    alter_client_quotas
    describe_user_scram_credentials
    alter_user_scram_credentials
    describe_quorum
    update_features
    consumer_group_heartbeat
    consumer_group_describe
    describe_cluster
    describe_producers
    unregister_broker
    describe_transactions
    list_transactions
    get_telemetry_subscriptions
    push_telemetry
    list_config_resources
    describe_topic_partitions
    add_raft_voter
    remove_raft_voter
    unregister_controller
    """
)
"""What a broker's listener serves: the module of each API, which has its name."""

EXTENDED: Final = {
    ApiKey.API_VERSIONS: "mockbroker.coop.api_versions",
    ApiKey.FETCH: "mockbroker.coop.fetch",
    ApiKey.JOIN_GROUP: "mockbroker.coop.join_group",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "mockbroker.coop.consumer_group_heartbeat",
    ApiKey.METADATA: "mockbroker.coop.metadata",
    ApiKey.OFFSET_COMMIT: "mockbroker.coop.offset_commit",
    ApiKey.OFFSET_FETCH: "mockbroker.coop.offset_fetch",
    ApiKey.SYNC_GROUP: "mockbroker.coop.sync_group",
    ApiKey.TXN_OFFSET_COMMIT: "mockbroker.coop.txn_offset_commit",
    ApiKey.DESCRIBE_INDIVIDUAL_COMMITS: "mockbroker.coop.describe_individual_commits",
    ApiKey.REGISTER_KEY_RANGE_FILTER: "mockbroker.coop.register_key_range_filter",
}
"""What a broker's listener serves in their place, and beside, where `coop.extension.enable` is."""
EXTENSION: Final = "mockbroker.coop.extension"
"""The module that adds to a node what `Extension` says."""

CONTROLLER_SERVED: Final = _by_key(
    """
    controller.fetch
    sasl_handshake
    api_versions
    create_topics
    delete_topics
    describe_acls
    create_acls
    delete_acls
    alter_configs
    sasl_authenticate
    create_partitions
    create_delegation_token
    renew_delegation_token
    expire_delegation_token
    elect_leaders
    incremental_alter_configs
    alter_partition_reassignments
    list_partition_reassignments
    alter_client_quotas
    alter_user_scram_credentials
    describe_quorum
    controller.alter_partition
    update_features
    controller.envelope
    controller.fetch_snapshot
    controller.broker_registration
    controller.broker_heartbeat
    unregister_broker
    controller.allocate_producer_ids
    add_raft_voter
    remove_raft_voter
    unregister_controller
    """
)
"""The same of a controller's listener."""

PROFILES: Final[dict[str, dict[ApiKey, VersionRange]]] = {
    "widest": {},
    "4.4": {ApiKey.FETCH: VersionRange(4, 18), ApiKey.PRODUCE: VersionRange(3, 13)},
}
"""What each value of `mockbroker.version.profile` narrows; all else is the codec's range."""

LARGE_BYTES: Final = 64 * 1024
"""A request that is larger may hold so much that it is worked on in slices."""
LARGE_BYTES_OF: Final[dict[ApiKey, int]] = {
    ApiKey.DESCRIBE_GROUPS: 1024,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 1024,
    ApiKey.DESCRIBE_CONFIGS: 1024,
    ApiKey.DESCRIBE_PRODUCERS: 1024,
    ApiKey.DESCRIBE_TRANSACTIONS: 1024,
    ApiKey.ALTER_CONFIGS: 16384,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 16384,
    ApiKey.FETCH: 36 * 1024,
    ApiKey.LIST_OFFSETS: 8192,
    ApiKey.METADATA: 8192,
    ApiKey.FIND_COORDINATOR: 8192,
    ApiKey.OFFSET_FETCH: 8192,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 8192,
    ApiKey.DELETE_RECORDS: 8192,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: 8192,
    ApiKey.LEAVE_GROUP: 8192,
    ApiKey.OFFSET_DELETE: 8192,
    ApiKey.WRITE_TXN_MARKERS: 2048,
}
"""The same where each element is work: the less, the more the answer tells of one."""

_MIN_CONTROLLER_FETCH: Final = 4
PRODUCE_ADVERTISED_MIN: Final = 0
"""Apache Kafka 4 advertises Produce from 0 and serves it from 3, because older librdkafka derives
the compression types from it (KAFKA-18659)."""


class Api(ServedApi):
    """One API: its range, and its code, which is imported at the first request.

    `decode` reads a request body at a position of a frame, `encode` makes a response's chunks;
    `requests` counts what was handled, with its bytes and those of the answers. A request of more
    than `large_bytes` is worked on in slices; of a `guarded` API an authorizer decides what may be.
    """

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
        self.large_bytes = LARGE_BYTES_OF.get(key, LARGE_BYTES)
        self.requests = 0
        self.request_bytes = 0
        self.response_bytes = 0
        self.handle = self._load_and_handle
        self.decode = self._load_and_decode
        self.encode = self._load_and_encode

    def load(self) -> None:
        """Import the handler's module and the codec of its messages."""
        module = import_module(self.module)
        self.handle = cast("Handle", module.handle)
        if self.guarded and module.guard is not None:
            from mockbroker.apis.auth_helper import guarded

            self.handle = guarded(module.guard, self.handle)
        self.decode, self.encode = _BY_HAND.get(self.key, _codec)(self.key)

    def _load_and_handle(self, services: Services, ctx: RequestContext, request: object) -> object:
        self.load()
        return self.handle(services, ctx, request)

    def _load_and_decode(self, buf: Buffer, pos: int, version: int) -> object:
        self.load()
        return self.decode(buf, pos, version)

    def _load_and_encode(self, response: object, version: int) -> list[Buffer]:
        self.load()
        return self.encode(response, version)


class _Apis(dict[int, Api | None]):
    """APIs by key, each made when it is first asked for; None for a key that is not served."""

    __slots__ = ("_guarded", "_narrowed", "served")

    def __init__(
        self,
        served: Mapping[ApiKey, str],
        narrowed: Mapping[ApiKey, VersionRange],
        *,
        guarded: bool,
    ) -> None:
        super().__init__()
        self.served = served
        self._narrowed = narrowed
        self._guarded = guarded

    def __missing__(self, number: int) -> Api | None:
        spec = ALL_SPECS.get(number)
        module = None if spec is None else self.served.get(spec.key)
        if spec is None or module is None:
            return None
        low, high = self.versions(spec.key)
        api = self[number] = Api(spec.key, module, low, high, guarded=self._guarded)
        return api

    def versions(self, key: ApiKey) -> VersionRange:
        """Those in which it is served."""
        narrowed = self._narrowed.get(key)
        if narrowed is not None:
            return narrowed
        return VersionRange(ALL_SPECS[key].min_version, ALL_SPECS[key].max_version)


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
        self._apis = _Apis(served, narrowed, guarded=guarded)
        self.get: Callable[[int], Api | None] = self._apis.__getitem__
        """The API, whether or not the version is served."""
        self._advertised: dict[int, VersionRange] = {}

    def apis(self) -> list[Api]:
        """Those that were asked for, in the order in which they are served."""
        made = map(self._apis.get, self._apis.served)
        return [api for api in made if api is not None]

    def versions(self) -> dict[int, VersionRange]:
        """Those in which each is served, by ascending key."""
        return {int(key): self._apis.versions(key) for key in sorted(self._apis.served)}

    def advertised(self) -> dict[int, VersionRange]:
        """What ApiVersions tells clients, by ascending key: nothing that Kafka does not have."""
        ranges = self._advertised
        if not ranges:
            for key, versions in self.versions().items():
                if ALL_SPECS[key].key.listener != EXTENSION_API:
                    ranges[key] = versions
            produce = ranges.get(ApiKey.PRODUCE)
            if produce is not None:
                ranges[ApiKey.PRODUCE] = produce._replace(min_version=PRODUCE_ADVERTISED_MIN)
        return ranges


def controller_registry(max_fetch_version: int, *, guarded: bool) -> Registry:
    """The APIs of a controller's listener; Fetch up to that version (18: KIP-1166)."""
    fetch = VersionRange(_MIN_CONTROLLER_FETCH, max_fetch_version)
    return Registry(served=CONTROLLER_SERVED, narrowed={ApiKey.FETCH: fetch}, guarded=guarded)


def _fetch_codec(_key: ApiKey) -> tuple[Decode, Encode]:
    from mockbroker_protocol.fetch_codec import decode_fetch_request, encode_fetch_response

    return decode_fetch_request, cast("Encode", encode_fetch_response)


def _produce_codec(_key: ApiKey) -> tuple[Decode, Encode]:
    from mockbroker_protocol.produce_codec import decode_produce_request, encode_produce_response

    return decode_produce_request, cast("Encode", encode_produce_response)


def _metadata_codec(_key: ApiKey) -> tuple[Decode, Encode]:
    from mockbroker_protocol.metadata_codec import (
        decode_metadata_request,
        encode_metadata_response,
    )

    return decode_metadata_request, cast("Encode", encode_metadata_response)


_BY_HAND: Final = {
    ApiKey.FETCH: _fetch_codec,
    ApiKey.METADATA: _metadata_codec,
    ApiKey.PRODUCE: _produce_codec,
}
"""What is decoded and encoded by hand."""


def _codec(key: ApiKey) -> tuple[Decode, Encode]:
    """All other messages go through their plans."""
    from mockbroker_protocol.messages.catalog import request_class
    from mockbroker_protocol.plan import decode, encode

    message_class: type[object] = request_class(key)

    def decode_request(buf: Buffer, pos: int, version: int) -> object:
        return decode(message_class, version, buf, pos)[0]

    return decode_request, encode
