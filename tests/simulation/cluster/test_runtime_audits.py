"""Coordinators are what their logs say, and writes do not wait for nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mockbroker.coordinator import runtime
from mockbroker.coordinator.deferred_writes import DeferredWrite, DeferredWrites
from mockbroker.coordinator.group.offset_store import OffsetStore, offset_commit_record
from mockbroker.coordinator.leadership import CoordinatorLeadership
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.records import encode_record
from mockbroker.coordinator.runtime import CoordinatorRuntime
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue
from simulation.cluster.runtime_audits import GroupLogModel, wrong_groups, wrong_writes
from tests.support.simulated_groups import SimulatedGroup

HELD_FROM = 60


def told(protocol: str = "mixed") -> list[str]:
    """What is found while a group lives and commits."""
    group = SimulatedGroup(protocol, 3, leave=True, restless=True)
    found: list[str] = []
    rng = Random(1)
    for turn in range(100):
        if turn == HELD_FROM:
            group.world.controls.hold_high_watermark(GROUP_METADATA_TOPIC, 0)
        group.world.run_for(5)
        for broker in group.world.cluster.brokers:
            found += [*wrong_writes(broker), *wrong_groups(broker, rng)]
    return found


@pytest.mark.parametrize("protocol", ["eager", "consumer", "mixed"])
def test_coordinators_by_the_rules_are_in_order(protocol: str) -> None:
    assert told(protocol) == []


def test_a_write_that_waits_for_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeferredWrites, "complete_up_to", lambda *_: None)
    assert "are replicated" in told()[0]


def test_a_write_that_waits_for_less_than_it_wrote_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defer = CoordinatorRuntime._defer

    def short(
        self: CoordinatorRuntime[Any], index: int, write: DeferredWrite, timeout_ms: float | None
    ) -> None:
        deferred = self._deferred.get(index)
        if not deferred or write.end_offset > deferred.last_offset:
            write.end_offset -= 1
        defer(self, index, write, timeout_ms)

    monkeypatch.setattr(CoordinatorRuntime, "_defer", short)
    assert any("wait up to" in each for each in told())


def test_a_write_without_a_time_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: CoordinatorLeadership, expire: object, timeout_ms: object) -> object:
        del expire, timeout_ms
        task = self._timer.schedule(self._clock.now_ms + 1, lambda: None)
        task.cancel()
        return task

    monkeypatch.setattr(CoordinatorLeadership, "expire_write", never)
    assert "waits for ever" in told()[0]


def test_what_is_told_before_it_is_replicated_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    write = CoordinatorRuntime.write
    replay = runtime._replay

    def too_early(shard: object, *record: object) -> None:
        replay(shard, *record)  # type: ignore[arg-type]
        twin = next(
            (one for one in twins if getattr(one, "live", None) is shard and one is not shard), None
        )
        if twin is not None:
            replay(twin, *record)  # type: ignore[arg-type]

    twins: list[object] = []

    def remember(self: CoordinatorRuntime[Any], *asked: Any, **named: Any) -> None:
        twins[:] = self._committed.values()
        write(self, *asked, **named)

    monkeypatch.setattr(CoordinatorRuntime, "write", remember)
    monkeypatch.setattr(runtime, "_replay", too_early)
    assert any("that are told differ" in one or "that is told" in one for one in told())


def test_an_offset_that_is_not_taken_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OffsetStore, "put", lambda *_: None)
    assert any("that are decided on differ" in one for one in told())


def test_the_later_record_of_two_counts() -> None:
    model = GroupLogModel()
    for offset, producer_id, value in ((0, 7, 70), (1, -1, 10), (2, 8, 80), (3, 9, 90)):
        record = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=value))
        model.take((offset, producer_id, *encode_record(record)))
    assert model.offsets == {("g", "t", 0): (10, 1)}
    for producer_id, commit, left in ((7, True, 10), (8, False, 10), (9, True, 90)):
        model.take(EndOfTransaction(4, producer_id, commit))
        assert model.offsets["g", "t", 0][0] == left
    assert model.pending == {}
