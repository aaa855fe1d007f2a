"""What the records of individual commits add up to."""

from __future__ import annotations

from mockbroker.coop.ic_records import IndividualCommitKey, IndividualCommitValue, tombstone
from mockbroker.coop.ic_shard import IndividualCommitShard
from mockbroker.coop.interval_set import OffsetRange
from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker_protocol.errors import ErrorCode


def put(first: int, last: int, isolation: int = 0, *, partition: int = 0) -> CoordinatorRecord:
    key = IndividualCommitKey("g", "t", partition, first, last)
    return CoordinatorRecord(key, IndividualCommitValue(-1, 0, "m", isolation))


def gone(first: int, last: int) -> CoordinatorRecord:
    return tombstone("g", "t", 0, OffsetRange(first, last))


def replayed(*records: CoordinatorRecord, producer_id: int = -1) -> IndividualCommitShard:
    shard = IndividualCommitShard(0)
    for offset, record in enumerate(records):
        shard.replay(offset, producer_id, record)
    return shard


def ranges(shard: IndividualCommitShard, stable: int = 0) -> list[tuple[int, int]]:
    part = shard.of("g", "t", 0)
    return [] if part is None else [*part.beyond(stable)]


def test_a_log_is_replayed_in_its_order() -> None:
    """LG-03."""
    shard = replayed(put(45, 47), put(50, 50), gone(45, 47), gone(50, 50), put(45, 50))
    assert ranges(shard, 43) == [(45, 50)]
    assert shard.count("g") == 1
    assert [one[:3] for one in shard.parts()] == [("g", "t", 0)]


def test_what_was_cut_in_the_middle_is_put_together() -> None:
    shard = replayed(put(45, 47), put(50, 50), put(45, 50))
    assert ranges(shard, 43) == [(45, 50)]
    shard = replayed(put(45, 47), put(48, 49), put(60, 60), put(30, 44))
    assert ranges(shard, 43) == [(30, 49), (60, 60)]
    assert ranges(shard, 50) == [(60, 60)]
    shard.replay(9, -1, gone(45, 47))
    assert ranges(shard, 43) == [(30, 44), (48, 49), (60, 60)]


def test_a_stray_range_can_go_alone() -> None:
    shard = replayed(put(45, 50), put(45, 47), gone(45, 47))
    assert ranges(shard) == [(45, 50)]
    assert replayed(put(45, 50), put(45, 50), gone(45, 50)).groups == {}


def test_nothing_is_kept_of_what_is_gone() -> None:
    shard = replayed(put(1, 2), gone(1, 2), gone(5, 6))
    assert shard.groups == {}
    assert (shard.of("g", "t", 0), shard.count("g")) == (None, 0)
    shard.on_loaded()
    shard.on_unloaded(ErrorCode.NOT_COORDINATOR)


def test_a_transactions_ranges_count_when_it_commits() -> None:
    shard = replayed(put(1, 2), put(5, 6), producer_id=7)
    part = shard.of("g", "t", 0)
    assert part is not None
    assert (ranges(shard), part.all_pending()) == ([], [(1, 2), (5, 6)])
    assert part.is_pending(2, 3)
    assert not part.is_pending(2, 3, but_for=7)
    ((*place, pending),) = shard.pending_of(7)
    assert (place, list(pending)) == (["g", "t", 0], [(1, 2), (5, 6)])
    shard.end_transaction(7, commit=True)
    assert ranges(shard) == [(1, 2), (5, 6)]
    assert not shard.pending_of(7)
    shard = replayed(put(1, 2), producer_id=7)
    shard.end_transaction(7, commit=False)
    assert shard.groups == {}


def test_a_transaction_may_have_ranges_in_several_partitions_of_a_group() -> None:
    shard = replayed(*(put(1, 2, partition=index) for index in range(3)), producer_id=7)
    assert [one[:3] for one in shard.parts()] == [("g", "t", index) for index in range(3)]
    assert [place for *place, _ in shard.pending_of(7)] == [["g", "t", index] for index in range(3)]
    shard.end_transaction(7, commit=True)
    assert shard.count("g") == 3
    assert not shard.pending_of(7)


def test_a_tombstone_takes_pending_ranges_too() -> None:
    shard = replayed(put(1, 2), put(5, 6), producer_id=7)
    shard.replay(2, -1, gone(1, 2))
    shard.end_transaction(7, commit=True)
    assert ranges(shard) == [(5, 6)]


def test_one_who_reads_all_makes_all_be_read() -> None:
    part = replayed(put(1, 2, 1)).of("g", "t", 0)
    assert part is not None
    assert part.read_committed
    part = replayed(put(1, 2, 1), put(5, 6, 0)).of("g", "t", 0)
    assert part is not None
    assert not part.read_committed
