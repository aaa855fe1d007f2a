"""The raft Fetch: what it refuses, what it gives, and when it waits."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchResponse,
    FetchResponsePartition,
    LeaderIdAndEpoch,
    NodeEndpoint,
)
from mockbroker_protocol.messages.metadata_records import NoOpRecord
from mockbroker_protocol.records.batch import iterate_batches
from tests.support.core import CoreClient
from tests.support.metadata_logs import CONTROLLER, QuorumCore, raft_fetch, records_of

UNKNOWN = 2**63 - 1
WAIT_MS = 500


@pytest.fixture
def core() -> QuorumCore:
    return QuorumCore(topics={"a": 1})


def only(response: FetchResponse) -> FetchResponsePartition:
    assert response.error_code == 0
    return response.responses[0].partitions[0]


def append(core: QuorumCore) -> None:
    core.act(lambda: core.quorum.append([NoOpRecord()]))


def parked(core: QuorumCore, version: int = 18, **values: Any) -> CoreClient:
    """An observer that waits at the log's end."""
    client = core.observer()
    client.send(raft_fetch(core.quorum.log.log_end_offset, wait=WAIT_MS, **values), version)
    assert client.answered == 0
    return client


def test_all_there_is_comes_with_leader_and_high_watermark(core: QuorumCore) -> None:
    response = core.observer().call(raft_fetch(0, last_epoch=0), 18, FetchResponse)
    data = only(response)
    end = core.quorum.log.log_end_offset
    assert (data.error_code, data.high_watermark) == (0, end)
    assert (data.last_stable_offset, data.log_start_offset) == (-1, 0)
    assert data.current_leader == LeaderIdAndEpoch(1, 1)
    assert response.node_endpoints == [NodeEndpoint(1, CONTROLLER.host, CONTROLLER.port)]
    assert records_of(data) == b"".join(core.quorum.log.read_uncommitted(0, 1 << 30))


def test_endpoints_come_with_v17(core: QuorumCore) -> None:
    response = core.observer().call(raft_fetch(0, last_epoch=0), 16, FetchResponse)
    assert response.node_endpoints == []
    assert only(response).current_leader == LeaderIdAndEpoch(1, 1)


@pytest.mark.parametrize(("cluster_id", "error"), [(None, 0), ("ours", 0), ("bogus", 104)])
def test_the_cluster_is_checked(core: QuorumCore, cluster_id: str | None, error: int) -> None:
    if cluster_id == "ours":
        cluster_id = core.cluster.metadata.cluster_id
    request = raft_fetch(0, last_epoch=0, cluster_id=cluster_id)
    response = core.observer().call(request, 18, FetchResponse)
    assert response.error_code == error
    assert bool(response.responses) is (error == 0)


@pytest.mark.parametrize("change", ["other topic", "other partition", "two", "none"])
def test_only_the_metadata_partition_is_there(core: QuorumCore, change: str) -> None:
    request = raft_fetch(0, last_epoch=0)
    if change == "other topic":
        request.topics[0].topic_id = b"t" * 16
    elif change == "other partition":
        request.topics[0].partitions[0].partition = 1
    elif change == "two":
        request.topics[0].partitions *= 2
    else:
        request.topics = []
    response = core.observer().call(request, 18, FetchResponse)
    assert (response.error_code, response.responses) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("offset", "epoch", "last_epoch", "wait", "error"),
    [
        (0, 1, 0, -1, 42),
        (-1, 1, 0, 0, 42),
        (0, 1, -1, 0, 42),
        (0, -1, 0, 0, 42),
        (0, 1, 2, 0, 42),
        (0, 0, 0, 0, 74),
        (0, 2, 0, 0, 75),
    ],
)
def test_bad_values_and_other_epochs_are_refused(
    core: QuorumCore, offset: int, epoch: int, last_epoch: int, wait: int, error: int
) -> None:
    request = raft_fetch(offset, epoch, last_epoch, wait=wait)
    data = only(core.observer().call(request, 18, FetchResponse))
    assert (data.error_code, data.high_watermark, records_of(data)) == (error, -1, b"")
    assert data.current_leader == LeaderIdAndEpoch(1, 1)


def test_a_log_that_diverges_is_told_where(core: QuorumCore) -> None:
    end = core.quorum.log.log_end_offset
    data = only(core.observer().call(raft_fetch(end + 1, wait=WAIT_MS), 18, FetchResponse))
    assert (data.error_code, data.diverging_epoch) == (0, EpochEndOffset(1, end))
    assert records_of(data) == b""


def test_sizes_of_the_partition_count_for_nothing(core: QuorumCore) -> None:
    request = raft_fetch(0, last_epoch=0, max_bytes=1, partition_max_bytes=0)
    data = records_of(only(core.observer().call(request, 18, FetchResponse)))
    assert [header.base_offset for _, header in iterate_batches(data)] == [0]
    (_, header) = next(iterate_batches(data))
    assert len(data) == header.size_in_bytes


