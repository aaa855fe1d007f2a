"""ShareFetch and ShareAcknowledge: records leased to members of a share group (KIP-932)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    Records,
    V,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)


@message(api_key=78)
class ShareFetchRequest:
    """Acquire records, and acknowledge others on the way."""

    group_id: Annotated[str | None, V(nullable=1)] = None
    member_id: Annotated[str | None, V(nullable=1)] = ""
    share_session_epoch: int32 = 0
    max_wait_ms: int32 = 0
    min_bytes: int32 = 0
    max_bytes: int32 = 2**31 - 1
    max_records: int32 = 0
    batch_size: int32 = 0
    share_acquire_mode: Annotated[int8, V(since=2, ignorable=True)] = 0
    is_renew_ack: Annotated[boolean, V(since=2)] = False
    topics: list[ShareFetchRequestTopic] = []
    forgotten_topics_data: list[ShareFetchRequestForgottenTopic] = []


@struct
class ShareFetchRequestTopic:
    """Partitions of one topic to read."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ShareFetchRequestPartition] = []


@struct
class ShareFetchRequestPartition:
    """A partition, and what to acknowledge in it first."""

    partition_index: int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


@struct
class AcknowledgementBatch:
    """A run of offsets: one type for all, or one each."""

    first_offset: int64 = 0
    last_offset: int64 = 0
    acknowledge_types: list[int8] = []


@struct
class ShareFetchRequestForgottenTopic:
    """Partitions to drop from the share session."""

    topic_id: uuid = ZERO_UUID
    partitions: list[int32] = []


@message(api_key=78)
class ShareFetchResponse:
    """Records, and which of them are acquired."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = None
    acquisition_lock_timeout_ms: int32 = 0
    responses: list[ShareFetchResponseTopic] = []
    node_endpoints: list[NodeEndpoint] = []


@struct
class ShareFetchResponseTopic:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ShareFetchResponsePartition] = []


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now."""

    leader_id: int32 = 0
    leader_epoch: int32 = 0


@struct
class ShareFetchResponsePartition:
    """Records and which of them are acquired, or the errors."""

    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = None
    acknowledge_error_code: int16 = 0
    acknowledge_error_message: Annotated[str | None, V(nullable=1)] = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    records: Records = b""
    acquired_records: list[AcquiredRecords] = []


@struct
class AcquiredRecords:
    """A run of offsets leased to the member."""

    first_offset: int64 = 0
    last_offset: int64 = 0
    delivery_count: int16 = 0


@struct
class NodeEndpoint:
    """Where a leader named in this response can be reached."""

    node_id: int32 = 0
    host: str = ""
    port: int32 = 0
    rack: Annotated[str | None, V(nullable=1)] = None


@message(api_key=79)
class ShareAcknowledgeRequest:
    """Acknowledge records: 0 gap, 1 accept, 2 release, 3 reject, 4 renew."""

    group_id: Annotated[str | None, V(nullable=1)] = None
    member_id: Annotated[str | None, V(nullable=1)] = ""
    share_session_epoch: int32 = 0
    is_renew_ack: Annotated[boolean, V(since=2)] = False
    topics: list[AcknowledgeTopic] = []


@struct
class AcknowledgeTopic:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[AcknowledgePartition] = []


@struct
class AcknowledgePartition:
    """What to acknowledge in one partition."""

    partition_index: int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


@message(api_key=79)
class ShareAcknowledgeResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = None
    acquisition_lock_timeout_ms: Annotated[int32, V(since=2, ignorable=True)] = 0
    responses: list[ShareAcknowledgeResponseTopic] = []
    node_endpoints: list[NodeEndpoint] = []


@struct
class ShareAcknowledgeResponseTopic:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ShareAcknowledgeResponsePartition] = []


@struct
class ShareAcknowledgeResponsePartition:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
