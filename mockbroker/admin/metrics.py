"""What a cluster counts, as Prometheus' text format has it. `routes.health` answers with it.

Names and types are in one table, FAMILIES; `samples` reads the values, those of each node from
`node.metrics` and the rest from the state of the cluster. Series by topic, group, fault or client
are at most MAX_SERIES a family: the first ones by name.

The format is written here: the counters belong to the rooms that count, so of a client library
nothing but these few lines would be used.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.state.groups import describe_group, group_ids, lag
from mockbroker.state.partitions import leading_partition, topic_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.node.broker import Broker

    Labels = tuple[str, ...]
    Sample = tuple[str, Labels, float]

MAX_SERIES: Final = 1_000
COUNTER: Final = "counter"
GAUGE: Final = "gauge"


class Family(NamedTuple):
    """One metric: its type, the names of its labels, and what it says."""

    kind: str
    labels: Labels
    help: str


_OF_EXTENSION: Final = (
    ("filter.scanned_bytes", "filter_scanned_bytes_total", "Bytes that filters of keys looked at."),
    (
        "filter.matched_records",
        "filter_matched_records_total",
        "Records that filters of keys let pass.",
    ),
    (
        "filter.covers",
        "filter_covers_total",
        "Batches without records, in place of what filters of keys skipped.",
    ),
    (
        "filter.budget_stops",
        "filter_budget_stops_total",
        "Passes of filters of keys that ended because they looked at enough.",
    ),
    (
        "cache.bytes",
        "filter_cache_bytes",
        "Bytes of records that filters of keys left over for the next one.",
    ),
    ("cache.hits", "filter_cache_hits_total", "Batches that filters of keys found left over."),
    (
        "cache.misses",
        "filter_cache_misses_total",
        "Batches that filters of keys read from the log.",
    ),
    (
        "cache.evictions",
        "filter_cache_evictions_total",
        "Batches left over that went to make room.",
    ),
    ("ic.commits", "individual_commits_total", "Commits of ranges of offsets."),
    (
        "ic.ranges",
        "individual_commit_ranges",
        "Ranges that groups have committed beyond their stable offsets.",
    ),
    ("ic.groups", "individual_commit_groups", "Groups that have such ranges."),
    (
        "ic.too_old",
        "individual_commits_too_old_total",
        "Commits of ranges refused because they were done already.",
    ),
    (
        "ic.cap_hits",
        "individual_commit_cap_hits_total",
        "Commits of ranges refused because their group has too many.",
    ),
    (
        "ic.rebalances_called",
        "individual_commit_rebalances_total",
        "Groups that had to rebalance because they have too many ranges.",
    ),
    (
        "ic.tombstones",
        "individual_commit_tombstones_total",
        "Records of ranges that were taken away.",
    ),
    (
        "ic.primary_pushes",
        "individual_commit_stable_moves_total",
        "Commits of ranges that moved a stable offset.",
    ),
    ("lease.active", "leases", "Pieces that cooperative fetches have been handed out."),
    ("lease.expired", "leases_expired_total", "Leases whose time was over."),
    ("lease.redelivered", "leases_redelivered_total", "Pieces that were handed out again."),
)
"""Consumers beyond the partition: what the extension counts, the family, what that says."""

FAMILIES: Final[dict[str, Family]] = {
    "mockbroker_build_info": Family(GAUGE, ("version",), "The version that runs; always 1."),
    "mockbroker_brokers": Family(GAUGE, (), "Brokers that run."),
    "mockbroker_connections": Family(GAUGE, ("broker",), "Connections that are open."),
    "mockbroker_connections_opened_total": Family(
        COUNTER, ("broker",), "Connections that were opened."
    ),
    "mockbroker_connections_refused_total": Family(
        COUNTER,
        ("broker",),
        "Connections beyond a limit, sent away or kept waiting, and TLS handshakes that failed.",
    ),
    "mockbroker_logins_total": Family(
        COUNTER,
        ("broker", "listener", "mechanism"),
        "Logins of clients that succeeded, and TLS handshakes (TLS).",
    ),
    "mockbroker_logins_failed_total": Family(
        COUNTER, ("broker", "listener", "mechanism"), "Those that failed."
    ),
    "mockbroker_principal_connections": Family(
        GAUGE,
        ("broker", "listener", "principal", "mechanism", "tls_version", "tls_cipher"),
        "Connections by who their client is, and how they are secured.",
    ),
    "mockbroker_authorizations_denied_total": Family(
        COUNTER, ("broker",), "Denials of the authorizer, where there is one."
    ),
    "mockbroker_loop_blocked_total": Family(
        COUNTER, ("broker",), "Steps of more than 250 ms, which kept everybody else waiting."
    ),
    "mockbroker_unread_answer_bytes": Family(
        GAUGE, ("broker",), "Bytes of answers that clients are slow to read."
    ),
    "mockbroker_memory_pool_available_bytes": Family(
        GAUGE, ("broker",), "What queued.max.request.bytes leaves for requests."
    ),
    "mockbroker_memory_pool_used_bytes": Family(
        GAUGE, ("broker",), "Bytes of requests under way, where queued.max.request.bytes counts."
    ),
    "mockbroker_log_memory_limit_bytes": Family(
        GAUGE, ("broker",), "What mockbroker.memory.limit.bytes allows, where it is set."
    ),
    "mockbroker_log_memory_held_bytes": Family(
        GAUGE, ("broker",), "Bytes of batches that all logs hold, where they have a limit."
    ),
    "mockbroker_log_memory_deleted_bytes_total": Family(
        COUNTER, ("broker",), "Bytes of segments that went because the limit was reached."
    ),
    "mockbroker_log_memory_deleted_segments_total": Family(
        COUNTER, ("broker",), "Segments that went because the limit was reached."
    ),
    "mockbroker_log_memory_refused_total": Family(
        COUNTER, ("broker",), "Appends that were refused because nothing might go."
    ),
    "mockbroker_client_connections": Family(
        GAUGE, ("broker", "client_id"), "Connections that are open, by client id."
    ),
    "mockbroker_requests_total": Family(COUNTER, ("broker", "api"), "Requests, by API."),
    "mockbroker_request_bytes_total": Family(
        COUNTER, ("broker", "api"), "Bytes of requests, by API."
    ),
    "mockbroker_response_bytes_total": Family(
        COUNTER, ("broker", "api"), "Bytes of answers, by API."
    ),
    "mockbroker_requests_refused_total": Family(
        COUNTER, ("broker",), "Requests that closed their connection."
    ),
    "mockbroker_fetch_sessions": Family(GAUGE, ("broker",), "Fetch sessions that are cached."),
    "mockbroker_fetch_session_partitions": Family(
        GAUGE, ("broker",), "Partitions of the fetch sessions."
    ),
    "mockbroker_fetch_session_evictions_total": Family(
        COUNTER, ("broker",), "Fetch sessions that made room for others."
    ),
    "mockbroker_fetches_answered_total": Family(
        COUNTER,
        ("broker", "fetch_class"),
        "Fetches that were answered, by how they used a session.",
    ),
    "mockbroker_fetch_request_saved_bytes_total": Family(
        COUNTER, ("broker",), "Bytes that fetch sessions saved in requests."
    ),
    "mockbroker_fetch_response_saved_bytes_total": Family(
        COUNTER, ("broker",), "Bytes that fetch sessions saved in answers."
    ),
    "mockbroker_fetch_expirations_total": Family(
        COUNTER, ("broker", "fetcher"), "Parked fetches whose wait ended by time."
    ),
    "mockbroker_delayed_operations": Family(
        GAUGE, ("broker", "operation"), "Requests that are parked."
    ),
    "mockbroker_purgatory_watches": Family(
        GAUGE, ("broker", "operation"), "Partitions that parked requests watch."
    ),
    "mockbroker_idle_rounds_skipped_total": Family(
        COUNTER, ("broker",), "Rounds of an idle cluster that were computed, not played."
    ),
    "mockbroker_topic_messages_in_total": Family(
        COUNTER, ("topic",), "Records that clients appended."
    ),
    "mockbroker_topic_bytes_in_total": Family(
        COUNTER, ("topic",), "Bytes of batches that clients appended."
    ),
    "mockbroker_topic_messages_out_total": Family(
        COUNTER,
        ("topic",),
        "Offsets in answers to consumers, from the one asked for to the last whole batch's end.",
    ),
    "mockbroker_topic_bytes_out_total": Family(
        COUNTER, ("topic",), "Bytes of batches in answers to consumers, as they are stored."
    ),
    "mockbroker_partition_log_start_offset": Family(
        GAUGE, ("topic", "partition"), "Offset of the first record."
    ),
    "mockbroker_partition_high_watermark": Family(
        GAUGE, ("topic", "partition"), "Below this offset all is replicated."
    ),
    "mockbroker_partition_log_end_offset": Family(
        GAUGE, ("topic", "partition"), "Offset of the next record."
    ),
    "mockbroker_partition_size_bytes": Family(GAUGE, ("topic", "partition"), "Bytes of the log."),
    "mockbroker_group_members": Family(GAUGE, ("group", "state"), "Members of a group."),
    "mockbroker_group_lag_records": Family(
        GAUGE, ("group", "topic", "partition"), "Records that a group has not committed yet."
    ),
    **{
        f"mockbroker_{family}": Family(
            COUNTER if family.endswith("_total") else GAUGE, ("broker",), text
        )
        for _, family, text in _OF_EXTENSION
    },
    "mockbroker_fault_hits_total": Family(COUNTER, ("fault",), "How often a fault rule fired."),
    "mockbroker_fault_matches_total": Family(
        COUNTER, ("fault",), "How often a request fitted a fault rule."
    ),
    "mockbroker_fault_held_requests": Family(
        GAUGE, ("fault",), "Requests that a fault rule holds back."
    ),
}

_OF_NODES: Final = {
    "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions": (
        "mockbroker_fetch_sessions"
    ),
    "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchPartitionsCached": (
        "mockbroker_fetch_session_partitions"
    ),
    "kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec": (
        "mockbroker_fetch_session_evictions_total"
    ),
    "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize": (
        "mockbroker_purgatory_watches"
    ),
    "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations": (
        "mockbroker_delayed_operations"
    ),
    "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec": (
        "mockbroker_fetch_expirations_total"
    ),
    "mockbroker:type=FetchMetrics,name=FetchesAnswered": "mockbroker_fetches_answered_total",
    "mockbroker:type=FetchMetrics,name=RequestBytesSaved": (
        "mockbroker_fetch_request_saved_bytes_total"
    ),
    "mockbroker:type=FetchMetrics,name=ResponseBytesSaved": (
        "mockbroker_fetch_response_saved_bytes_total"
    ),
    "mockbroker:type=ConnectionMetrics,name=Connections": "mockbroker_connections",
    "mockbroker:type=ConnectionMetrics,name=ConnectionsOpened": (
        "mockbroker_connections_opened_total"
    ),
    "mockbroker:type=ConnectionMetrics,name=ConnectionsRefused": (
        "mockbroker_connections_refused_total"
    ),
    "mockbroker:type=ConnectionMetrics,name=Logins": "mockbroker_logins_total",
    "mockbroker:type=ConnectionMetrics,name=LoginsFailed": "mockbroker_logins_failed_total",
    "mockbroker:type=AuthorizerMetrics,name=AuthorizationsDenied": (
        "mockbroker_authorizations_denied_total"
    ),
    "mockbroker:type=ConnectionMetrics,name=UnreadAnswerBytes": "mockbroker_unread_answer_bytes",
    "kafka.network:type=SocketServer,name=MemoryPoolAvailable": (
        "mockbroker_memory_pool_available_bytes"
    ),
    "kafka.network:type=SocketServer,name=MemoryPoolUsed": "mockbroker_memory_pool_used_bytes",
    "mockbroker:type=LogMetrics,name=MemoryLimit": "mockbroker_log_memory_limit_bytes",
    "mockbroker:type=LogMetrics,name=MemoryHeld": "mockbroker_log_memory_held_bytes",
    "mockbroker:type=LogMetrics,name=BytesDeletedForMemory": (
        "mockbroker_log_memory_deleted_bytes_total"
    ),
    "mockbroker:type=LogMetrics,name=SegmentsDeletedForMemory": (
        "mockbroker_log_memory_deleted_segments_total"
    ),
    "mockbroker:type=LogMetrics,name=AppendsRefusedForMemory": (
        "mockbroker_log_memory_refused_total"
    ),
    "mockbroker:type=LoopMetrics,name=LoopBlocked": "mockbroker_loop_blocked_total",
    "mockbroker:type=ClusterMetrics,name=IdleRoundsSkipped": (
        "mockbroker_idle_rounds_skipped_total"
    ),
    "mockbroker:type=RequestMetrics,name=RequestsRefused": "mockbroker_requests_refused_total",
    "mockbroker:type=RequestMetrics,name=Requests": "mockbroker_requests_total",
    **{
        f"mockbroker:type=CooperativeMetrics,name={name}": f"mockbroker_{family}"
        for name, family, _ in _OF_EXTENSION
    },
}
"""The metrics of a node (`node.metrics`); a property beside type and name is the second label."""


_TOLD_BY_LOGINS: Final = "type=socket-server-metrics"
"""What Kafka counts by listener alone, or of TLS alone."""


def exposition(cluster: Cluster, version: str) -> str:
    """Prometheus' text format, version 0.0.4."""
    by_family: dict[str, list[tuple[Labels, float]]] = {name: [] for name in FAMILIES}
    for name, labels, value in samples(cluster, version):
        by_family[name].append((labels, value))
    return "".join(_family(name, found) for name, found in by_family.items())


