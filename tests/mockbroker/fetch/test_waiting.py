"""A parked session fetch weighs what changes, and adds up what its partitions have."""

from __future__ import annotations

import pytest

from mockbroker.fetch.session import FetchSession
from mockbroker.fetch.waiting import SessionWait
from mockbroker.replica.fetch_params import FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestForgottenTopic
from tests.support.fetch_world import World, ask


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t0", 3)
    return world


@pytest.fixture
def session(world: World) -> FetchSession:
    """Three partitions, caught up and quiet."""
    sid = world.fetch_now(ask(*(("t0", i, 0) for i in range(3)), session=(0, 0))).session_id
    session = world.fetch.cache.get(sid)
    assert session is not None
    return session


def wait_for(session: FetchSession, min_bytes: int) -> SessionWait:
    params = FetchParams(FetchRequest(min_bytes=min_bytes), 12, 1 << 20)
    return SessionWait(session, LogReader(params), {})


def test_quiet_partitions_are_never_weighed(session: FetchSession) -> None:
    wait = wait_for(session, 1)
    assert not wait.satisfied()
    assert not wait.satisfied()
    assert (wait.weighed, wait.keys()) == (0, (session,))


def test_only_the_noted_ones_are_weighed_anew(world: World, session: FetchSession) -> None:
    wait = wait_for(session, 300)
    assert not wait.satisfied()
    world.append("t0", 0, 50)
    world.append("t0", 1, 50)
    assert not wait.satisfied()
    assert not wait.satisfied()
    assert wait.weighed == 2
    world.append("t0", 0, 50)
    assert wait.satisfied()
    assert wait.weighed == 3


def test_what_was_unsettled_when_it_began_counts(world: World, session: FetchSession) -> None:
    world.append("t0", 0, 50)
    world.fetch_now(ask(session=(session.id, 1)))
    world.append("t0", 1, 50)
    wait = wait_for(session, 236)
    assert wait.satisfied()
    assert wait.weighed == 2


def test_a_segment_left_behind_ends_the_wait(world: World, session: FetchSession) -> None:
    world.configure_topic("t0", segment_ms="1000")
    world.append("t0", 0, 50)
    world.fetch_now(ask(("t0", 0, 1), session=(session.id, 1)))
    wait = wait_for(session, 10_000)
    assert not wait.satisfied()
    world.advance(5_000)
    world.append("t0", 0, 50)
    assert wait.satisfied()


def test_a_log_that_was_emptied_leaves_its_segment_behind(
    world: World, session: FetchSession
) -> None:
    world.append("t0", 0, 50)
    world.fetch_now(ask(("t0", 0, 1), session=(session.id, 1)))
    wait = wait_for(session, 10_000)
    assert not wait.satisfied()
    world.partition("t0", 0).delete_records_before(1)
    world.append("t0", 0, 50)
    assert wait.satisfied()


def test_refused_partitions_end_no_wait(world: World, session: FetchSession) -> None:
    cached = next(iter(session.partitions()))
    params = FetchParams(FetchRequest(min_bytes=1), 12, 1 << 20)
    wait = SessionWait(session, LogReader(params), {cached: 3})
    assert not wait.satisfied()
    world.append("t0", cached.index, 50)
    assert not wait.satisfied()


def test_the_last_wait_of_a_closed_session_unlinks_it(session: FetchSession) -> None:
    first, second = wait_for(session, 1), wait_for(session, 1)
    session.close()
    linked = []
    for wait in (first, second):
        linked.append(all(cached.linked for cached in session.partitions()))
        wait.end()
    assert linked == [True, True]
    assert not any(cached.linked for cached in session.partitions())


def test_what_a_partition_has_is_counted_once(world: World, session: FetchSession) -> None:
    wait = wait_for(session, 400)
    for _ in range(3):
        world.append("t0", 0, 50)
        assert not wait.satisfied()
    world.append("t0", 0, 50)
    assert wait.satisfied()


def test_a_partition_that_the_session_forgot_ends_no_wait(
    world: World, session: FetchSession
) -> None:
    wait = wait_for(session, 1)
    assert not wait.satisfied()
    world.append("t0", 1, 50)
    session.update([], [FetchRequestForgottenTopic(topic="t0", partitions=[1])])
    assert not wait.satisfied()
