"""Answers of coordinators wait for what they follow from; one that comes before is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.coordinator.group import views
from mockbroker.coordinator.group.offset_store import offset_commit_record
from mockbroker.coordinator.group.shard import GroupShard
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue
from simulation.cluster.audits import replicated_answers
from simulation.cluster.audits.replicated_answers import ReplicatedAnswers
from tests.support.simulated_groups import SimulatedGroup

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sim


def told(protocol: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """How many answers were judged while high watermarks were held now and then; what is wrong."""
    monkeypatch.setattr(replicated_answers, "ASKS", 0.9)
    group = SimulatedGroup(protocol, 3, leave=True)
    world, controls = group.world, group.world.controls
    world.run_for(500)
    answers = ReplicatedAnswers(world, group.member(0).truth, Random(1))
    for _ in range(20):
        world.operate(lambda: controls.hold_high_watermark(GROUP_METADATA_TOPIC, 0))
        for _ in range(3):
            world.run_for(20)
            for broker in world.cluster.brokers:
                answers.ask(broker)
        world.operate(lambda: controls.release_high_watermark(GROUP_METADATA_TOPIC, 0))
        world.run_for(150)
    return answers.judged, world.violations


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_answers_wait_for_what_was_written(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judged, violations = told(protocol, monkeypatch)
    assert judged > 20
    assert violations == []


def answers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes nothing is answered."""
    write = GroupShard.write

    def early(self: GroupShard, records: list[Any], done: Any, **how: Any) -> None:
        if records:
            write(self, records, done, **how)
        else:
            if how.get("appended"):
                how["appended"]()
            done(ErrorCode.NONE)

    monkeypatch.setattr(GroupShard, "write", early)


@pytest.mark.parametrize(
    ("protocol", "what"),
    [("eager", "answers a LeaveGroup"), ("consumer", "ConsumerGroupHeartbeatResponse")],
)
def test_an_answer_that_does_not_wait_is_noticed(
    protocol: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers_at_once(monkeypatch)
    assert any(what in one and "written before" in one for one in told(protocol, monkeypatch)[1])


def test_a_refusal_that_does_not_wait_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def early(shard: GroupShard, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        del shard, group_id
        done(ErrorCode.GROUP_ID_NOT_FOUND)

    monkeypatch.setattr(views, "_delete_group", early)
    group = SimulatedGroup("consumer", 3)
    group.settle()
    answers = ReplicatedAnswers(group.world, group.member(0).truth, Random(1))
    monkeypatch.setattr(replicated_answers, "ASKS", 1.0)
    leader = group.world.cluster.metadata.topics[GROUP_METADATA_TOPIC].partitions[0].leader
    for node in group.world.nodes:
        if node != leader:  # more is written while the first is on its way
            group.world.controls.slow_link(node, leader, 20)
    coordinator = group.world.cluster.broker(leader)
    assert coordinator is not None
    runtime = coordinator.services.groups.service.runtime
    record = offset_commit_record("g", "t0", 0, OffsetCommitValue(offset=7))
    for _ in range(60):
        group.world.run_for(7)
        group.world.operate(lambda: runtime.write(0, [record], lambda _: None))
        group.world.run_for(1)
        answers.ask(coordinator)
    assert any("when that was decided" in one for one in group.world.violations)
