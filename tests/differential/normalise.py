"""The named exceptions: where an answer may differ from Apache Kafka's, and why.

Everything that no exception names is compared as it is. An id is not blanked out but replaced by
its turn: the first topic id that a broker gives out becomes `<topic id 1>` wherever it comes again,
so an answer that mixes up two ids still differs.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.apis.registry import SERVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.trees import Tree

# These say that there is none: they are compared.
NONE = (None, "", 0, -1, "00" * 16)
APPEND_TIME_BIT, CONTROL_BIT = 8, 32
RUN_MS = 1_700_100_000_000
"""The script's own timestamps are before this, the clocks of the brokers after it."""


class Symbols:
    """Names the ids and times of one broker's answers by their turn."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Any], str] = {}
        self._counts: dict[str, int] = {}

    def name(self, kind: str, value: Any) -> Tree:
        if (kind, value) not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[kind, value] = f"<{kind} {self._counts[kind]}>"
        return self._names[kind, value]


class Named(NamedTuple):
    """One exception: the fields, as `Api.field.field` with * for any, and the reason."""

    fields: str
    change: Callable[[Tree, Symbols], Tree]
    reason: str


def an_id(kind: str, none: tuple[object, ...] = NONE) -> Callable[[Tree, Symbols], Tree]:
    return lambda value, symbols: value if value in none else symbols.name(kind, value)


def a_value(kind: str) -> Callable[[Tree, Symbols], Tree]:
    """Any real value counts as the same: a time, a port."""
    return lambda value, _: value if value in NONE else f"<{kind}>"


def in_any_order(*keys: str) -> Callable[[Tree, Symbols], Tree]:
    def change(value: Tree, _: Symbols) -> Tree:
        if not isinstance(value, list):
            return value
        return sorted(value, key=lambda item: [(item[key] is not None, item[key]) for key in keys])

    return change


def named(*names: str) -> Callable[[Tree, Symbols], Tree]:
    """Only the features of these names."""

    def change(value: Tree, _: Symbols) -> Tree:
        if not isinstance(value, list):
            return value
        return [item for item in value if item["name"] in names]

    return change


def by_entity(value: Tree, _: Symbols) -> Tree:
    return sorted(value, key=lambda item: str(item["entity"])) if isinstance(value, list) else value


def no_disk(_value: Tree, _: Symbols) -> Tree:
    return "<room>"


def not_there(_value: Tree, _: Symbols) -> Tree:
    return "<not there>"


def members_in_any_order(value: Tree, _: Symbols) -> Tree:
    """Ids that the script gave are short, those that were drawn are long."""
    if not isinstance(value, list):
        return value
    return sorted(value, key=lambda one: (len(one["member_id"]), one["member_id"]))


def numbers_in_any_order(value: Tree, _: Symbols) -> Tree:
    return sorted(value) if isinstance(value, list) else value


def a_clock_time(value: Tree, _: Symbols) -> Tree:
    """Times that the script gave are compared."""
    return "<time>" if isinstance(value, int) and value > RUN_MS else value


def no_append_times(value: Tree, _: Symbols) -> Tree:
    """Blanks the times of the batches that the broker stamped or, as markers, wrote."""
    for batch in value if isinstance(value, list) else ():
        if isinstance(batch, dict) and batch["attributes"] & (APPEND_TIME_BIT | CONTROL_BIT):
            batch["max_timestamp"] = "<time>"
            if batch["attributes"] & CONTROL_BIT:
                batch["base_timestamp"] = "<time>"
            for record in batch["records"]:
                record["timestamp"] = "<time>"
    return value


def no_cluster_id(value: Tree, _: Symbols) -> Tree:
    """The broker's own is the last that is quoted."""
    marker = "match the cluster id "
    if not isinstance(value, str) or marker not in value:
        return value
    return value[: value.index(marker) + len(marker)]


def served_here(value: Tree, _: Symbols) -> Tree:
    if not isinstance(value, list):
        return value
    return [item for item in value if item["api_key"] in SERVED]


def no_request(value: Tree, _: Symbols) -> Tree:
    """Kafka prints the request as an object."""
    if not isinstance(value, str):
        return value
    return re.sub(r"^Request Request\(.*\) needs", "Request needs", value)


def no_compressed_sizes(value: Tree, _: Symbols) -> Tree:
    """Of topics that are stored as zstd or LZ4 HC whatever comes; their names say so."""
    for topic in value if isinstance(value, list) else ():
        if topic["topic"].startswith(("stored-as-zstd", "stored-as-hc")):
            for batch in topic["partitions"][0]["records"]:
                batch["batch_length"] = "<size>"
    return value


def denied_in_any_order(value: Tree, _: Symbols) -> Tree:
    """Topics of pages: those that may be described come in their order, the others behind them."""
    if not isinstance(value, list):
        return value
    denied = [one for one in value if one["error_code"] == TOPIC_AUTHORIZATION_FAILED]
    if value[len(value) - len(denied) :] != denied:
        return value
    return value[: len(value) - len(denied)] + sorted(denied, key=lambda one: str(one["name"]))