def samples(cluster: Cluster, version: str) -> Iterator[Sample]:
    """The family, the values of its labels, and the value of each series."""
    yield "mockbroker_build_info", (version,), 1
    yield "mockbroker_brokers", (), len(cluster.brokers)
    for broker in cluster.brokers:
        yield from _of_node(broker)
    yield from islice(_of_topics(cluster), MAX_SERIES)
    yield from islice(_of_partitions(cluster), 4 * MAX_SERIES)
    yield from islice(_of_groups(cluster), MAX_SERIES)
    if cluster.has_faults:
        for armed in cluster.faults.list()[:MAX_SERIES]:
            yield "mockbroker_fault_hits_total", (armed.id,), armed.hits
            yield "mockbroker_fault_matches_total", (armed.id,), max(armed.matched, armed.hits)
            yield "mockbroker_fault_held_requests", (armed.id,), len(armed.waiting)


def _of_node(broker: Broker) -> Iterator[Sample]:
    node = str(broker.services.broker_id)
    for mbean, value in broker.metrics().items():
        domain, _, properties = mbean.partition(":")
        kind, name, *rest = properties.split(",")
        if kind == _TOLD_BY_LOGINS:
            continue
        family = _OF_NODES[f"{domain}:{kind},{name}"]
        labels = [each.partition("=")[2] for each in rest]
        if family == "mockbroker_requests_total":
            continue
        if not family.startswith("mockbroker_logins_"):
            labels = [label.lower() for label in labels]
        yield family, (node, *labels), value
    yield from _of_principals(node, broker)
    for api in broker.registry.apis():
        if api.requests:
            yield "mockbroker_requests_total", (node, api.name), api.requests
            yield "mockbroker_request_bytes_total", (node, api.name), api.request_bytes
            yield "mockbroker_response_bytes_total", (node, api.name), api.response_bytes
    clients: dict[str, int] = {}
    for client_id in broker.client_ids():
        clients[client_id] = clients.get(client_id, 0) + 1
    for client_id in sorted(clients)[:MAX_SERIES]:
        yield "mockbroker_client_connections", (node, client_id), clients[client_id]


