"""A shard that is built from its log piece by piece is the one that is built at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coordinator.partition_load import EndOfTransaction, PartitionLoad
from tests.mockbroker.coordinator.test_runtime import Recorder

if TYPE_CHECKING:
    from mockbroker.coordinator.partition_load import LoggedEntry
    from mockbroker.coordinator.records import CoordinatorRecord


def _decode(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    return None if key is None else (key, value)  # type: ignore[return-value]


def _load(high_watermark: int | None) -> PartitionLoad[Recorder]:
    return PartitionLoad(3, Recorder(), Recorder(), high_watermark, _decode)


ENTRIES = st.lists(st.sampled_from(["record", "unknown", "commit", "abort"]), max_size=12)


def _logged(kinds: list[str]) -> list[LoggedEntry]:
    made: list[LoggedEntry] = []
    for at, kind in enumerate(kinds):
        offset = 2 * at + 1
        if kind in {"commit", "abort"}:
            made.append(EndOfTransaction(offset, 7, kind == "commit"))
        else:
            made.append((offset, 7, b"key" if kind == "record" else None, b"%d" % at))
    return made


@given(ENTRIES, st.integers(0, 26), st.integers(1, 5))
def test_in_pieces_as_at_once(kinds: list[str], high_watermark: int, piece: int) -> None:
    entries = _logged(kinds)
    whole, parts = _load(high_watermark), _load(high_watermark)
    whole.replay(entries)
    done = 0
    while parts.replay(entries[done : done + piece]):
        done += piece
    assert parts.next_offset == whole.next_offset == (entries[-1][0] + 1 if entries else 0)
    assert parts.shard.told == whole.shard.told
    assert parts.committed is not None
    assert whole.committed is not None
    assert parts.committed.told == whole.committed.told
    waiting = parts.finish()
    known = whole.committed.told
    assert known == whole.shard.told[: len(known)]
    assert bool(waiting) == (parts.next_offset > high_watermark)
    waiting.complete_up_to(parts.next_offset)
    assert parts.committed.told == parts.shard.told


def test_a_broker_alone_has_nothing_that_waits() -> None:
    loading = _load(None)
    assert loading.replay(_logged(["record", "commit"])) == 2
    assert not loading.finish()
