from __future__ import annotations

import pytest

from mockbroker_protocol.messages.raft import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartitionSnapshot,
    FetchSnapshotRequestTopicSnapshot,
    FetchSnapshotResponse,
)
from tests.support.metadata_logs import QuorumCore


def asked(name: str, partition: int, epoch: int) -> FetchSnapshotRequest:
    data = FetchSnapshotRequestPartitionSnapshot(partition, epoch)
    return FetchSnapshotRequest(topics=[FetchSnapshotRequestTopicSnapshot(name, [data])])


@pytest.mark.parametrize(
    ("name", "partition", "epoch", "error"),
    [
        ("__cluster_metadata", 0, 1, 98),
        ("__cluster_metadata", 0, 0, 74),
        ("__cluster_metadata", 0, 2, 75),
        ("__cluster_metadata", 1, 1, 3),
        ("other", 0, 1, 3),
    ],
)
@pytest.mark.parametrize("version", [0, 1])
def test_there_is_no_snapshot(
    name: str, partition: int, epoch: int, error: int, version: int
) -> None:
    answer = (
        QuorumCore().observer().call(asked(name, partition, epoch), version, FetchSnapshotResponse)
    )
    (data,) = answer.topics[0].partitions
    assert (answer.error_code, data.error_code, data.index) == (0, error, partition)
    assert len(answer.node_endpoints) == version


def test_requests_that_are_none() -> None:
    client = QuorumCore().observer()
    request = asked("__cluster_metadata", 0, 1)
    request.cluster_id = "bogus"
    assert client.call(request, 1, FetchSnapshotResponse).error_code == 104
    assert client.call(FetchSnapshotRequest(), 1, FetchSnapshotResponse).error_code == 42