@pytest.mark.parametrize("known", [-1, 0, "end - 1"])
def test_who_knows_less_is_answered_at_once(core: QuorumCore, known: int | str) -> None:
    end = core.quorum.log.log_end_offset
    value = end - 1 if isinstance(known, str) else known
    request = raft_fetch(end, wait=WAIT_MS, high_watermark=value)
    data = only(core.observer().call(request, 18, FetchResponse))
    assert (data.high_watermark, records_of(data)) == (end, b"")


def test_who_knows_as_much_waits_for_records(core: QuorumCore) -> None:
    end = core.quorum.log.log_end_offset
    waiting = [parked(core, high_watermark=value) for value in (end, end + 1, UNKNOWN)]
    append(core)
    for client in waiting:
        data = only(client.receive(FetchResponse))
        assert data.high_watermark == end + 1
        assert records_of(data) == b"".join(core.quorum.log.read_uncommitted(end, 1 << 20))


def test_without_a_high_watermark_there_is_nothing_to_tell(core: QuorumCore) -> None:
    core.act(core.quorum.hold)
    core.act(core.quorum.begin_epoch)
    client = core.observer()
    end = core.quorum.log.log_end_offset
    client.send(raft_fetch(end, 2, 2, wait=WAIT_MS, high_watermark=-1), 18)
    assert client.answered == 0
    core.act(core.quorum.release)
    data = only(client.receive(FetchResponse))
    assert (data.high_watermark, records_of(data)) == (end, b"")


@pytest.mark.parametrize("version", [17, 18])
def test_an_advance_without_records_ends_every_wait(core: QuorumCore, version: int) -> None:
    core.act(core.quorum.hold)
    append(core)
    end = core.quorum.log.log_end_offset
    client = parked(core, version)
    core.act(core.quorum.release)
    data = only(client.receive(FetchResponse))
    assert (data.high_watermark, records_of(data)) == (end, b"")


def test_before_kip_1166_only_time_tells_of_an_advance() -> None:
    core = QuorumCore(config={"mockbroker.controller.fetch.max.version": "17"})
    core.act(core.quorum.hold)
    append(core)
    end = core.quorum.log.log_end_offset
    client = parked(core, 17)
    core.act(core.quorum.release)
    core.advance(WAIT_MS - 1)
    assert client.answered == 0
    core.advance(1)
    # What was the case when it arrived; the next fetch is told of the advance, not this one.
    assert only(client.receive(FetchResponse)).high_watermark == end - 1
    assert only(client.call(raft_fetch(end), 17, FetchResponse)).high_watermark == end


def test_time_brings_the_answer_of_the_arrival(core: QuorumCore) -> None:
    end = core.quorum.log.log_end_offset
    client = parked(core)
    core.advance(WAIT_MS)
    data = only(client.receive(FetchResponse))
    assert (data.error_code, data.high_watermark, records_of(data)) == (0, end, b"")


def test_a_leader_that_resigns_says_so(core: QuorumCore) -> None:
    client = parked(core)
    core.act(core.quorum.begin_epoch)
    data = only(client.receive(FetchResponse))
    assert (data.error_code, data.current_leader) == (6, LeaderIdAndEpoch(-1, 1))


def test_no_wait_is_no_wait(core: QuorumCore) -> None:
    end = core.quorum.log.log_end_offset
    data = only(core.observer().call(raft_fetch(end), 18, FetchResponse))
    assert (data.error_code, records_of(data)) == (0, b"")


def test_an_observer_that_leaves_is_forgotten(core: QuorumCore) -> None:
    client = parked(core)
    client.disconnect()
    append(core)
    core.advance(WAIT_MS)
    assert client.answered == 0


def test_a_shutdown_answers_who_waits(core: QuorumCore) -> None:
    client = parked(core)
    core.cluster.release_parked(core.now_ms)
    core.deliver()
    assert only(client.receive(FetchResponse)).error_code == 0


def test_observers_are_noticed(core: QuorumCore) -> None:
    directory = b"d" * 16
    request = raft_fetch(0, last_epoch=0, replica_id=7, replica_directory_id=directory)
    core.observer().call(request, 17, FetchResponse)
    (replica,) = core.quorum.observers.current()
    assert (replica.replica_id, replica.directory_id, replica.log_end_offset) == (7, directory, 0)


@pytest.mark.parametrize("cap", [17, 18])
def test_the_listener_advertises_its_own_apis(cap: int) -> None:
    core = QuorumCore(config={"mockbroker.controller.fetch.max.version": str(cap)})
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    there = core.observer().call(request, 4, ApiVersionsResponse)
    versions = {api.api_key: (api.min_version, api.max_version) for api in there.api_keys}
    assert versions[1] == (4, cap)
    assert 0 not in versions
    finalized = {feature.name: feature.max_version_level for feature in there.finalized_features}
    assert finalized["metadata.version"] == 27
    here = core.client().call(request, 4, ApiVersionsResponse)
    assert {api.api_key for api in here.api_keys} >= {0, 1, 3}
    refused = core.observer()
    refused.send(raft_fetch(0), 18)
    assert refused.closed is (cap == 17)
