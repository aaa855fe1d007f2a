"""Structs of Produce that an ordinary request has none of; `produce` is what to import."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int32, struct


@struct
class BatchIndexAndErrorMessage:
    """One record of the batch that made it fail."""

    batch_index: int32 = 0
    batch_index_error_message: Annotated[str | None, V(nullable=8)] = None


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now (KIP-951)."""

    leader_id: int32 = -1
    leader_epoch: int32 = -1


@struct
class NodeEndpoint:
    """Where a leader named in this response can be reached (KIP-951)."""

    node_id: int32 = 0
    host: str = ""
    port: int32 = 0
    rack: Annotated[str | None, V(nullable=10)] = None
