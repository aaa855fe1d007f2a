"""A session's contents, the states of its partitions, and what an answer leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch.session import CHANGED, FORGOTTEN, QUIET, READY, FetchSession, next_epoch
from mockbroker.replica.fetch_params import FetchParams
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponsePartition,
)
from tests.support.fetch_world import ZERO, World, ask

if TYPE_CHECKING:
    from mockbroker.fetch.session import CachedPartition


def session_of(*indexes: int) -> FetchSession:
    session = FetchSession(privileged=False, uses_topic_ids=False)
    session.update([topic(*indexes)], [])
    return session


def topic(*indexes: int, offset: int = 0) -> FetchRequestTopic:
    partitions = [FetchRequestPartition(index, fetch_offset=offset) for index in indexes]
    return FetchRequestTopic("t0", ZERO, partitions)


def opened() -> tuple[World, FetchSession, CachedPartition]:
    """An open session over t0-0, caught up at offset 1."""
    world = World()
    world.create_topic("t0")
    world.append("t0", 0, 50)
    sid = world.fetch_now(ask(("t0", 0, 1), session=(0, 0))).session_id
    session = world.fetch.cache.get(sid)
    assert session is not None
    (cached,) = session.partitions()
    return world, session, cached


def test_additions_are_appended_updates_stay_and_removals_come_last() -> None:
    session = session_of(3, 1)
    session.update([topic(1, 2, offset=7)], [FetchRequestForgottenTopic("t0", ZERO, [3, 9])])
    assert [(c.index, c.stamp, c.fetch_offset) for c in session.partitions()] == [
        (1, 1, 7),
        (2, 2, 7),
    ]
    assert session.size == 2
    session.update([], [FetchRequestForgottenTopic("t0", ZERO, [1, 2])])
    assert (session.size, session.topics, session.changed) == (0, {}, {})


def test_an_id_session_is_keyed_by_ids() -> None:
    session = FetchSession(privileged=False, uses_topic_ids=True)
    identity = bytes(15) + b"\7"
    session.update([FetchRequestTopic("", identity, [FetchRequestPartition(0)])], [])
    (cached,) = session.partitions()
    assert (cached.topic.name, cached.topic.topic_id) == (None, identity)
    session.update([], [FetchRequestForgottenTopic("", identity, [0])])
    assert session.size == 0


def test_states_follow_what_there_is_to_tell() -> None:
    world, session, cached = opened()
    assert (cached.state, session.changed) == (QUIET, {})
    world.append("t0", 0, 50)
    assert (cached.state, list(session.changed)) == (CHANGED, [cached])
    world.fetch_now(ask(session=(session.id, 1)))
    assert (cached.state, session.changed) == (READY, {})
    assert session.ready[-1] == (cached.stamp, cached)
    world.fetch_now(ask(("t0", 0, 2), session=(session.id, 2)))
    assert cached.state == QUIET
    world.fetch_now(ask(("t0", 0, 99), session=(session.id, 3)))
    assert cached.state == CHANGED, "an error is told again"
    world.fetch_now(ask(session=(session.id, 4), forget=(("t0", 0),)))
    assert cached.state == FORGOTTEN
    assert not cached.linked


def test_a_reader_beyond_its_bound_is_looked_at_by_each_poll() -> None:
    """It is between the high watermark and the end of the log."""
    world, session, cached = opened()
    partition = world.partition("t0")
    partition.high_watermark_held = True
    world.append("t0", 0, 50)
    world.fetch_now(ask(("t0", 0, 2), session=(session.id, 1)))
    assert (cached.state, list(session.changed)) == (CHANGED, [cached])
    partition.high_watermark_held = False
    world.append("t0", 0, 50)
    world.fetch_now(ask(("t0", 0, 3), session=(session.id, 2)))
    assert cached.state == QUIET


def test_another_kind_of_reader_has_another_look_at_all() -> None:
    _, session, cached = opened()
    for isolation in (0, 1):
        params = FetchParams(FetchRequest(isolation_level=isolation), 12, 1 << 20)
        session.adopt_reader(params)
        assert cached.state == (CHANGED if isolation else QUIET)


def test_a_poll_uses_its_session() -> None:
    world, session, _ = opened()
    world.advance(1_000)
    world.fetch_now(ask(session=(session.id, 1)))
    assert session.last_used_ms == 1_000


def test_a_mark_tells_the_waits_of_the_session_and_no_one_else() -> None:
    world, session, cached = opened()
    assert cached.wait_key() is None
    parked = world.send(ask(session=(session.id, 1), wait=500, min_bytes=1))
    assert cached.wait_key() is session
    parked.disconnect()
    assert (cached.wait_key(), session.waits) == (None, [])


def test_closing_a_session_unlinks_its_partitions() -> None:
    _, session, cached = opened()
    assert cached.linked
    session.close()
    assert not cached.linked


def data(
    high_watermark: int = 5, log_start: int = 0, error: int = 0, preferred: int = -1
) -> FetchResponsePartition:
    return FetchResponsePartition(
        0, error, high_watermark, high_watermark, log_start, None, preferred, b""
    )


@pytest.fixture
def told() -> CachedPartition:
    """A partition that was told high watermark 5 and log start 0."""
    (cached,) = session_of(0).partitions()
    assert cached.has_news(data(), 0), "a new one is always told"
    assert not cached.has_news(data(), 0)
    return cached


def test_records_and_moved_positions_are_news(told: CachedPartition) -> None:
    assert told.has_news(data(), 1)
    assert told.has_news(data(high_watermark=4), 0), "also when it went down"
    assert not told.has_news(data(high_watermark=4), 0)
    assert told.has_news(data(high_watermark=4, log_start=2), 0)
    assert not told.has_news(data(high_watermark=4, log_start=2), 0)


def test_an_error_is_news_each_time_and_once_when_it_has_gone(told: CachedPartition) -> None:
    failed = FetchResponsePartition(0, 6, -1, -1, -1, None, -1, b"")
    assert told.has_news(failed, 0)
    assert told.has_news(failed, 0)
    assert told.has_news(data(), 0)
    assert not told.has_news(data(), 0)


def test_divergence_and_a_preferred_replica_are_news_each_time(told: CachedPartition) -> None:
    diverging = data()
    diverging.diverging_epoch = EpochEndOffset(0, 3)
    for again in (diverging, diverging, data(preferred=2), data(preferred=2)):
        assert told.has_news(again, 0)
    assert not told.has_news(data(), 0)


def test_a_reader_that_sends_a_lower_high_watermark_is_told_once(told: CachedPartition) -> None:
    told.high_watermark = 3
    assert told.has_news(data(), 0)
    assert not told.has_news(data(), 0)
    assert told.high_watermark == 5


def test_settled_partitions_leave_no_room_behind() -> None:
    session = session_of(*range(100))
    before = session.changed
    session.shrink_changed(100)
    assert session.changed is before
    for cached in list(before)[1:]:
        del before[cached]
    session.shrink_changed(100)
    assert session.changed is not before
    assert len(session.changed) == 1


def test_epochs_follow_each_other_and_wrap_to_1() -> None:
    assert [next_epoch(at) for at in (0, 1, 2**31 - 2, 2**31 - 1, -1)] == [1, 2, 2**31 - 1, 1, -1]
