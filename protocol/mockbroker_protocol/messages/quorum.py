"""The controller quorum as seen through a broker, and leaving nodes (KIP-595, KIP-853)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
    uuid,
)


@message(api_key=55)
class DescribeQuorumRequest:
    """Ask for the state of the metadata quorum."""

    topics: list[DescribeQuorumRequestTopicData] = []


@struct
class DescribeQuorumRequestTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[DescribeQuorumRequestPartitionData] = []


@struct
class DescribeQuorumRequestPartitionData:
    """A partition."""

    partition_index: int32 = 0


@message(api_key=55)
class DescribeQuorumResponse:
    """Leader, voters and observers of each partition."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(since=2, nullable=2, ignorable=True)] = ""
    topics: list[DescribeQuorumResponseTopicData] = []
    nodes: Annotated[list[Node], V(since=2)] = []


@struct
class DescribeQuorumResponseTopicData:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[DescribeQuorumResponsePartitionData] = []


@struct
class DescribeQuorumResponsePartitionData:
    """Leader, epoch, voters and observers of a partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(since=2, nullable=2, ignorable=True)] = ""
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    high_watermark: int64 = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []


@struct
class ReplicaState:
    """How far a voter or observer has come."""

    replica_id: int32 = 0
    replica_directory_id: Annotated[uuid, V(since=2)] = ZERO_UUID
    log_end_offset: int64 = 0
    last_fetch_timestamp: Annotated[int64, V(since=1, ignorable=True)] = -1
    last_caught_up_timestamp: Annotated[int64, V(since=1, ignorable=True)] = -1


@struct
class Node:
    """A voter and where it listens."""

    node_id: int32 = 0
    listeners: list[VoterListener] = []


@struct
class VoterListener:
    """A listener of a voter."""

    name: str = ""
    host: str = ""
    port: uint16 = 0


@message(api_key=80)
class AddRaftVoterRequest:
    """Let a controller join the voters (KIP-853)."""

    cluster_id: Annotated[str | None, V(nullable=0)] = ""
    timeout_ms: int32 = 0
    voter_id: int32 = 0
    voter_directory_id: uuid = ZERO_UUID
    listeners: list[VoterListener] = []
    ack_when_committed: Annotated[boolean, V(since=1)] = True


@message(api_key=80)
class AddRaftVoterResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=81)
class RemoveRaftVoterRequest:
    """Take a controller out of the voters (KIP-853)."""

    cluster_id: Annotated[str | None, V(nullable=0)] = ""
    voter_id: int32 = 0
    voter_directory_id: uuid = ZERO_UUID


@message(api_key=81)
class RemoveRaftVoterResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=64)
class UnregisterBrokerRequest:
    """Take a broker that is gone off the books."""

    broker_id: int32 = 0


@message(api_key=64)
class UnregisterBrokerResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=94)
class UnregisterControllerRequest:
    """Take a controller that is gone off the books."""

    controller_id: int32 = 0


@message(api_key=94)
class UnregisterControllerResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