def lifetimes(value: Tree, _: Symbols) -> Tree:
    """A token's times from when it was made."""
    if isinstance(value, dict) and isinstance(value["issue_timestamp_ms"], int):
        issued = value["issue_timestamp_ms"]
        for name in ("expiry_timestamp_ms", "max_timestamp_ms"):
            value[name] -= issued
    return value


TOPIC_AUTHORIZATION_FAILED = 29
RESOURCE = ("resource_type", "resource_name", "pattern_type")
ENTRY = ("principal", "operation", "permission_type", "host")
ORDER = "Kafka answers in the order of a hash map"

EXCEPTIONS: list[Named] = [
    # Orders come first: an id is named by its turn.
    Named("CreateTopics.topics", in_any_order("name"), ORDER),
    Named("CreateTopics.topics.configs", in_any_order("name"), ORDER),
    Named("CreatePartitions.results", in_any_order("name"), ORDER),
    Named("DeleteTopics.responses", in_any_order("error_code", "name"), ORDER),
    Named("DeleteRecords.topics", in_any_order("name"), ORDER),
    Named("DeleteRecords.topics.partitions", in_any_order("partition_index"), ORDER),
    Named(
        "ListConfigResources.config_resources",
        in_any_order("resource_type", "resource_name"),
        ORDER,
    ),
    Named("DescribeConfigs.results.configs", in_any_order("name"), ORDER),
    Named("DescribeTopicPartitions.topics", denied_in_any_order, ORDER),
    Named("ListOffsets.topics", in_any_order("name"), ORDER),
    Named("Metadata.topics", in_any_order("name", "error_code"), ORDER),
    Named("JoinGroup.members", in_any_order("metadata"), ORDER),
    Named("DescribeGroups.groups.members", in_any_order("member_metadata"), ORDER),
    Named("DescribeGroups.groups", in_any_order("group_id"), ORDER),
    Named("ConsumerGroupDescribe.groups", in_any_order("group_id"), ORDER),
    Named("ConsumerGroupDescribe.groups.members", members_in_any_order, ORDER),
    Named("ConsumerGroupDescribe.*.topic_partitions", in_any_order("topic_name"), ORDER),
    Named("ConsumerGroupDescribe.*.subscribed_topic_names", numbers_in_any_order, ORDER),
    Named("ConsumerGroupHeartbeat.*.topic_partitions", in_any_order("partitions"), ORDER),
    Named("DeleteGroups.results", in_any_order("group_id"), ORDER),
    Named("ListGroups.groups", in_any_order("group_id"), ORDER),
    Named("OffsetFetch*.topics", in_any_order("name"), ORDER),
    Named("OffsetFetch*.topics.partitions", in_any_order("partition_index"), ORDER),
    Named("AddPartitionsToTxn.results_by_transaction", in_any_order("transactional_id"), ORDER),
    Named("AddPartitionsToTxn.*results_by_topic_v3_and_below", in_any_order("name"), ORDER),
    Named("AddPartitionsToTxn.*topic_results", in_any_order("name"), ORDER),
    Named("AddPartitionsToTxn.*results_by_partition", in_any_order("partition_index"), ORDER),
    Named("ListOffsets.topics.partitions", in_any_order("partition_index", "error_code"), ORDER),
    Named("DescribeAcls.resources", in_any_order(*RESOURCE), ORDER),
    Named("DescribeAcls.resources.acls", in_any_order(*ENTRY), ORDER),
    Named("DeleteAcls.filter_results.matching_acls", in_any_order(*RESOURCE, *ENTRY), ORDER),
    Named("AlterUserScramCredentials.results", in_any_order("user"), ORDER),
    Named("DescribeDelegationToken.tokens", in_any_order("issue_timestamp"), ORDER),
    Named("DescribeDelegationToken.tokens.renewers", in_any_order("principal_name"), ORDER),
    Named("OffsetCommit.topics", in_any_order("name"), ORDER),
    Named("Produce.responses", in_any_order("name"), ORDER),
    Named("Produce.responses.partition_responses", in_any_order("index"), ORDER),
    Named("WriteTxnMarkers.markers.topics", in_any_order("name"), ORDER),
    Named("WriteTxnMarkers.markers.topics.partitions", in_any_order("partition_index"), ORDER),
    Named("DescribeTransactions.transaction_states.topics", in_any_order("topic"), ORDER),
    Named("DescribeTransactions.*.topics.partitions", numbers_in_any_order, ORDER),
    Named("DescribeUserScramCredentials.results", in_any_order("user"), ORDER),
    Named("AlterReplicaLogDirs.results", in_any_order("topic_name"), ORDER),
    Named("OffsetDelete.topics", in_any_order("name"), ORDER),
    Named("TxnOffsetCommit.topics", in_any_order("name"), ORDER),
    Named("DescribeProducers.*.active_producers", in_any_order("producer_id"), ORDER),
    Named("ListTransactions.transaction_states", in_any_order("transactional_id"), ORDER),
    Named("ApiVersions.*_features", in_any_order("name"), ORDER),
    Named("ApiVersions.api_keys", in_any_order("api_key"), ORDER),
    Named("ApiVersions.api_keys", served_here, "an API that is not here is not advertised"),
    Named(
        "ApiVersions.*_features",
        named("metadata.version", "kraft.version", "transaction.version"),
        "a feature whose APIs are not here is not claimed",
    ),
    Named("*.error_message", no_request, "addresses in memory are in it"),
    Named("AddRaftVoter.error_message", no_cluster_id, "each cluster has its own"),
    Named("RemoveRaftVoter.error_message", no_cluster_id, "each cluster has its own"),
    # Ids.
    Named("*.cluster_id", an_id("cluster id"), "each cluster has its own"),
    Named("*.topic_id", an_id("topic id"), "drawn at random"),
    Named("*.client_instance_id", an_id("client instance id"), "drawn at random"),
    Named("*.subscription_id", an_id("subscription id"), "follows from the client's random id"),
    Named("*.session_id", an_id("session id"), "drawn at random"),
    Named("*.producer_id", an_id("producer id", (-1,)), "counted from where the cluster stands"),
    Named("*.member_id", an_id("member id"), "drawn at random"),
    Named("*.leader", an_id("member id"), "drawn at random"),
    Named("*DelegationToken*.token_id", an_id("token id"), "drawn at random"),
    Named("*DelegationToken*.hmac", an_id("token's HMAC"), "follows from the token's id"),
    # Addresses and times.
    Named("CreateDelegationToken", lifetimes, "the broker's clock"),
    Named("*DelegationToken*_timestamp*", a_clock_time, "the broker's clock"),
    Named("DescribeLogDirs.results.log_dir", a_value("path"), "each broker has its own"),
    Named("DescribeLogDirs.results.*_bytes", no_disk, "nothing is on a disk here"),
    Named("DescribeLogDirs.results.topics.partitions", in_any_order("partition_index"), ORDER),
    Named("*ClientQuotas.entries.entity", in_any_order("entity_type"), ORDER),
    Named("*ClientQuotas.entries.values", in_any_order("key"), ORDER),
    Named("*ClientQuotas.entries", by_entity, ORDER),
    Named("AlterReplicaLogDirs.results.partitions", in_any_order("partition_index"), ORDER),
    Named("*.port", a_value("port"), "each broker has its own"),
    Named("Produce.throttle_time_ms", a_value("time"), "the broker's clock"),
    Named("Produce.*.log_append_time_ms", a_value("time"), "the broker's clock"),
    Named("Fetch.responses.partitions.records", no_append_times, "the broker's clock"),
    Named("Fetch.responses", no_compressed_sizes, "other releases of these libraries"),
    Named("DescribeTransactions.*.transaction_start_time_ms", a_value("time"), "its clock"),
    Named("DescribeProducers.*.last_timestamp", a_clock_time, "of a marker, the broker's clock"),
    Named("ApiVersions.finalized_features_epoch", a_value("epoch"), "counts metadata records"),
    Named("DescribeQuorum.*.leader_epoch", a_value("epoch"), "Kafka elects when it starts"),
    Named("DescribeQuorum.*.high_watermark", a_value("offset"), "it has no-op records too"),
    Named("DescribeQuorum.*.log_end_offset", a_value("offset"), "it has no-op records too"),
    Named("DescribeQuorum.*_timestamp", a_value("time"), "the broker's clock"),
    Named("DescribeQuorum.*.replica_directory_id", not_there, "no log of its own is there"),
    Named("DescribeQuorum.nodes.listeners", not_there, "no controller's listener is there"),
    # Words for people, which name the same field or record in other words.
    Named("DescribeConfigs.*.documentation", a_value("words"), "our own words"),
    Named("DescribeAcls.error_message", a_value("words"), "our own words"),
    Named("Produce.*.error_message", a_value("words"), "our own words"),
    Named("Produce.*.batch_index_error_message", a_value("words"), "our own words"),
]


def normalise(api: str, tree: Tree, symbols: Symbols) -> Tree:
    return change_below(api, tree, symbols)


def change_below(path: str, tree: Tree, symbols: Symbols) -> Tree:
    """Applies the exceptions of this path, then those of the paths below it."""
    for exception in EXCEPTIONS:
        if fnmatchcase(path, exception.fields):
            tree = exception.change(tree, symbols)
    if isinstance(tree, dict):
        return {
            name: change_below(f"{path}.{name}", value, symbols) for name, value in tree.items()
        }
    if isinstance(tree, list):
        return [change_item(path, item, symbols) for item in tree]
    return tree


def change_item(path: str, item: Tree, symbols: Symbols) -> Tree:
    """A list's items have the list's path, whose own exceptions are applied already."""
    if isinstance(item, dict):
        return {
            name: change_below(f"{path}.{name}", value, symbols) for name, value in item.items()
        }
    return item
