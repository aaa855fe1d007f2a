"""What one node counts, by name: Kafka's MBean names where Kafka has the metric, else our own.

`broker` calls `read` when someone asks. Each value comes from the room that owns it: a gauge is
computed there and then, a counter is an int that its owner keeps. So a metric that nobody reads
costs its counter's addition and nothing else. No room is imported here; they are named by type.

Kafka's meters (…PerSec) are counts since the start here: whoever wants a rate takes a difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.apis.context import ServedApis, Services
    from mockbroker.fetch.manager import FetchManager
    from mockbroker.node.connection import Connection
    from mockbroker.replica.log_memory import LogMemory
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker.security.admission import Admission

_CACHE: Final = "kafka.server:type=FetchSessionCache,name="
_PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name="
_EXPIRES: Final = "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType="
_FETCHES: Final = "mockbroker:type=FetchMetrics,name="
_CONNECTIONS: Final = "mockbroker:type=ConnectionMetrics,name="
_CLUSTER: Final = "mockbroker:type=ClusterMetrics,name="
_AUTHORIZER: Final = "mockbroker:type=AuthorizerMetrics,name="
_SOCKETS: Final = "kafka.server:type=socket-server-metrics,name="
_LOOP: Final = "mockbroker:type=LoopMetrics,name="
_MEMORY: Final = "kafka.network:type=SocketServer,name="
_LOGS: Final = "mockbroker:type=LogMetrics,name="
_NO_BOUND: Final = 2**63 - 1
"""What Kafka tells of a pool that there is not (MemoryPool.NONE)."""
_REQUESTS: Final = "mockbroker:type=RequestMetrics,name="


def read(
    services: Services,
    *,
    connections: Sequence[Connection],
    connections_opened: int,
    requests_refused: int,
    rounds_skipped: int,
    connections_refused: int,
    loop_blocked: int,
    unread_bytes: int,
) -> dict[str, float]:
    """All metrics of the node as they are now; what the broker itself counts, it hands in."""
    return {
        **_of_sessions(services.fetch),
        **_of_purgatories(services.replicas),
        **_of_fetches(services.fetch),
        **_of_memory(services.replicas.log_memory),
        **_of_authorizer(services),
        f"{_CONNECTIONS}Connections": len(connections),
        f"{_CONNECTIONS}ConnectionsOpened": connections_opened,
        f"{_CONNECTIONS}ConnectionsRefused": connections_refused,
        f"{_REQUESTS}RequestsRefused": requests_refused,
        **_of_logins(services.admission),
        **_of_tls(connections),
        f"{_CLUSTER}IdleRoundsSkipped": rounds_skipped,
        f"{_CONNECTIONS}UnreadAnswerBytes": unread_bytes,
        f"{_LOOP}LoopBlocked": loop_blocked,
        f"{_MEMORY}MemoryPoolAvailable": _NO_BOUND,
        f"{_MEMORY}MemoryPoolUsed": 0,
        **_of_apis(services.registry),
        **({} if services.extension is None else services.extension.metrics()),
    }


def _of_sessions(fetch: FetchManager) -> dict[str, int]:
    """Partitions as sampled at each session's last touch; evictions to make room, not closes."""
    return {
        f"{_CACHE}NumIncrementalFetchSessions": fetch.cache.num_sessions,
        f"{_CACHE}NumIncrementalFetchPartitionsCached": fetch.cache.num_partitions,
        f"{_CACHE}IncrementalFetchSessionEvictionsPerSec": fetch.cache.evictions,
    }


def _of_purgatories(replicas: ReplicaManager) -> dict[str, int]:
    """A fetch on three partitions counts three in PurgatorySize, one in NumDelayedOperations."""
    values: dict[str, int] = {}
    for operation, purgatory in (
        ("Fetch", replicas.fetch_purgatory),
        ("Produce", replicas.produce_purgatory),
        ("DeleteRecords", replicas.delete_records_purgatory),
    ):
        kind = f"delayedOperation={operation}"
        values[f"{_PURGATORY}PurgatorySize,{kind}"] = purgatory.purgatory_size
        values[f"{_PURGATORY}NumDelayedOperations,{kind}"] = purgatory.num_delayed_operations
    of_followers = replicas.follower_fetches_expired
    values[f"{_EXPIRES}consumer"] = replicas.fetch_purgatory.expired - of_followers
    values[f"{_EXPIRES}follower"] = of_followers
    return values


def _of_fetches(fetch: FetchManager) -> dict[str, int]:
    """Answered fetches by class, and what sessions saved on the wire (`fetch.savings`)."""
    values = {
        f"{_FETCHES}FetchesAnswered,fetchClass={fetch_class}": count
        for fetch_class, count in fetch.answered.items()
    }
    values[f"{_FETCHES}RequestBytesSaved"] = fetch.request_bytes_saved
    values[f"{_FETCHES}ResponseBytesSaved"] = fetch.response_bytes_saved
    return values


def _of_memory(memory: LogMemory | None) -> dict[str, int]:
    """What the logs hold, where that has a limit, and what went for it."""
    if memory is None:
        return {}
    return {
        f"{_LOGS}MemoryLimit": memory.limit_bytes,
        f"{_LOGS}MemoryHeld": memory.held_bytes,
        f"{_LOGS}BytesDeletedForMemory": memory.deleted_bytes,
        f"{_LOGS}SegmentsDeletedForMemory": memory.deleted_segments,
        f"{_LOGS}AppendsRefusedForMemory": memory.refused,
    }


def _of_authorizer(services: Services) -> dict[str, int]:
    """What was denied, where there is an authorizer (Kafka has a rate a minute of it)."""
    if services.authorizer is None:
        return {}
    return {f"{_AUTHORIZER}AuthorizationsDenied": services.authorizer.denied}


def _of_logins(admission: Admission) -> dict[str, int]:
    """Logins and TLS handshakes, by listener as Kafka counts them, and by mechanism too."""
    values: dict[str, int] = {}
    for (listener, mechanism), outcomes in admission.outcomes.items():
        for total, count in (
            ("successful-authentication-total", outcomes.done),
            ("failed-authentication-total", outcomes.failed),
            ("successful-reauthentication-total", outcomes.renewals_done),
            ("failed-reauthentication-total", outcomes.renewals_failed),
        ):
            name = f"{_SOCKETS}{total},listener={listener}"
            values[name] = values.get(name, 0) + count
        labels = f"listener={listener},mechanism={mechanism}"
        values[f"{_CONNECTIONS}Logins,{labels}"] = outcomes.done + outcomes.renewals_done
        failed = outcomes.failed + outcomes.renewals_failed
        values[f"{_CONNECTIONS}LoginsFailed,{labels}"] = failed
    return values


def _of_tls(connections: Sequence[Connection]) -> dict[str, int]:
    """Connections by cipher suite and version of TLS (KIP-558)."""
    values: dict[str, int] = {}
    for conn in connections:
        if conn.tls is not None:
            labels = f"listener={conn.listener},cipher={conn.tls.cipher}"
            name = f"{_SOCKETS}connections,{labels},protocol={conn.tls.version}"
            values[name] = values.get(name, 0) + 1
    return values


def _of_apis(registry: ServedApis) -> dict[str, int]:
    """Requests by API, from the first one on."""
    return {
        f"{_REQUESTS}Requests,request={api.name}": api.requests
        for api in registry.apis()
        if api.requests
    }
