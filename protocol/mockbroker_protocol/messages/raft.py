"""Between members of a metadata quorum: votes, epochs, snapshots (KIP-595, KIP-630, KIP-853)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    Records,
    V,
    boolean,
    field,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
    uuid,
)


@message(api_key=52, versions=(0, 2), flexible=0)
class VoteRequest:
    """A candidate asks a voter for its vote, or whether it would get it."""

    cluster_id: Annotated[str | None, V(nullable=0)] = None
    voter_id: Annotated[int32, V(since=1, ignorable=True)] = -1
    topics: list[VoteRequestTopicData] = []


@struct
class VoteRequestTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[VoteRequestPartitionData] = []


@struct
class VoteRequestPartitionData:
    """How far the candidate's log reaches."""

    partition_index: int32 = 0
    replica_epoch: int32 = 0
    replica_id: int32 = 0
    replica_directory_id: Annotated[uuid, V(since=1, ignorable=True)] = ZERO_UUID
    voter_directory_id: Annotated[uuid, V(since=1, ignorable=True)] = ZERO_UUID
    last_offset_epoch: int32 = 0
    last_offset: int64 = 0
    pre_vote: Annotated[boolean, V(since=2)] = False


@message(api_key=52, versions=(0, 2), flexible=0)
class VoteResponse:
    """The vote, and the leader that the voter knows."""

    error_code: int16 = 0
    topics: list[VoteResponseTopicData] = []
    node_endpoints: Annotated[list[QuorumNodeEndpoint], V(tag=0, tagged=1)] = []


@struct
class VoteResponseTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[VoteResponsePartitionData] = []


@struct
class QuorumNodeEndpoint:
    """Where a leader listens."""

    node_id: Annotated[int32, V(since=1)] = 0
    host: Annotated[str, V(since=1)] = ""
    port: Annotated[uint16, V(since=1)] = 0


@struct
class VoteResponsePartitionData:
    """A partition: its leader and epoch."""

    partition_index: int32 = 0
    error_code: int16 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    vote_granted: boolean = False


@message(api_key=53, versions=(0, 1), flexible=1)
class BeginQuorumEpochRequest:
    """A leader says that its epoch has begun."""

    cluster_id: Annotated[str | None, V(nullable=0)] = None
    voter_id: Annotated[int32, V(since=1, ignorable=True)] = -1
    topics: list[BeginQuorumEpochRequestTopicData] = []
    leader_endpoints: Annotated[
        list[BeginQuorumEpochRequestLeaderEndpoint], V(since=1, ignorable=True)
    ] = []


@struct
class BeginQuorumEpochRequestTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[BeginQuorumEpochRequestPartitionData] = []


@struct
class BeginQuorumEpochRequestLeaderEndpoint:
    """A listener of the leader."""

    name: Annotated[str, V(since=1)] = ""
    host: Annotated[str, V(since=1)] = ""
    port: Annotated[uint16, V(since=1)] = 0


@struct
class BeginQuorumEpochRequestPartitionData:
    """A partition: its leader and epoch."""

    partition_index: int32 = 0
    voter_directory_id: Annotated[uuid, V(since=1, ignorable=True)] = ZERO_UUID
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@message(api_key=53, versions=(0, 1), flexible=1)
class BeginQuorumEpochResponse:
    """The leader that the voter knows."""

    error_code: int16 = 0
    topics: list[BeginQuorumEpochResponseTopicData] = []
    node_endpoints: Annotated[list[QuorumNodeEndpoint], V(tag=0, tagged=1)] = []


@struct
class BeginQuorumEpochResponseTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[BeginQuorumEpochResponsePartitionData] = []


@struct
class BeginQuorumEpochResponsePartitionData:
    """A partition: its leader and epoch."""

    partition_index: int32 = 0
    error_code: int16 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@message(api_key=54, versions=(0, 1), flexible=1)
class EndQuorumEpochRequest:
    """A leader resigns and says who should follow it."""

    cluster_id: Annotated[str | None, V(nullable=0)] = None
    topics: list[EndQuorumEpochRequestTopicData] = []
    leader_endpoints: Annotated[
        list[EndQuorumEpochRequestLeaderEndpoint], V(since=1, ignorable=True)
    ] = []


@struct
class EndQuorumEpochRequestTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[EndQuorumEpochRequestPartitionData] = []


@struct
class EndQuorumEpochRequestLeaderEndpoint:
    """A listener of the leader."""

    name: Annotated[str, V(since=1)] = ""
    host: Annotated[str, V(since=1)] = ""
    port: Annotated[uint16, V(since=1)] = 0


@struct
class EndQuorumEpochRequestPartitionData:
    """A partition: its leader and epoch."""

    partition_index: int32 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    preferred_successors: Annotated[list[int32], V(until=0)] = []
    preferred_candidates: Annotated[
        list[EndQuorumEpochRequestReplicaInfo], V(since=1, ignorable=True)
    ] = []


@struct
class EndQuorumEpochRequestReplicaInfo:
    """A replica by id and directory."""

    candidate_id: Annotated[int32, V(since=1)] = 0
    candidate_directory_id: Annotated[uuid, V(since=1)] = ZERO_UUID


@message(api_key=54, versions=(0, 1), flexible=1)
class EndQuorumEpochResponse:
    """The leader that the voter knows."""

    error_code: int16 = 0
    topics: list[EndQuorumEpochResponseTopicData] = []
    node_endpoints: Annotated[list[QuorumNodeEndpoint], V(tag=0, tagged=1)] = []


@struct
class EndQuorumEpochResponseTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[EndQuorumEpochResponsePartitionData] = []


@struct
class EndQuorumEpochResponsePartitionData:
    """A partition: its leader and epoch."""

    partition_index: int32 = 0
    error_code: int16 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@struct
class SnapshotId:
    """A snapshot by where it ends."""

    end_offset: int64 = 0
    epoch: int32 = 0


@message(api_key=59, versions=(0, 1), flexible=0)
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


@message(api_key=59, versions=(0, 1), flexible=0)
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


@struct
class KRaftVersionFeature:
    """The versions of kraft.version that a voter supports."""

    min_supported_version: int16 = 0
    max_supported_version: int16 = 0


@message(api_key=82, versions=(0, 0), flexible=0)
class UpdateRaftVoterRequest:
    """A voter tells where it listens now and what it supports."""

    cluster_id: Annotated[str | None, V(nullable=0)] = ""
    current_leader_epoch: int32 = 0
    voter_id: int32 = 0
    voter_directory_id: uuid = ZERO_UUID
    listeners: list[UpdateRaftVoterRequestListener] = []
    kraft_version_feature: KRaftVersionFeature = field(default_factory=KRaftVersionFeature)


@struct
class UpdateRaftVoterRequestListener:
    """A listener of the voter."""

    name: str = ""
    host: str = ""
    port: uint16 = 0


@struct
class UpdateRaftVoterResponseCurrentLeader:
    """The leader, and where it listens."""

    leader_id: int32 = -1
    leader_epoch: int32 = -1
    host: str = ""
    port: int32 = 0


@message(api_key=82, versions=(0, 0), flexible=0)
class UpdateRaftVoterResponse:
    """Success or error, and the leader."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    current_leader: Annotated[UpdateRaftVoterResponseCurrentLeader, V(tag=0, tagged=0)] = field(
        default_factory=UpdateRaftVoterResponseCurrentLeader
    )
