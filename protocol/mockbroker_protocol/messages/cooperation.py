"""DescribeIndividualCommits and RegisterKeyRangeFilter: of the extension, for who asks for it.

Ranges are packed: two int64, first and last, in 16 bytes without a section of tagged fields, as in
the extension's own fields.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int16, int32, int64, message, struct, uuid


@message(api_key=19700)
class DescribeIndividualCommitsRequest:
    """What a group has committed of its partitions; null topics are all that it shares."""

    group_id: str = ""
    topics: Annotated[list[DescribeIndividualCommitsRequestTopic] | None, V(nullable=0)] = None


@struct
class DescribeIndividualCommitsRequestTopic:
    """Partitions of one topic."""

    name: str = ""
    partition_indexes: list[int32] = []


@message(api_key=19700)
class DescribeIndividualCommitsResponse:
    """The partitions, or why there are none."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    topics: list[DescribeIndividualCommitsResponseTopic] = []


@struct
class DescribeIndividualCommitsResponseTopic:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[DescribeIndividualCommitsResponsePartition] = []


@struct
class DescribeIndividualCommitsResponsePartition:
    """The first offset that is not done, what is done beyond it, and what is handed out."""

    partition_index: int32 = 0
    error_code: int16 = 0
    stable_offset: int64 = -1
    max_committed_offset: int64 = -1
    committed_ranges: list[uuid] = []
    pending_ranges: list[uuid] = []
    marker: int64 = -1
    leases: list[DescribeIndividualCommitsResponseLease] = []


@struct
class DescribeIndividualCommitsResponseLease:
    """Offsets that a member was handed, for how long still, and how often they were handed out."""

    first_offset: int64 = 0
    last_offset: int64 = 0
    member_id: str = ""
    delivery_count: int16 = 0
    left_ms: int64 = 0


@message(api_key=19701)
class RegisterKeyRangeFilterRequest:
    """All filters of a client's fetches anew; a null client is this connection."""

    client_id: Annotated[str | None, V(nullable=0)] = None
    topics: list[RegisterKeyRangeFilterRequestTopic] = []


@struct
class RegisterKeyRangeFilterRequestTopic:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[RegisterKeyRangeFilterRequestPartition] = []


@struct
class RegisterKeyRangeFilterRequestPartition:
    """Ranges of slots, and keys that pass whatever their slot: null is the null key."""

    partition_index: int32 = 0
    ranges: list[uuid] = []
    keys: list[bytes | None] = []


@message(api_key=19701)
class RegisterKeyRangeFilterResponse:
    """Whether they are in force now."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
