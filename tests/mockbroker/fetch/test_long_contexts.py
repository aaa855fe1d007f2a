"""Fetches in slices: what a slice costs, and that no change between them is missed."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker.fetch import incremental, long_contexts
from mockbroker.fetch.contexts import FULL, INCREMENTAL, SESSIONLESS
from mockbroker.server.compiled import is_compiled
from mockbroker_protocol.errors import ErrorCode
from tests.support.fetch_world import World, ask, told, topic_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.messages.fetch import FetchRequest
    from tests.support.fetch_world import Pending

SLICE = long_contexts.SLICE if is_compiled() else 25
"""In place of five hundred, which machine code keeps: few partitions are several slices."""
PARTITIONS = 3 * SLICE
PARTS = tuple(("t0", index, 0) for index in range(PARTITIONS))
CREATED = 2 * SLICE + SLICE // 2
"""How many of them there are."""
OF_THE_LEADER = 10
"""A version whose readers are served by leaders only."""


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_compiled():
        monkeypatch.setattr(long_contexts, "SLICE", SLICE)


def sliced(partitions: int = CREATED) -> World:
    world = World()
    world.create_topic("t0", partitions)
    world.request_bytes = 1 << 20
    world.slices = deque()
    return world


def slices_of(world: World, request: FetchRequest) -> tuple[Pending, list[int]]:
    """The answer, and how many partitions each slice has read."""
    pending = world.send(request)
    counts = []
    before = world.fetch.partitions_looked_at
    while world.slice():
        counts.append(world.fetch.partitions_looked_at - before)
        before = world.fetch.partitions_looked_at
    return pending, counts


@pytest.mark.parametrize(("epoch", "fetch_class"), [(-1, SESSIONLESS), (0, FULL)])
def test_no_slice_looks_at_more_than_some_partitions(epoch: int, fetch_class: str) -> None:
    world = sliced()
    pending, counts = slices_of(world, ask(*PARTS, session=(0, epoch)))
    response = pending.answer()
    assert len(told(response)) == PARTITIONS
    assert sum(counts) == CREATED
    assert max(counts) <= SLICE
    # Taken in, resolved, read, told: each partition is met in a slice of its own kind.
    assert len(counts) >= 4 * PARTITIONS // SLICE - 1
    (topic,) = response.responses
    assert [data.partition_index for data in topic.partitions] == list(range(PARTITIONS))
    assert [data.error_code for data in topic.partitions[CREATED:]] == [3] * (PARTITIONS - CREATED)
    assert pending.ctx is not None
    assert pending.ctx.fetch is not None
    assert pending.ctx.fetch.fetch_class == fetch_class
    assert world.fetch.cache.num_sessions == (epoch == 0)


def test_what_a_session_is_told_of_is_taken_in_in_slices_too() -> None:
    world = sliced()
    session_id = slices_of(world, ask(*PARTS, session=(0, 0)))[0].answer().session_id
    world.request_bytes = 0
    # Those that are unknown are looked at by each poll: too many for one turn.
    with patch.object(incremental, "LONG", PARTITIONS - CREATED - 1):
        pending, counts = slices_of(world, ask(session=(session_id, 1)))
    assert len(counts) > 1
    assert {error for _, _, error, _ in told(pending.answer())} == {3}
    world.request_bytes = 1 << 20
    pending, counts = slices_of(world, ask(*PARTS, session=(session_id, 2)))
    assert (sum(counts), max(counts)) == (CREATED, SLICE)
    forget = tuple(part[:2] for part in PARTS)
    pending, counts = slices_of(world, ask(session=(session_id, 3), forget=forget))
    assert len(counts) >= PARTITIONS // SLICE
    assert (pending.answer().session_id, world.fetch.cache.num_sessions) == (0, 0)
    assert pending.ctx is not None
    assert pending.ctx.fetch is not None
    assert pending.ctx.fetch.fetch_class == SESSIONLESS


def test_a_session_that_was_opened_empty_is_filled_in_slices() -> None:
    world = sliced()
    session_id = slices_of(world, ask(session=(0, 0)))[0].answer().session_id
    response = slices_of(world, ask(*PARTS, session=(session_id, 1)))[0].answer()
    assert response.session_id == session_id
    assert world.fetch.cache.get(session_id) is not None
    assert len(told(response)) == PARTITIONS


def until_read(world: World, partitions: int) -> None:
    """Slices, until so many partitions were read and nothing was told yet."""
    before = world.fetch.partitions_looked_at
    while world.fetch.partitions_looked_at - before < partitions:
        assert world.slice()


def rest(world: World) -> None:
    while world.slice():
        pass


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize(
    ("change", "news"),
    [
        (lambda world: world.append("t0", 3, 50), ("t0", 3, 0, 118)),
        (lambda world: world.change_leader("t0", 3, 2, 1, (1, 2), (2,)), ("t0", 3, 6, 0)),
        (lambda world: world.delete_topic("t0"), ("t0", 3, 3, 0)),
    ],
)
def test_what_changes_after_it_was_read_is_told_by_the_next_poll(
    change: Callable[[World], None], news: tuple[str, int, int, int], opened: bool
) -> None:
    world = World()
    world.create_topic("t0", CREATED, replicas=(1, 2), isr=(1,))
    world.request_bytes = 1 << 20
    world.slices = deque()
    parts = PARTS[:CREATED]
    session_id, epoch = 0, 0
    if opened:
        session_id, epoch = slices_of(world, ask(*parts, session=(0, 0)))[0].answer().session_id, 1
    pending = world.send(ask(*parts, session=(session_id, epoch)), OF_THE_LEADER)
    until_read(world, CREATED)
    change(world)
    assert not pending.answered
    rest(world)
    assert news not in told(pending.answer())
    session_id = pending.answer().session_id
    world.request_bytes = 0
    pending = world.send(ask(session=(session_id, epoch + 1)), OF_THE_LEADER)
    rest(world)
    assert news in told(pending.answer())


def test_a_topic_that_comes_to_be_after_it_was_looked_for_is_told_by_the_next_poll() -> None:
    world = sliced()
    pending = world.send(ask(*PARTS, ("t1", 0, 0), session=(0, 0)))
    until_read(world, SLICE)
    world.create_topic("t1", 1)
    rest(world)
    assert told(pending.answer())[-1] == ("t1", 0, 3, 0)
    world.request_bytes = 0
    pending = world.send(ask(session=(pending.answer().session_id, 1)))
    rest(world)
    assert ("t1", 0, 0, 0) in told(pending.answer())


def watchers(world: World) -> int:
    """How many readers the partitions of the topic have."""
    found = 0
    for index in range(CREATED):
        reader = world.partition("t0", index)._first_watcher
        while reader is not None:
            found += 1
            reader = reader.next_watcher
    return found


@pytest.mark.parametrize("slices", range(14))
@pytest.mark.parametrize("epoch", [-1, 0])
def test_who_goes_meanwhile_leaves_nothing(slices: int, epoch: int) -> None:
    world = sliced()
    pending = world.send(ask(*PARTS, session=(0, epoch), wait=500, min_bytes=1))
    for _ in range(slices):
        world.slice()
    if not pending.answered:
        pending.disconnect()
    assert not world.slice()
    # As with Apache Kafka a session that was opened is there, whether or not its reader knows.
    open_sessions = world.fetch.cache.num_sessions
    assert watchers(world) == open_sessions * CREATED
    for shard in world.fetch.cache.shards:
        assert all(session.waits == [] for session in shard.sessions.values())


def test_who_goes_amid_a_poll_leaves_its_session_as_it_was() -> None:
    for slices in range(12):
        world = sliced()
        session_id = slices_of(world, ask(*PARTS, session=(0, 0)))[0].answer().session_id
        pending = world.send(ask(*PARTS, session=(session_id, 1)))
        for _ in range(slices):
            world.slice()
        if not pending.answered:
            pending.disconnect()
        session = world.fetch.cache.get(session_id)
        assert session is not None
        assert (session.waits, session.size, watchers(world)) == ([], PARTITIONS, CREATED)


@pytest.mark.parametrize("slices", range(12))
def test_a_session_that_is_evicted_meanwhile_holds_no_partition(slices: int) -> None:
    world = sliced()
    session_id = slices_of(world, ask(*PARTS, session=(0, 0)))[0].answer().session_id
    pending = world.send(ask(*PARTS, session=(session_id, 1)))
    for _ in range(slices):
        world.slice()
    assert world.fetch.evict(session_id, "fault")
    rest(world)
    assert pending.answered
    assert watchers(world) == 0
    assert world.fetch.cache.num_partitions == 0


@pytest.mark.parametrize("epoch", [-1, 0])
def test_one_that_waits_is_weighed_by_what_changes(epoch: int) -> None:
    world = sliced()
    parts = PARTS[:CREATED]
    pending = world.send(ask(*parts, session=(0, epoch), wait=500, min_bytes=300))
    rest(world)
    purgatory = world.replicas.fetch_purgatory
    assert (purgatory.num_delayed_operations, purgatory.purgatory_size) == (1, 1)
    world.append("t0", 7, 50)
    assert not world.slice()
    world.append("t0", SLICE + 7, 200)
    rest(world)
    got = [one for one in told(pending.answer()) if one[3]]
    assert got == [("t0", 7, 0, 118), ("t0", SLICE + 7, 0, 270)]
    assert (purgatory.num_delayed_operations, purgatory.purgatory_size) == (0, 0)
    assert watchers(world) == (CREATED if epoch == 0 else 0)


def test_what_comes_while_it_is_weighed_ends_its_wait() -> None:
    world = sliced()
    pending = world.send(ask(*PARTS[:CREATED], session=(0, -1), wait=500, min_bytes=1))
    until_read(world, CREATED)
    world.append("t0", 7, 50)
    rest(world)
    assert [one for one in told(pending.answer()) if one[3]] == [("t0", 7, 0, 118)]


def test_one_that_waits_is_answered_when_its_time_is_over() -> None:
    world = sliced()
    pending = world.send(ask(*PARTS[:CREATED], session=(0, 0), wait=500, min_bytes=1))
    rest(world)
    assert not pending.answered
    world.advance(500)
    rest(world)
    assert len(told(pending.answer())) == CREATED
    assert pending.ctx is not None
    assert pending.ctx.woken_by == "timeout"


def test_a_poll_of_a_later_epoch_ends_the_one_before() -> None:
    world = sliced()
    session_id = slices_of(world, ask(*PARTS, session=(0, 0)))[0].answer().session_id
    first = world.send(ask(*PARTS, session=(session_id, 1)))
    world.slice()
    second = world.send(ask(session=(session_id, 2)))
    rest(world)
    assert first.answer().error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert second.answer().error_code == 0


def test_a_wrong_epoch_is_refused_at_once() -> None:
    world = sliced()
    session_id = slices_of(world, ask(*PARTS, session=(0, 0)))[0].answer().session_id
    for session, error in (
        ((session_id, 5), ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        ((session_id + 1, 1), ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ):
        pending, counts = slices_of(world, ask(*PARTS, session=session))
        assert (pending.answer().error_code, counts) == (error, [])
        assert pending.ctx is not None
        assert pending.ctx.fetch is not None
        assert pending.ctx.fetch.fetch_class == INCREMENTAL


NAMES = ("t0", "t1")
FEW = 4


def disturb(world: World, rng: Random) -> None:
    """Anything that readers are to be told of."""
    name, index = rng.choice(NAMES), rng.randrange(FEW)
    if name not in world.metadata.topics:
        world.create_topic(name, FEW, replicas=(1, 2), isr=(1,))
        return
    kind = rng.randrange(7)
    partition = world.partition(name, index)
    if kind == 0:
        world.delete_topic(name)
    elif kind == 1:
        leader = rng.choice((1, 2))
        world.change_leader(name, index, leader, partition.leader_epoch + 1, (1, 2), (leader,))
    elif kind == 2 and partition.log is not None:
        partition.delete_records_before(partition.log.high_watermark)
        world.replicas.drain()
    elif partition.is_leader:
        world.append(name, index, rng.randrange(100))


@settings(max_examples=120)
@given(seed=st.integers(0, 2**32))
def test_whatever_happens_between_slices_is_known_in_the_end(seed: int) -> None:
    """A reader that polls until nothing is told knows what there is."""
    rng = Random(seed)
    world = World()
    world.slices = deque()
    world.create_topic("t0", FEW, replicas=(1, 2), isr=(1,))
    parts = [(name, index, 0) for name in NAMES for index in range(FEW)]
    known: dict[tuple[str, int], tuple[int, int, int]] = {}
    session_id = epoch = 0
    with (
        patch.object(long_contexts, "SLICE", 1 + seed % 3),
        patch.object(incremental, "LONG", 0),
    ):
        for turn in range(20):
            world.request_bytes = 1 << 20 if turn == 0 or rng.random() < 0.3 else 0
            asked = rng.sample(parts, rng.randrange(len(parts))) if turn else parts
            request = ask(*sorted(asked), session=(session_id, epoch))
            pending = world.send(request, OF_THE_LEADER)
            more = world.slice()
            while more:
                if turn < 10 and rng.random() < 0.3:
                    disturb(world, rng)
                more = world.slice()
            response = pending.answer()
            assert response.error_code == 0
            session_id, epoch = response.session_id, epoch + 1
            for topic in response.responses:
                for data in topic.partitions:
                    at = topic.topic, data.partition_index
                    known[at] = data.error_code, data.high_watermark, data.log_start_offset
    for name, index, _ in parts:
        if name not in world.metadata.topics:
            assert known[name, index][0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            continue
        partition = world.partition(name, index)
        error, high_watermark, log_start = known[name, index]
        if not partition.is_leader:
            assert error == ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif partition.log is not None and partition.log.log_start_offset > 0:
            assert error == ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            end = 0 if partition.log is None else partition.log.high_watermark
            assert (error, high_watermark, log_start) == (0, end, 0)


def test_ids_and_names_are_one_thing_in_slices_too() -> None:
    world = sliced()
    request = ask(*PARTS, version=13, session=(0, 0))
    pending = world.send(request, 13)
    rest(world)
    (topic,) = pending.answer().responses
    assert (topic.topic_id, len(topic.partitions)) == (topic_id("t0"), PARTITIONS)
