"""A node's metrics, read from their owners when someone asks."""

from __future__ import annotations

from mockbroker.faults import Fault
from mockbroker.journal import DISCONNECT
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core

CACHE = "kafka.server:type=FetchSessionCache,name="
PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name="
EXPIRES = "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType="
FETCHES = "mockbroker:type=FetchMetrics,name="
CONNECTIONS = "mockbroker:type=ConnectionMetrics,name="
REQUESTS = "mockbroker:type=RequestMetrics,name="


def fetch(
    partitions: int, session: tuple[int, int], *, wait: int = 0, replica_id: int = -1
) -> FetchRequest:
    asked = [FetchRequestPartition(index, partition_max_bytes=1000) for index in range(partitions)]
    return FetchRequest(
        replica_id=replica_id,
        max_wait_ms=wait,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchRequestTopic("orders", partitions=asked)] if asked else [],
    )


def test_a_new_node_has_counted_nothing() -> None:
    metrics = Core().broker.metrics()
    assert len(metrics) == 25
    unbounded = metrics.pop("kafka.network:type=SocketServer,name=MemoryPoolAvailable")
    assert unbounded == 2**63 - 1
    assert set(metrics.values()) == {0}


def test_sessions_and_what_they_save() -> None:
    core = Core(topics={"orders": 10})
    client = core.client()
    sid = client.call(fetch(10, (0, 0)), 12, FetchResponse).session_id
    client.call(fetch(0, (sid, 1)), 12, FetchResponse)
    client.call(fetch(1, (0, -1)), 12, FetchResponse)
    metrics = core.broker.metrics()
    assert metrics[f"{CACHE}NumIncrementalFetchSessions"] == 1
    assert metrics[f"{CACHE}NumIncrementalFetchPartitionsCached"] == 10
    for fetch_class in ("SESSIONLESS", "FULL", "INCREMENTAL"):
        assert metrics[f"{FETCHES}FetchesAnswered,fetchClass={fetch_class}"] == 1
    assert metrics[f"{FETCHES}RequestBytesSaved"] == 9 + 10 * 33
    assert metrics[f"{FETCHES}ResponseBytesSaved"] == 9 + 10 * 37


def test_a_fetch_whose_client_leaves_is_no_answered_one() -> None:
    core = Core(topics={"orders": 10})
    client = core.client()
    sid = client.call(fetch(10, (0, 0)), 12, FetchResponse).session_id
    client.send(fetch(0, (sid, 1), wait=500), 12)
    answered = f"{FETCHES}FetchesAnswered,fetchClass=INCREMENTAL"
    client.disconnect()
    metrics = core.broker.metrics()
    assert (metrics[answered], metrics[f"{FETCHES}ResponseBytesSaved"]) == (0, 0)
    assert metrics[f"{FETCHES}RequestBytesSaved"] == 9 + 10 * 33
    _, cut_short = core.cluster.journal.requests()
    assert (cut_short.cause, cut_short.answered) == (DISCONNECT, False)
    assert cut_short.fetch_class == "INCREMENTAL"
    assert (cut_short.request_bytes_saved, cut_short.response_bytes_saved) == (9 + 10 * 33, 0)


def test_a_fetch_whose_answer_a_fault_keeps_is_no_answered_one() -> None:
    core = Core(topics={"orders": 10})
    client = core.client()
    sid = client.call(fetch(10, (0, 0)), 12, FetchResponse).session_id
    core.cluster.faults.add(Fault(api="Fetch", disconnect=True, stage="after"))
    client.send(fetch(0, (sid, 1)), 12)
    assert client.answered == 0
    metrics = core.broker.metrics()
    assert metrics[f"{FETCHES}FetchesAnswered,fetchClass=INCREMENTAL"] == 0
    assert metrics[f"{FETCHES}ResponseBytesSaved"] == 0


def test_evictions_count_and_a_close_does_not() -> None:
    name = f"{CACHE}IncrementalFetchSessionEvictionsPerSec"
    core = Core(topics={"orders": 1}, config={"max.incremental.fetch.session.cache.slots": "8"})
    client = core.client()
    sid = client.call(fetch(1, (0, 0)), 12, FetchResponse).session_id
    client.call(fetch(1, (sid, -1)), 12, FetchResponse)
    assert core.broker.metrics()[name] == 0
    for _ in range(8):
        client.call(fetch(1, (0, 0)), 12, FetchResponse)
    core.advance(120_001)
    client.call(fetch(1, (0, 0)), 12, FetchResponse)
    assert core.broker.metrics()[name] == 1


def test_parked_fetches_and_those_that_expired_by_who_fetched() -> None:
    core = Core(topics={"orders": 3})
    core.client().send(fetch(3, (0, -1), wait=500), 12)
    metrics = core.broker.metrics()
    assert metrics[f"{PURGATORY}PurgatorySize,delayedOperation=Fetch"] == 3
    assert metrics[f"{PURGATORY}NumDelayedOperations,delayedOperation=Fetch"] == 1
    assert metrics[f"{PURGATORY}NumDelayedOperations,delayedOperation=Produce"] == 0
    core.advance(500)
    metrics = core.broker.metrics()
    assert (metrics[f"{EXPIRES}consumer"], metrics[f"{EXPIRES}follower"]) == (1, 0)
    assert metrics[f"{PURGATORY}NumDelayedOperations,delayedOperation=Fetch"] == 0


def test_connections_requests_and_refusals() -> None:
    core = Core()
    client, other = core.client(), core.client()
    client.call(ApiVersionsRequest(), 3, ApiVersionsResponse)
    client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    other.send_bytes(b"\xff\xff\xff\xff")
    other.disconnect()
    metrics = core.broker.metrics()
    assert metrics[f"{CONNECTIONS}Connections"] == 1
    assert metrics[f"{CONNECTIONS}ConnectionsOpened"] == 2
    assert metrics[f"{REQUESTS}Requests,request=ApiVersions"] == 2
    assert metrics[f"{REQUESTS}RequestsRefused"] == 1


def test_a_follower_s_fetch_that_expires_counts_as_a_follower_s() -> None:
    core = ClusterCore(brokers=2, topics={"t": 1})
    leader = core.cluster.broker(core.state("t").leader)
    assert leader is not None
    name = "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType="
    core.advance(400)
    assert leader.metrics()[f"{name}follower"] == 0
    core.advance(700)
    assert leader.metrics()[f"{name}follower"] >= 1
    assert leader.metrics()[f"{name}consumer"] == 0
