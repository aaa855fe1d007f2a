"""What classic consumers put into JoinGroup metadata and SyncGroup assignments.

On the wire each is an int16 version and its body in that version (ConsumerProtocol). Brokers
read it only to describe groups and to guard OffsetDelete.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int32, message, struct


@message(versions=(0, 3))
class ConsumerProtocolSubscription:
    """What a consumer wants to read, and what it holds."""

    topics: list[str] = []
    user_data: Annotated[bytes | None, V(nullable=0)] = None
    owned_partitions: Annotated[
        list[ConsumerProtocolTopicPartition], V(since=1, ignorable=True)
    ] = []
    generation_id: Annotated[int32, V(since=2, ignorable=True)] = -1
    rack_id: Annotated[str | None, V(since=3, nullable=3, ignorable=True)] = None


@struct
class ConsumerProtocolTopicPartition:
    """Partitions of one topic."""

    topic: str = ""
    partitions: list[int32] = []


@message(versions=(0, 3))
class ConsumerProtocolAssignment:
    """What a consumer gets."""

    assigned_partitions: list[ConsumerProtocolTopicPartition] = []
    user_data: Annotated[bytes | None, V(nullable=0)] = None
