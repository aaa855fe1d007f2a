"""The checkers can fail: each defect put into the broker is caught by some seed.

A defect that no rule notices would make all the green seeds worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mockbroker.apis.context import RequestContext
from mockbroker.fetch import manager as fetch_manager
from mockbroker.fetch.cache import FetchSessionCacheShard
from mockbroker.fetch.session import CachedPartition, FetchSession
from mockbroker.log.aborted import AbortedIndex
from mockbroker.log.unified_log import UnifiedLog
from mockbroker.node.connection import Connection
from mockbroker.node.request_handler import RequestHandler
from mockbroker.purgatory.purgatory import Purgatory
from mockbroker.replica.delayed_fetch import DelayedFetch
from mockbroker.replica.manager import ReplicaManager
from mockbroker.replica.partition import Partition
from simulation.simulation import simulate

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]

SEEDS = range(400)
Mutate = Callable[[pytest.MonkeyPatch], None]


def nothing(*_: object, **__: object) -> None:
    return None


def drop_marks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CachedPartition, "mark", nothing)


def drop_one_mark_in_three(patch: pytest.MonkeyPatch) -> None:
    mark, count = CachedPartition.mark, 0

    def mark_sometimes(self: CachedPartition) -> None:
        nonlocal count
        count += 1
        if count % 3:
            mark(self)

    patch.setattr(CachedPartition, "mark", mark_sometimes)


def answer_one_byte_less(patch: pytest.MonkeyPatch) -> None:
    read = UnifiedLog.read

    def read_less(self: UnifiedLog, *args: Any) -> object:
        result = read(self, *args)
        if result.size_bytes > 1:
            result.chunks = [b"".join(result.chunks)[:-1]]
            result.size_bytes -= 1
        return result

    patch.setattr(UnifiedLog, "read", read_less)


def spoil_one_byte(patch: pytest.MonkeyPatch) -> None:
    read = UnifiedLog.read

    def read_spoilt(self: UnifiedLog, *args: Any) -> object:
        result = read(self, *args)
        if result.size_bytes > 1:
            data = bytearray(b"".join(result.chunks))
            data[-1] ^= 1
            result.chunks = [data]
        return result

    patch.setattr(UnifiedLog, "read", read_spoilt)


def never_expire(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Purgatory, "_expire", nothing)


def keep_what_is_parked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DelayedFetch, "give_up", nothing)


def keep_watching(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "unwatch", nothing)


def wake_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReplicaManager, "mark_ready", nothing)


def hide_high_watermarks(patch: pytest.MonkeyPatch) -> None:
    has_news = CachedPartition.has_news

    def tell_data_only(self: CachedPartition, data: Any, size_bytes: int) -> bool:
        told = has_news(self, data, size_bytes)
        return told and bool(size_bytes or data.error_code)

    patch.setattr(CachedPartition, "has_news", tell_data_only)


def hide_log_starts(patch: pytest.MonkeyPatch) -> None:
    has_news = CachedPartition.has_news

    def forget_log_start(self: CachedPartition, data: Any, size_bytes: int) -> bool:
        self.cached_log_start_offset = data.log_start_offset
        return has_news(self, data, size_bytes)

    patch.setattr(CachedPartition, "has_news", forget_log_start)


def keep_the_epoch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fetch_manager, "next_epoch", lambda epoch: epoch)


def ignore_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FetchSession, "_forget", nothing)


def miscount_sessions(patch: pytest.MonkeyPatch) -> None:
    def remove(self: FetchSessionCacheShard, session_id: int) -> bool:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            session.close()
        return session is not None

    patch.setattr(FetchSessionCacheShard, "remove", remove)


def append_duplicates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnifiedLog, "_check_producer", nothing)


def show_open_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnifiedLog, "last_stable_offset", property(lambda self: self.high_watermark))


def hide_aborted_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AbortedIndex, "append", nothing)


def answer_twice(patch: pytest.MonkeyPatch) -> None:
    finish = RequestHandler.finish

    def finish_twice(
        self: RequestHandler, conn: Connection, ctx: RequestContext, *args: Any, **kwargs: Any
    ) -> None:
        finish(self, conn, ctx, *args, **kwargs)
        if ctx.response_bytes == 300 and ctx.chunks is not None:
            conn.out += ctx.chunks
            conn.out_bytes += 300

    patch.setattr(RequestHandler, "finish", finish_twice)


def lose_records(patch: pytest.MonkeyPatch) -> None:
    append_as_leader, count = UnifiedLog.append_as_leader, 0

    def append_mostly(self: UnifiedLog, *args: Any, **kwargs: Any) -> object:
        nonlocal count
        count += 1
        result = append_as_leader(self, *args, **kwargs)
        if not count % 20:
            self.truncate_to(result.base_offset)
        return result

    patch.setattr(UnifiedLog, "append_as_leader", append_mostly)


def work_ahead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RequestHandler, "complete", nothing)
    patch.setattr(RequestHandler, "complete_by", nothing)


MUTATIONS: tuple[Mutate, ...] = (
    drop_marks,
    drop_one_mark_in_three,
    answer_one_byte_less,
    spoil_one_byte,
    never_expire,
    keep_what_is_parked,
    keep_watching,
    wake_nobody,
    hide_high_watermarks,
    hide_log_starts,
    keep_the_epoch,
    ignore_forgotten,
    miscount_sessions,
    append_duplicates,
    show_open_transactions,
    hide_aborted_transactions,
    answer_twice,
    lose_records,
    work_ahead,
)


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_a_defect_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    assert any(fails(seed) for seed in SEEDS)


def fails(seed: int) -> bool:
    """Whether a rule, or an assertion of the broker's own, notices."""
    try:
        return simulate(seed).failed
    except AssertionError:
        return True
