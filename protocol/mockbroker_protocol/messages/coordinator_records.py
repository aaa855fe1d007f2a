"""Records of __consumer_offsets for classic groups and committed offsets, keys and values.

The group coordinator writes and replays them. In the log a key is an int16 record type and the
key's body, a value is an int16 version and its body in that version (GroupCoordinatorRecordSerde,
RECORD_TYPES). Keys are never flexible.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated, Final

from mockbroker_protocol.schema import ZERO_UUID, V, int32, int64, message, struct, uuid


@message(versions=(0, 0))
class OffsetCommitKey:
    """Whose position in which partition."""

    group: str = ""
    topic: str = ""
    partition: int32 = 0


@message(versions=(0, 4), flexible=4)
class OffsetCommitValue:
    """The position; the retention of v1 is the expire timestamp."""

    offset: int64 = 0
    leader_epoch: Annotated[int32, V(since=3, ignorable=True)] = -1
    metadata: str = ""
    commit_timestamp: int64 = 0
    expire_timestamp: Annotated[int64, V(since=1, until=1, ignorable=True)] = -1
    topic_id: Annotated[uuid, V(tag=0, tagged=4, ignorable=True)] = ZERO_UUID


@message(versions=(0, 0))
class GroupMetadataKey:
    """A classic group."""

    group: str = ""


@message(versions=(0, 4), flexible=4)
class GroupMetadataValue:
    """A generation of a classic group; a tombstone deletes the group."""

    protocol_type: str = ""
    generation: int32 = 0
    protocol: Annotated[str | None, V(nullable=0)] = ""
    leader: Annotated[str | None, V(nullable=0)] = ""
    current_state_timestamp: Annotated[int64, V(since=2, ignorable=True)] = -1
    members: list[MemberMetadata] = []


@struct
class MemberMetadata:
    """A member of the generation."""

    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=3, nullable=3, ignorable=True)] = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: Annotated[int32, V(since=1, ignorable=True)] = -1
    session_timeout: int32 = 0
    subscription: bytes = b""
    assignment: bytes = b""


RECORD_TYPES: Final[dict[int, tuple[type, type]]] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
}
"""Number at the head of a key → the classes of key and value; 0 is an old way of writing 1."""
