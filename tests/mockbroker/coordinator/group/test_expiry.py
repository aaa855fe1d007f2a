"""What expires, when, and what goes with a deleted topic."""

from __future__ import annotations

from mockbroker.metadata.topic_requests import TopicReference
from tests.support.groups import SESSION_MS, Groups, subscription

DAY_MS = 24 * 3600 * 1000
HOUR_MS = DAY_MS // 24
CHECK_MS = 600_000
RETENTION_MS = 7 * HOUR_MS
SHORT = {"offsets.retention.minutes": str(7 * 60)}


def keep_alive(groups: Groups, member_id: str, duration_ms: int) -> None:
    for _ in range(duration_ms // (SESSION_MS * 50)):
        groups.advance(SESSION_MS * 50)
        assert groups.heartbeat(member_id, 1) == 0


def test_positions_of_a_simple_group_expire_after_their_commit() -> None:
    groups = Groups()
    groups.commit(5)
    groups.advance(DAY_MS)
    groups.commit(6, partition=1)
    groups.advance(6 * DAY_MS + CHECK_MS)
    assert set(groups.fetched()) == {("t", 1)}
    groups.advance(DAY_MS)
    assert groups.shard().groups == {}
    assert groups.records()[-1].value is None


def test_positions_of_a_group_expire_after_it_became_empty() -> None:
    groups = Groups(SHORT)
    (member_id,) = groups.stable(1, session_ms=1_000_000)
    groups.commit(5, member_id=member_id, generation_id=1)
    keep_alive(groups, member_id, 8 * HOUR_MS)
    assert ("t", 0) in groups.fetched()
    groups.leave((member_id, None))
    groups.advance(RETENTION_MS - CHECK_MS)
    assert ("t", 0) in groups.fetched()
    groups.advance(2 * CHECK_MS)
    assert groups.fetched() == {}
    assert groups.shard().groups == {}


def test_a_stable_group_loses_positions_of_topics_it_no_longer_reads() -> None:
    groups = Groups(SHORT, topics=(("t", 1), ("old", 1)))
    (member_id,) = groups.stable(1, session_ms=1_000_000, protocols=[("range", subscription("t"))])
    groups.commit(5, member_id=member_id, generation_id=1)
    groups.commit(5, member_id=member_id, generation_id=1, topic="old")
    keep_alive(groups, member_id, 8 * HOUR_MS)
    assert set(groups.fetched()) == {("t", 0)}
    assert "g" in groups.shard().groups


def test_an_explicit_time_of_expiry_counts() -> None:
    groups = Groups()
    groups.commit(5, retention_ms=CHECK_MS + 1, version=4)
    groups.advance(CHECK_MS)
    assert ("t", 0) in groups.fetched()
    groups.advance(CHECK_MS)
    assert groups.fetched() == {}


def test_positions_of_an_open_transaction_stay() -> None:
    groups = Groups(SHORT)
    groups.commit(5)
    groups.shard().replay(1, 42, groups.records()[0])
    groups.advance(RETENTION_MS + CHECK_MS)
    assert ("t", 0) in groups.fetched()
    assert "g" in groups.shard().groups


def test_an_empty_group_without_positions_goes_at_the_next_check() -> None:
    groups = Groups()
    groups.new_id(session_ms=1_800_000)
    groups.advance(CHECK_MS)
    assert groups.shard().groups == {}


def test_nothing_is_scheduled_once_there_is_nothing_left() -> None:
    groups = Groups(SHORT)
    groups.commit(5)
    groups.advance(RETENTION_MS + CHECK_MS)
    assert groups.timer.next_deadline() is None


def test_a_deleted_topic_takes_its_positions_along() -> None:
    groups = Groups(topics=(("t", 2), ("u", 1)))
    for group_id in ("g", "h"):
        groups.commit(5, group_id=group_id)
        groups.commit(6, group_id=group_id, topic="u")
    groups.controller.delete_topics([TopicReference(name="t")])
    assert set(groups.fetched("g")) == set(groups.fetched("h")) == {("u", 0)}


def test_without_the_internal_topic_there_are_no_groups() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    waiting = groups.join(groups.new_id())
    groups.controller.delete_topics([TopicReference(name="__consumer_offsets")])
    assert waiting.value.error_code == 16
    assert groups.heartbeat(member_id, 1) == 25
    assert groups.timer.next_deadline() is None


def test_offsets_expire_when_their_time_has_come_and_not_before() -> None:
    groups = Groups(
        {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    )
    groups.commit(5)
    groups.advance(1)
    groups.commit(5, topic="u")
    groups.advance(59_998)
    assert set(groups.fetched("g")) == {("t", 0), ("u", 0)}
    groups.advance(1)
    assert set(groups.fetched("g")) == {("u", 0)}
