"""FindCoordinator: which broker coordinates a group, a transactional id or a share partition.

One key per request up to version 3, a list of keys from 4 on (KIP-699).
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int8, int16, int32, message, struct


@message(api_key=10)
class FindCoordinatorRequest:
    """Key type 0 is a group, 1 a transactional id, 2 a share partition."""

    key: Annotated[str, V(until=3)] = ""
    key_type: Annotated[int8, V(since=1)] = 0
    coordinator_keys: Annotated[list[str], V(since=4)] = []


@message(api_key=10)
class FindCoordinatorResponse:
    """The coordinator of the one key, or a list from v4 on."""

    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    error_code: Annotated[int16, V(until=3)] = 0
    error_message: Annotated[str | None, V(since=1, until=3, nullable=1, ignorable=True)] = ""
    node_id: Annotated[int32, V(until=3)] = 0
    host: Annotated[str, V(until=3)] = ""
    port: Annotated[int32, V(until=3)] = 0
    coordinators: Annotated[list[Coordinator], V(since=4)] = []


@struct
class Coordinator:
    """The coordinator of one key, or the error."""

    key: str = ""
    node_id: int32 = 0
    host: str = ""
    port: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=4)] = ""
