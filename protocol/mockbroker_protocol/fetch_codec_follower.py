"""The Fetch request that replication sends for each write, between bytes and objects in one go.

A follower whose last answer told of one partition asks for that one anew, at its log's new end and
with its new high watermark (KIP-1166), and tells who it is (KIP-903). `fetch_codec_request` tries
this shape first and goes the general way for all others; the bytes are the same either way.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.messages.fetch import (
    FetchRequestPartition,
    FetchRequestTopic,
    ReplicaState,
)
from mockbroker_protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from mockbroker_protocol.messages.fetch import FetchRequest
    from mockbroker_protocol.primitives import Buffer

NO_HIGH_WATERMARK: Final = 2**63 - 1

# What follows the six fields of the head. The constants between the fields: one tag, its number
# and size; no topic tags, none forgotten, no rack, one tag of the request; its number and size; no
# tags within it.
_FOLLOWED: Final = Struct(">B16sBiiqiqiBHqIHiqB")
_REQUEST: Final = Struct(">iiibiiB16sBiiqiqiBHqIHiqB")
_HIGH_WATERMARK_TAG: Final = 0x0108
_UP_TO_STATE: Final = 0x00010101
_STATE_TAG: Final = 0x010D
FOLLOWED_BYTES: Final = _FOLLOWED.size


def decode_followed(request: FetchRequest, buf: Buffer, pos: int) -> bool:
    """Take what follows the head; False, and nothing taken, when it has another shape.

    `buf` has FOLLOWED_BYTES or more from `pos` on.
    """
    (
        topics,
        topic_id,
        count,
        index,
        epoch,
        offset,
        fetched_epoch,
        start,
        max_bytes,
        tag_count,
        high_watermark_tag,
        high_watermark,
        up_to_state,
        state_tag,
        replica_id,
        replica_epoch,
        no_tags,
    ) = _FOLLOWED.unpack_from(buf, pos)
    if (
        state_tag != _STATE_TAG
        or up_to_state != _UP_TO_STATE
        or high_watermark_tag != _HIGH_WATERMARK_TAG
        or tag_count != 1
        or topics != 2
        or count != 2
        or no_tags
    ):
        return False
    partition = FetchRequestPartition(
        index, epoch, offset, fetched_epoch, start, max_bytes, ZERO_UUID, high_watermark
    )
    request.topics = [FetchRequestTopic("", topic_id, [partition])]
    request.replica_state = ReplicaState(replica_id, replica_epoch)
    return True


def encode_followed(request: FetchRequest, topic: FetchRequestTopic) -> bytes | None:
    """The body, v18, of a request for this topic alone; None when it has another shape."""
    partitions, state = topic.partitions, request.replica_state
    if (
        len(partitions) != 1
        or state is None
        or request.forgotten_topics_data
        or request.rack_id
        or request.unknown_tags
        or request.cluster_id is not None
        or topic.unknown_tags
        or state.unknown_tags
    ):
        return None
    partition = partitions[0]
    if (
        partition.high_watermark == NO_HIGH_WATERMARK
        or partition.replica_directory_id != ZERO_UUID
        or partition.unknown_tags
    ):
        return None
    return _REQUEST.pack(
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        2,
        topic.topic_id,
        2,
        partition.partition,
        partition.current_leader_epoch,
        partition.fetch_offset,
        partition.last_fetched_epoch,
        partition.log_start_offset,
        partition.partition_max_bytes,
        1,
        _HIGH_WATERMARK_TAG,
        partition.high_watermark,
        _UP_TO_STATE,
        _STATE_TAG,
        state.replica_id,
        state.replica_epoch,
        0,
    )
