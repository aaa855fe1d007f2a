"""Partition reassignments (KIP-455) and leader elections (KIP-460)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int8, int16, int32, message, struct


@message(api_key=45)
class AlterPartitionReassignmentsRequest:
    """Move partitions to other brokers; None ends a move."""

    timeout_ms: int32 = 60000
    allow_replication_factor_change: Annotated[boolean, V(since=1)] = True
    topics: list[ReassignableTopic] = []


@struct
class ReassignableTopic:
    """Partitions of one topic to move."""

    name: str = ""
    partitions: list[ReassignablePartition] = []


@struct
class ReassignablePartition:
    """Brokers that shall hold the partition; None ends the move."""

    partition_index: int32 = 0
    replicas: Annotated[list[int32] | None, V(nullable=0)] = None


@message(api_key=45)
class AlterPartitionReassignmentsResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    allow_replication_factor_change: Annotated[boolean, V(since=1, ignorable=True)] = True
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    responses: list[ReassignableTopicResponse] = []


@struct
class ReassignableTopicResponse:
    """The results of one topic."""

    name: str = ""
    partitions: list[ReassignablePartitionResponse] = []


@struct
class ReassignablePartitionResponse:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=46)
class ListPartitionReassignmentsRequest:
    """Ask for moves under way; None is every topic."""

    timeout_ms: int32 = 60000
    topics: Annotated[list[ListPartitionReassignmentsTopics] | None, V(nullable=0)] = None


@struct
class ListPartitionReassignmentsTopics:
    """Partitions of one topic."""

    name: str = ""
    partition_indexes: list[int32] = []


@message(api_key=46)
class ListPartitionReassignmentsResponse:
    """The moves under way."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    topics: list[OngoingTopicReassignment] = []


@struct
class OngoingTopicReassignment:
    """Moves in one topic."""

    name: str = ""
    partitions: list[OngoingPartitionReassignment] = []


@struct
class OngoingPartitionReassignment:
    """A move: replicas now, coming and going."""

    partition_index: int32 = 0
    replicas: list[int32] = []
    adding_replicas: list[int32] = []
    removing_replicas: list[int32] = []


@message(api_key=43)
class ElectLeadersRequest:
    """Elect leaders: type 0 preferred, 1 unclean."""

    election_type: Annotated[int8, V(since=1)] = 0
    topic_partitions: Annotated[list[TopicPartitions] | None, V(nullable=0)] = []
    timeout_ms: int32 = 60000


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic: str = ""
    partitions: list[int32] = []


@message(api_key=43)
class ElectLeadersResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    error_code: Annotated[int16, V(since=1)] = 0
    replica_election_results: list[ReplicaElectionResult] = []


@struct
class ReplicaElectionResult:
    """The results of one topic."""

    topic: str = ""
    partition_result: list[PartitionResult] = []


@struct
class PartitionResult:
    """Success or error for one partition."""

    partition_id: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
