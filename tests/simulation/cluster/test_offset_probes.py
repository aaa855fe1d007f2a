"""Offsets that are pending, or of a topic that was, are told to nobody; who tells is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.coordinator.group import offsets
from mockbroker.coordinator.group.offset_store import OffsetStore
from mockbroker.coordinator.group.shard import GroupShard
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue
from simulation.clients import ask_at_once
from simulation.cluster.offset_probes import of_pending, wrong_ids
from tests.support.simulated_groups import SimulatedGroup

ID = b"\x01" * 16


def told() -> tuple[int, list[str]]:
    """The error to who insists on what is pending, and what is wrong with ids."""
    group = SimulatedGroup("eager", 1)
    group.settle()
    world = group.world
    world.run_for(500)
    broker = next(
        one
        for one in world.cluster.brokers
        if one.services.groups.in_use and one.services.groups.service.runtime.shards()
    )
    shard = broker.services.groups.service.runtime.shards()[0]
    committed = broker.services.groups.service.runtime.committed_shards()[0]
    value = OffsetCommitValue(offset=5, topic_id=ID)
    for one in (shard, committed):
        one.offsets.put(900, 7, OffsetCommitKey(group="g", topic="t0", partition=0), value)
        one.offsets.put(901, -1, OffsetCommitKey(group="g", topic="t0", partition=1), value)
    (question,) = of_pending(shard)
    assert question.wanted == ErrorCode.UNSTABLE_OFFSET_COMMIT
    answer = ask_at_once(world, broker, question.request, question.version)
    rng = Random(1)
    return question.error_of(answer), [one for _ in range(20) for one in wrong_ids(broker, rng)]


def test_neither_is_told() -> None:
    assert told() == (ErrorCode.UNSTABLE_OFFSET_COMMIT, [])


def test_an_offset_of_a_topic_that_was_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "_other_topic", lambda *_: False)
    assert "is told 5" in told()[1][0]


def test_what_is_pending_is_told_to_who_does_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OffsetStore, "is_pending", lambda *_: False)
    assert told()[0] == ErrorCode.NONE


def test_nothing_is_pending_in_an_empty_shard() -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    runtime = next(
        one.services.groups.service.runtime
        for one in group.world.cluster.brokers
        if one.services.groups.in_use
    )
    assert not list(of_pending(GroupShard(0, runtime, object())))  # type: ignore[arg-type]