def _of_principals(node: str, broker: Broker) -> Iterator[Sample]:
    counts: dict[Labels, int] = {}
    for conn in broker.connections():
        mechanism = broker.services.mechanism_of(conn.id) or ""
        tls = ("", "") if conn.tls is None else (conn.tls.version, conn.tls.cipher)
        labels: Labels = (conn.listener, conn.principal, mechanism, *tls)
        counts[labels] = counts.get(labels, 0) + 1
    for labels in sorted(counts)[:MAX_SERIES]:
        yield "mockbroker_principal_connections", (node, *labels), counts[labels]


def _of_topics(cluster: Cluster) -> Iterator[Sample]:
    for name in topic_names(cluster):
        count = len(cluster.metadata.topics[name].partitions)
        held = [
            partition
            for broker in cluster.brokers
            for index in range(count)
            if (partition := broker.services.replicas.partition(name, index)) is not None
        ]
        messages, size = sum(p.messages_in for p in held), sum(p.bytes_in for p in held)
        yield "mockbroker_topic_messages_in_total", (name,), messages
        yield "mockbroker_topic_bytes_in_total", (name,), size
        fetched = sum(partition.messages_out for partition in held)
        yield "mockbroker_topic_messages_out_total", (name,), fetched
        yield "mockbroker_topic_bytes_out_total", (name,), sum(p.bytes_out for p in held)


