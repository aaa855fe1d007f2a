"""Structs of Fetch that an ordinary request has none of; `fetch` is what to import.

`unknown_tags` is a slot of every declared class; it is spelled out here for the type checker, as
the hand-written code sets it.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mockbroker_protocol.schema import ZERO_UUID, V, int32, int64, struct, uuid

if TYPE_CHECKING:
    Tags = dict[int, bytes] | None


@struct
class FetchRequestForgottenTopic:
    """Partitions to drop from the fetch session."""

    topic: Annotated[str, V(until=12, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=13, ignorable=True)] = ZERO_UUID
    partitions: list[int32] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class ReplicaState:
    """Who the follower is, and its broker epoch (KIP-903)."""

    replica_id: int32 = -1
    replica_epoch: int64 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class AbortedTransaction:
    """An aborted transaction that overlaps the records returned."""

    producer_id: int64 = 0
    first_offset: int64 = 0
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class EpochEndOffset:
    """Where the log of the follower leaves that of the leader (KIP-595)."""

    epoch: int32 = -1
    end_offset: int64 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now (KIP-951)."""

    leader_id: int32 = -1
    leader_epoch: int32 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class NodeEndpoint:
    """Where a leader named in this response can be reached (KIP-951)."""

    node_id: int32 = 0
    host: str = ""
    port: int32 = 0
    rack: Annotated[str | None, V(nullable=16)] = None
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class SnapshotId:
    """The snapshot to load in place of the log (KIP-630)."""

    end_offset: int64 = -1
    epoch: int32 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None
