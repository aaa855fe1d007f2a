"""Who reads and who waits: fetch sessions with their partitions, and the requests that are parked.

The admin API asks. Everything is read off connections and sessions as they stand; a session may
hold 100,000 partitions, so a list of them is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.state.request_lines import about, topic_names
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.fetch import FetchRequest
from mockbroker_protocol.messages.produce import ProduceRequest
from mockbroker_protocol.subjects import subjects_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.journal.request import RequestServed

MAX_PARTITIONS: Final = 1000
UNKNOWN_HIGH_WATERMARK: Final = 2**63 - 1
"""What a session has of a reader that tells no high watermark (KIP-1166)."""
_STATES: Final = ("quiet", "ready", "changed", "forgotten")
_WAKES: Final = {
    ApiKey.PRODUCE: "all in-sync replicas have the records, or timeout_ms is over",
    ApiKey.JOIN_GROUP: "all members have joined, or the rebalance timeout is over",
    ApiKey.SYNC_GROUP: "the group's leader sends the assignment, or a rebalance begins",
    ApiKey.DELETE_RECORDS: "all live replicas have the new log start, or timeout_ms is over",
    ApiKey.OFFSET_COMMIT: "the commit is replicated",
    ApiKey.END_TXN: "the markers are written",
}
_WAKES_TRANSACTIONAL: Final = (
    "the transaction's coordinator lets the records pass, then all in-sync replicas have them, or"
    " timeout_ms is over since"
)
"""Of a Produce (Kafka: ReplicaManager.handleProduceAppend): to be verified takes as long as the
question to the coordinator may (request.timeout.ms), and timeout_ms begins with the append."""


class Session(NamedTuple):
    """One fetch session; `changed` and `ready` count partitions that a poll would look at."""

    broker: int
    session_id: int
    epoch: int
    privileged: bool
    uses_topic_ids: bool
    partitions: int
    changed: int
    ready: int
    created_ms: float
    last_used_ms: float
    waits: int
    request_bytes_saved: int
    response_bytes_saved: int


class SessionPartition(NamedTuple):
    """One partition of a session: where its reader is, and what it was told.

    `high_watermark_known` is what the reader knows, None where it does not tell (KIP-1166),
    `high_watermark_told` what an answer said last, -1 before the first.
    """

    topic: str
    partition: int
    state: str
    fetch_offset: int
    high_watermark_known: int | None
    high_watermark_told: int
    high_watermark: int | None
    log_end_offset: int | None


class Wait(NamedTuple):
    """One request that is parked; `until_ms` is None where no field of it says so."""

    broker: int
    connection: int
    client_id: str
    api: str
    version: int
    since_ms: float
    until_ms: float | None
    session_id: int | None
    keys: list[str]
    about: str
    wakes: str


def sessions(cluster: Cluster) -> list[Session]:
    """All fetch sessions, by broker and id."""
    return [
        Session(
            broker.services.broker_id,
            session.id,
            session.epoch,
            session.privileged,
            session.uses_topic_ids,
            session.size,
            len(session.changed),
            sum(cached.stamp == stamp and cached.state == 1 for stamp, cached in session.ready),
            session.created_ms,
            session.last_used_ms,
            len(session.waits),
            session.request_bytes_saved,
            session.response_bytes_saved,
        )
        for broker in cluster.brokers
        for shard in broker.services.fetch.cache.shards
        for session in shard.sessions.values()
    ]


class Saved(NamedTuple):
    """What the sessions of one broker saved on the wire, and how many had to go."""

    broker: int
    sessions: int
    evictions: int
    request_bytes_saved: int
    response_bytes_saved: int


def savings(cluster: Cluster) -> list[Saved]:
    """By broker that runs."""
    return [
        Saved(
            broker.services.broker_id,
            fetch.cache.num_sessions,
            fetch.cache.evictions,
            fetch.request_bytes_saved,
            fetch.response_bytes_saved,
        )
        for broker in cluster.brokers
        for fetch in (broker.services.fetch,)
    ]


def session_partitions(
    cluster: Cluster, broker_id: int, session_id: int
) -> list[SessionPartition] | None:
    """The first MAX_PARTITIONS of a session; None when there is no such session."""
    for broker in cluster.brokers:
        session = broker.services.fetch.cache.get(session_id)
        if broker.services.broker_id != broker_id or session is None:
            continue
        found: list[SessionPartition] = []
        for cached in session.partitions():
            if len(found) == MAX_PARTITIONS:
                break
            partition = cached.partition
            log = None if partition is None else partition.log
            topic = cached.topic
            name = topic.name or cluster.journal.topic_name(topic.topic_id) or "?"
            known = cached.high_watermark
            found.append(
                SessionPartition(
                    name,
                    cached.index,
                    _STATES[cached.state],
                    cached.fetch_offset,
                    None if known == UNKNOWN_HIGH_WATERMARK else known,
                    cached.cached_high_watermark,
                    None if log is None else log.high_watermark,
                    None if log is None else log.log_end_offset,
                )
            )
        return found
    return None


def waits(cluster: Cluster) -> list[Wait]:
    """The requests that wait for something, who has waited longest first."""
    return sorted(_waits(cluster), key=lambda wait: wait.since_ms)


def _waits(cluster: Cluster) -> Iterator[Wait]:
    for broker in cluster.brokers:
        for connection in broker.connections():
            served = connection.in_work
            if served is not None:
                yield _wait(cluster, broker.services.broker_id, served)


def _wait(cluster: Cluster, broker_id: int, served: RequestServed) -> Wait:
    request = served.request
    keys: list[str] = []
    text, session_id, until_ms = "", None, None
    wakes = _WAKES.get(ApiKey(served.api_key), "another request, or a timer of the broker")
    if served.fault is not None:
        wakes = f"the fault {served.fault} lets it go"
    if request is not None:
        subjects = subjects_of(request)
        text = about(request, None, subjects, cluster.journal)
        names = dict.fromkeys(topic_names(subjects, cluster.journal))
        keys = [*names, *subjects.groups, *subjects.transactional_ids][:MAX_PARTITIONS]
        if isinstance(request, FetchRequest):
            until_ms = served.arrived_ms + request.max_wait_ms
            session_id = request.session_id or None
            if session_id is not None:
                keys = [f"session {session_id}"]
            if served.fault is None:
                wakes = (
                    f"{request.min_bytes} byte(s) of records in its partitions, a change of their"
                    " leader or high watermark, or max_wait_ms is over"
                )
        elif isinstance(request, ProduceRequest):
            if request.transactional_id is None:
                until_ms = served.arrived_ms + request.timeout_ms
            elif served.fault is None:
                wakes = _WAKES_TRANSACTIONAL
    return Wait(
        broker_id,
        served.connection_id,
        served.client_id,
        served.api_name,
        served.api_version,
        round(served.arrived_ms, 3),
        until_ms,
        session_id,
        keys,
        text,
        wakes,
    )
