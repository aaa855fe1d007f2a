"""Coordinators are what their logs say, and writes do not wait for nothing."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.coordinator import runtime
from mockbroker.coordinator.deferred_writes import DeferredWrite, DeferredWrites
from mockbroker.coordinator.group.consumer.group_records import assignment_record
from mockbroker.coordinator.group.consumer.member import ConsumerMember, MemberState
from mockbroker.coordinator.group.offset_store import OffsetStore, offset_commit_record
from mockbroker.coordinator.leadership import CoordinatorLeadership
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.records import encode_record
from mockbroker.coordinator.runtime import CoordinatorRuntime
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue
from simulation.cluster.audits.runtime_audits import (
    GroupLogModel,
    WriteTimeouts,
    unanswered_writes,
    wrong_groups,
    wrong_writes,
)
from tests.support.simulated_groups import SimulatedGroup

if TYPE_CHECKING:
    from mockbroker.node.broker import Broker

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


def coordinator_of(group: SimulatedGroup) -> Broker:
    return next(
        one
        for one in group.world.cluster.brokers
        if one.services.groups.in_use and one.services.groups.service.runtime.shards()
    )


def test_a_time_out_for_what_is_replicated_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    timeouts = WriteTimeouts(group.world)
    broker = coordinator_of(group)
    timeouts.look(broker)
    group.world.run_for(500)
    assert not group.world.violations
    monkeypatch.setattr(CoordinatorLeadership, "high_watermark", lambda *_: 1 << 40)
    monkeypatch.setattr(DeferredWrites, "complete_up_to", lambda *_: None)

    def waits(
        self: CoordinatorRuntime[Any], index: int, write: DeferredWrite, timeout_ms: float | None
    ) -> None:
        assert self.replication is not None
        self.replication.high_watermark(index)
        write.timeout = self.replication.expire_write(write.expire, timeout_ms)

    monkeypatch.setattr(CoordinatorRuntime, "_defer", waits)
    group.world.run_for(500)
    assert "are replicated" in group.world.violations[0]


def test_a_broker_that_stops_and_owes_answers_is_noticed() -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    group.world.controls.hold_high_watermark(GROUP_METADATA_TOPIC, 0)
    broker = coordinator_of(group)
    group.world.run_until(lambda: bool(unanswered_writes(broker)), 2_000)
    assert "is not answered" in next(iter(unanswered_writes(broker).values()))
    broker.services.groups.service.release_parked()
    assert unanswered_writes(broker) == {}


@pytest.mark.parametrize(
    ("generation", "assignment", "what"),
    [(-9, b"", "its log in"), (1, b"what nobody wrote", "was never written")],
)
def test_a_group_that_is_ahead_or_behind_its_log_is_noticed(
    generation: int, assignment: bytes, what: str
) -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    broker = coordinator_of(group)
    classic = broker.services.groups.service.runtime.shards()[0].groups["g"]
    classic.generation_id += generation
    for member in classic.members.values():
        member.assignment = assignment
    assert any(what in one for one in wrong_groups(broker, Random(1)))


def test_a_member_that_takes_an_epoch_before_it_gave_up_is_noticed() -> None:
    model = GroupLogModel()
    for offset, (epoch, state) in enumerate(((1, 0), (1, 1), (2, 0), (3, 1))):
        member = ConsumerMember("m", epoch=epoch, state=MemberState(state))
        model.take((offset, -1, *encode_record(assignment_record("g", member))))
        assert bool(model.wrong) == (epoch == 3)


def test_a_static_member_leaves_for_a_while_before_it_gave_up() -> None:
    model = GroupLogModel()
    for offset, epoch in enumerate((1, -2, 3)):
        member = ConsumerMember("m", epoch=epoch, state=MemberState.UNREVOKED_PARTITIONS)
        model.take((offset, -1, *encode_record(assignment_record("g", member))))
    assert not model.wrong