def _of_partitions(cluster: Cluster) -> Iterator[Sample]:
    for name in topic_names(cluster):
        for index in range(len(cluster.metadata.topics[name].partitions)):
            partition = leading_partition(cluster, name, index)
            log = None if partition is None else partition.log
            if log is not None:
                labels = (name, str(index))
                yield "mockbroker_partition_log_start_offset", labels, log.log_start_offset
                yield "mockbroker_partition_high_watermark", labels, log.high_watermark
                yield "mockbroker_partition_log_end_offset", labels, log.log_end_offset
                yield "mockbroker_partition_size_bytes", labels, log.size_bytes


def _of_groups(cluster: Cluster) -> Iterator[Sample]:
    for group_id in group_ids(cluster):
        group = describe_group(cluster, group_id)
        yield "mockbroker_group_members", (group_id, group.state), len(group.members)
        for (topic, index), behind in lag(cluster, group_id).items():
            yield "mockbroker_group_lag_records", (group_id, topic, str(index)), behind


# -- text -------------------------------------------------------------------------------------


def _family(name: str, found: Iterable[tuple[Labels, float]]) -> str:
    family = FAMILIES[name]
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    for labels, value in found:
        pairs = zip(family.labels, labels, strict=True)
        text = ",".join(f'{key}="{_escaped(label)}"' for key, label in pairs)
        lines.append(f"{name}{{{text}}} {_number(value)}" if text else f"{name} {_number(value)}")
    return "\n".join([*lines, ""])


def _number(value: float) -> str:
    """All of its digits; a whole number without a fraction."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
