"""Sessions are opened, evicted and ended; partitions are found by name, by id, or not at all."""

from __future__ import annotations

import pytest

from mockbroker.fetch.sessions import Gate
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequestPartition
from tests.support.fetch_world import ZERO, World, ask


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t0", 2)
    return world


def entry(name: str | None, topic_id: bytes = ZERO, index: int = 1) -> FetchEntry:
    return FetchEntry(FetchTopic(name, topic_id), FetchRequestPartition(index))


def test_partitions_are_found_by_name_and_by_id(world: World) -> None:
    topic_id = world.partition("t0").topic_id
    by_id = entry(None, topic_id)
    for found in (entry("t0"), by_id):
        assert world.fetch.resolve(found) == ErrorCode.NONE
        assert found.partition is world.partition("t0", 1)
    assert by_id.topic.name == "t0"
    assert world.fetch.resolve(entry("t9")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.fetch.resolve(entry("t0", index=2)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.fetch.resolve(entry(None, b"9" * 16)) == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("refused", ["t0", None])
def test_what_the_gate_refuses_is_not_found(world: World, refused: str | None) -> None:
    world.fetch.gate = Gate(lambda name: name != refused, "rights")
    found = entry("t0")
    assert world.fetch.resolve(found) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert found.partition is None


def test_a_session_is_evicted_once(world: World) -> None:
    sid = world.fetch_now(ask(("t0", 0, 0), session=(0, 0))).session_id
    assert world.fetch.evict(sid, "test")
    assert not world.fetch.evict(sid, "test")
    assert world.fetch.cache.num_sessions == 0


def test_the_age_for_eviction_is_configured() -> None:
    world = World(
        {
            "max.incremental.fetch.session.cache.slots": "8",
            "min.incremental.fetch.session.eviction.ms": "50",
        }
    )
    world.create_topic("t0", 2)
    for _ in range(8):
        world.fetch_now(ask(("t0", 1, 0), session=(0, 0)))
    full = ask(("t0", 0, 0), session=(0, 0))
    assert world.fetch_now(full).session_id == 0
    world.advance(51)
    assert world.fetch_now(full).session_id > 0
    assert world.fetch.cache.evictions == 1
