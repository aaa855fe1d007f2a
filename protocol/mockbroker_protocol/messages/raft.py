"""Between members of a metadata quorum: snapshots of its log (KIP-595, KIP-630, KIP-853)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    Records,
    V,
    field,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
    uuid,
)


@struct
class QuorumNodeEndpoint:
    """Where a leader listens."""

    node_id: Annotated[int32, V(since=1)] = 0
    host: Annotated[str, V(since=1)] = ""
    port: Annotated[uint16, V(since=1)] = 0


@struct
class SnapshotId:
    """A snapshot by where it ends."""

    end_offset: int64 = 0
    epoch: int32 = 0


@message(api_key=59)
class FetchSnapshotRequest:
    """Read a snapshot of the metadata log."""

    cluster_id: Annotated[str | None, V(nullable=0, tag=0, tagged=0)] = None
    replica_id: int32 = -1
    max_bytes: int32 = 2147483647
    topics: list[FetchSnapshotRequestTopicSnapshot] = []


@struct
class FetchSnapshotRequestTopicSnapshot:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[FetchSnapshotRequestPartitionSnapshot] = []


@struct
class FetchSnapshotRequestPartitionSnapshot:
    """A partition and its snapshot."""

    partition: int32 = 0
    current_leader_epoch: int32 = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    position: int64 = 0
    replica_directory_id: Annotated[uuid, V(tag=0, tagged=1, ignorable=True)] = ZERO_UUID


@struct
class FetchSnapshotResponseLeaderIdAndEpoch:
    """The leader that the replica knows."""

    leader_id: int32 = 0
    leader_epoch: int32 = 0


@message(api_key=59)
class FetchSnapshotResponse:
    """A piece of the snapshot."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: list[FetchSnapshotResponseTopicSnapshot] = []
    node_endpoints: Annotated[list[QuorumNodeEndpoint], V(tag=0, tagged=1)] = []


@struct
class FetchSnapshotResponseTopicSnapshot:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[FetchSnapshotResponsePartitionSnapshot] = []


@struct
class FetchSnapshotResponsePartitionSnapshot:
    """A partition and its snapshot."""

    index: int32 = 0
    error_code: int16 = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    current_leader: Annotated[FetchSnapshotResponseLeaderIdAndEpoch, V(tag=0, tagged=0)] = field(
        default_factory=FetchSnapshotResponseLeaderIdAndEpoch
    )
    size: int64 = 0
    position: int64 = 0
    unaligned_records: Records = b""
