"""Limits of the core that a seed lowers, so that the little that it sends is much.

What a broker does in slices it does with thousands of partitions, records or bytes at once, which
no run has time for: `Limits` draws which of `LIMITS` a seed lowers, and how low; `lowered` has them
so while the brokers are made and while the run lives. Nothing a client sees may
come out otherwise by it. On the compiled build a limit is in the machine code, and stays.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker import clock
from mockbroker.apis import (
    context,
    describe_acls,
    describe_log_dirs,
    list_offsets,
    offset_commit,
    produce,
    registry,
    txn_offset_commit,
)
from mockbroker.apis import fetch as fetch_api
from mockbroker.apis import metadata as metadata_api
from mockbroker.coop import fetch as coop_fetch
from mockbroker.coop import sliced_commit
from mockbroker.coordinator import leadership
from mockbroker.coordinator.txn import end_txn
from mockbroker.coordinator.txn import metadata as txn_metadata
from mockbroker.fetch import incremental, long_contexts, session, waiting
from mockbroker.log import timestamp_lookup
from mockbroker.metadata import controller
from mockbroker.node import connection, large_requests, request_handler, slices
from mockbroker.replica import manager as replica_manager
from mockbroker.security import authorizer
from simulation import turns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random
    from types import ModuleType

KIND: Final = "limits"
LIMITS_CHANCE: Final = 0.4
"""How likely a seed lowers any."""
TURNS_CHANCE: Final = 0.5
"""How likely such a seed has turns too."""
LOWER_CHANCE: Final = 0.6
"""How likely each of them is lower, in such a seed."""


class Limit(NamedTuple):
    """Constants of a module, and what a seed may have in their place."""

    module: ModuleType
    low: tuple[dict[str, object], ...]
    beside: tuple[ModuleType, ...] = ()
    """Who has some of the same constants."""


def _limit(module: ModuleType, name: str, *low: object) -> Limit:
    return Limit(module, tuple({name: value} for value in low))


def _parts(size: int) -> dict[str, object]:
    """Requests that are divided into parts of so many elements: what is repeated is met before."""
    splits = {key: one._replace(size=size) for key, one in large_requests.SPLITS.items()}
    offsets = tuple(one._replace(size=size) for one in large_requests._OFFSET_FETCH)  # noqa: SLF001
    return {"PART_ELEMENTS": size, "SPLITS": splits, "_OFFSET_FETCH": offsets}


def _epochs(last: int) -> dict[str, object]:
    """So many epochs has a producer id, of which the last is kept for fencing."""
    return {"MAX_PRODUCER_EPOCH": last, "_LAST_CLIENT_EPOCH": last - 1}


LIMITS: Final = (
    Limit(registry, tuple({"LARGE_BYTES": size, "LARGE_BYTES_OF": {}} for size in (0, 100))),
    Limit(large_requests, (_parts(2), _parts(40))),
    _limit(clock, "_STALE_ENTRIES_ALLOWED", -2, 0),
    _limit(connection, "OUT_BYTES_LIMIT", 1, 200),
    _limit(request_handler, "FRAMES_PER_STEP", 1, 2),
    _limit(large_requests, "LOOKED_AT", 2, 50),
    _limit(slices, "FREED_AT_ONCE", 10),
    _limit(context, "MADE_AT_ONCE", 1, 2),
    _limit(describe_acls, "MADE_AT_ONCE", 1, 2),
    _limit(describe_log_dirs, "MADE_AT_ONCE", 1, 2),
    _limit(metadata_api, "MADE_AT_ONCE", 1, 2),
    _limit(offset_commit, "MADE_AT_ONCE", 1, 2),
    _limit(list_offsets, "LOOKED_THROUGH_BYTES", 1, 100),
    _limit(timestamp_lookup, "LOOKED_THROUGH", 1, 2),
    _limit(produce, "LARGE_BATCH_BYTES", 0, 100),
    _limit(produce, "APPENDED_AT_ONCE_BYTES", 1, 9000),
    _limit(produce, "INSPECTED_AT_ONCE_BYTES", 1, 200),
    _limit(produce, "MANY_ERRORS", 0),
    _limit(fetch_api, "LONG_REQUEST_BYTES", 0, 120),
    _limit(incremental, "LONG", 0, 1, 2),
    _limit(incremental, "MANY_READY", 1, 2),
    _limit(long_contexts, "SLICE", 1, 2, 3),
    _limit(waiting, "WEIGHED_AT_ONCE", 1, 2),
    _limit(session, "_STALE_ENTRIES_ALLOWED", -2, 0),
    _limit(session, "_SMALL_DICT", 0),
    _limit(replica_manager, "MANY_PARKED", 0, 1),
    _limit(leadership, "RECORDS_A_STEP", 1, 3),
    _limit(controller, "CHANGED_AT_ONCE", 1, 2),
    _limit(controller, "DELETED_AT_ONCE", 1),
    _limit(authorizer, "_DECISIONS_KEPT", 1, 3),
    _limit(coop_fetch, "TURN_BYTES", 1, 300),
    _limit(sliced_commit, "AT_ONCE", 1, 3),
    _limit(txn_offset_commit, "MADE_AT_ONCE", 1, 2),
    Limit(txn_metadata, (_epochs(6), _epochs(20)), (end_txn,)),
)


class Limits:
    """Which limits a run lowers, and how low, while `KIND` is one of the kinds that are `on`."""

    def __init__(self, rng: Random, on: dict[str, bool]) -> None:
        self._on = on
        on[KIND] = rng.random() < LIMITS_CHANCE
        on[turns.KIND] = on[KIND] and rng.random() < TURNS_CHANCE
        self._lower = [
            (limit, rng.choice(limit.low)) for limit in LIMITS if rng.random() < LOWER_CHANCE
        ]

    @contextmanager
    def lowered(self) -> Iterator[None]:
        """They are low meanwhile."""
        with ExitStack() as stack:
            for limit, low in self._lower if self._on[KIND] else ():
                for module in (limit.module, *limit.beside):
                    for name, value in low.items():
                        if hasattr(module, name):
                            stack.callback(setattr, module, name, getattr(module, name))
                            setattr(module, name, value)
            yield
