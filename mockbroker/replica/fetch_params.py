"""What one fetch asks for as a whole, after the broker's own limits were applied.

`apis.fetch` makes it from the request; the reader, the sessions and the delayed fetch take their
rules from it. It is not changed afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.offsets import FetchIsolation

if TYPE_CHECKING:
    from mockbroker_protocol.messages.fetch import FetchRequest

ISOLATION_LEVELS: Final = {0: FetchIsolation.HIGH_WATERMARK, 1: FetchIsolation.TXN_COMMITTED}
"""By the isolation level of the wire; others are refused as Kafka refuses them."""

FUTURE_LOCAL_REPLICA_ID: Final = -3

UNKNOWN_HIGH_WATERMARK: Final = 2**63 - 1
"""KIP-1166: the default of the request's HighWatermark; its sender takes no part in the rule."""


class FetchParams:
    """Limits, isolation and reader of one fetch (Kafka: FetchParams).

    `isolation` is how far the reader may read; when `isolation_known` is False the request has a
    level that does not exist, and nothing may be read.
    """

    __slots__ = (
        "is_from_follower",
        "isolation",
        "isolation_known",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "only_leader",
        "rack_id",
        "replica_epoch",
        "replica_id",
        "version",
    )

    def __init__(self, request: FetchRequest, version: int, fetch_max_bytes: int) -> None:
        self.version = version
        self.max_wait_ms = request.max_wait_ms
        max_bytes = request.max_bytes
        if max_bytes > fetch_max_bytes:  # noqa: PLR1730 - made per request; a call costs more
            max_bytes = fetch_max_bytes
        self.max_bytes = max_bytes
        min_bytes = request.min_bytes
        self.min_bytes = min_bytes if min_bytes < max_bytes else max_bytes  # noqa: FURB136
        self.rack_id = request.rack_id
        state = request.replica_state
        if state is None:
            replica_id = self.replica_id = request.replica_id
            self.replica_epoch = -1
        else:
            replica_id = self.replica_id = state.replica_id
            self.replica_epoch = state.replica_epoch
        self.is_from_follower = replica_id >= 0
        isolation = ISOLATION_LEVELS.get(request.isolation_level)
        self.isolation_known = isolation is not None
        if replica_id >= 0 or replica_id == FUTURE_LOCAL_REPLICA_ID:
            self.isolation = FetchIsolation.LOG_END
            self.only_leader = replica_id >= 0
        else:
            self.isolation = isolation or FetchIsolation.HIGH_WATERMARK
            # KIP-392: from v11 on a consumer tells who it is and may read from a follower.
            self.only_leader = version < 11

    def limit(self, max_bytes: int) -> None:
        """Read no more than that: a quota lets no more through."""
        self.max_bytes = min(self.max_bytes, max_bytes)
        self.min_bytes = min(self.min_bytes, self.max_bytes)
