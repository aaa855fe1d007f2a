"""AlterReplicaLogDirs and DescribeLogDirs: where replicas lie on a broker's disks (KIP-113)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int16, int32, int64, message, struct


@message(api_key=34)
class AlterReplicaLogDirsRequest:
    """Move replicas of this broker to other directories."""

    dirs: list[AlterReplicaLogDir] = []


@struct
class AlterReplicaLogDir:
    """A directory and the replicas that shall move there."""

    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = []


@struct
class AlterReplicaLogDirTopic:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[int32] = []


@message(api_key=34)
class AlterReplicaLogDirsResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    results: list[AlterReplicaLogDirTopicResult] = []


@struct
class AlterReplicaLogDirTopicResult:
    """The results of one topic."""

    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = []


@struct
class AlterReplicaLogDirPartitionResult:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0


@message(api_key=35)
class DescribeLogDirsRequest:
    """Ask for directories and what lies in them; None is every topic."""

    topics: Annotated[list[DescribableLogDirTopic] | None, V(nullable=1)] = []


@struct
class DescribableLogDirTopic:
    """Partitions of one topic."""

    topic: str = ""
    partitions: list[int32] = []


@message(api_key=35)
class DescribeLogDirsResponse:
    """One answer per directory."""

    throttle_time_ms: int32 = 0
    error_code: Annotated[int16, V(since=3, ignorable=True)] = 0
    results: list[DescribeLogDirsResult] = []


@struct
class DescribeLogDirsResult:
    """A directory with its replicas and room, or the error."""

    error_code: int16 = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: Annotated[int64, V(since=4, ignorable=True)] = -1
    usable_bytes: Annotated[int64, V(since=4, ignorable=True)] = -1
    is_cordoned: Annotated[boolean, V(since=5, ignorable=True)] = False


@struct
class DescribeLogDirsTopic:
    """What lies there of one topic."""

    name: str = ""
    partitions: list[DescribeLogDirsPartition] = []


@struct
class DescribeLogDirsPartition:
    """A replica, its size and how far it lags."""

    partition_index: int32 = 0
    partition_size: int64 = 0
    offset_lag: int64 = 0
    is_future_key: boolean = False
