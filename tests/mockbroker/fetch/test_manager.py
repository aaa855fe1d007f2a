"""The decision table of fetch sessions, row by row, as clients see it."""

from __future__ import annotations

import pytest

from mockbroker.fetch.session import next_epoch
from tests.support.fetch_world import World, ask, told


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t0", 2)
    world.create_topic("t1")
    return world


def open_session(world: World, version: int = 12) -> int:
    request = ask(("t0", 0, 0), ("t0", 1, 0), version=version, session=(0, 0))
    session_id = world.fetch_now(request, version).session_id
    assert session_id > 0
    return session_id


def outcome(world: World, sid: int, epoch: int, version: int = 12) -> tuple[int, int]:
    response = world.fetch_now(ask(version=version, session=(sid, epoch)), version)
    return response.error_code, response.session_id


def test_epochs_wrap_to_one_and_negative_ones_are_final() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, 2**31 - 1, -1, -7)] == [1, 2, 1, -1, -1]


def test_a_full_fetch_with_a_session_closes_it_and_opens_another(world: World) -> None:
    sid = open_session(world)
    response = world.fetch_now(ask(("t0", 0, 0), session=(sid, 0)))
    assert response.session_id not in (0, sid)
    assert outcome(world, sid, 1) == (70, 0)


def test_the_final_epoch_closes_any_session_and_is_answered_in_full(world: World) -> None:
    sid = open_session(world)
    response = world.fetch_now(ask(("t0", 0, 0), ("t1", 0, 0), session=(sid, -1)))
    assert response.session_id == 0
    assert told(response) == [("t0", 0, 0, 0), ("t1", 0, 0, 0)]
    assert outcome(world, sid, 1) == (70, 0)


@pytest.mark.parametrize("epoch", [0, -1])
def test_an_unknown_id_does_not_disturb_a_full_or_final_fetch(world: World, epoch: int) -> None:
    response = world.fetch_now(ask(("t0", 0, 0), session=(777, epoch)))
    assert response.error_code == 0
    assert (response.session_id > 0) == (epoch == 0)


@pytest.mark.parametrize(
    ("sid", "epoch"),
    [(777, 1), (777, 99), (0, 1), (0, -2), (2**31 - 1, 1), (-(2**31), 1), (-5, 7)],
)
def test_an_unknown_session_answers_70_whatever_its_epoch(
    world: World, sid: int, epoch: int
) -> None:
    assert outcome(world, sid, epoch) == (70, 0)


def test_a_wrong_epoch_answers_71_and_consumes_nothing(world: World) -> None:
    sid = open_session(world)
    assert outcome(world, sid, 99) == (71, 0)
    assert outcome(world, sid, -2) == (71, 0)
    assert outcome(world, sid, 1) == (0, sid)
    assert outcome(world, sid, 1) == (71, 0)
    assert outcome(world, sid, 2) == (0, sid)


def test_names_and_ids_in_one_session_answer_106_and_consume_nothing(world: World) -> None:
    by_name, by_id = open_session(world), open_session(world, 13)
    assert outcome(world, by_name, 1, 13) == (106, 0)
    assert outcome(world, by_id, 1, 12) == (106, 0)
    assert outcome(world, by_id, 9, 12) == (71, 0)
    assert outcome(world, by_name, 1, 7) == (0, by_name)
    assert outcome(world, by_id, 1, 18) == (0, by_id)


def test_the_epoch_wraps_in_a_session(world: World) -> None:
    sid = open_session(world)
    session = world.fetch.cache.get(sid)
    assert session is not None
    session.epoch = 2**31 - 1
    assert outcome(world, sid, 2**31 - 1) == (0, sid)
    assert outcome(world, sid, 1) == (0, sid)


def test_a_disconnect_while_parked_does_not_give_the_epoch_back(world: World) -> None:
    sid = open_session(world)
    parked = world.send(ask(session=(sid, 1), wait=500, min_bytes=1))
    parked.disconnect()
    assert world.replicas.fetch_purgatory.num_delayed_operations == 0
    assert outcome(world, sid, 1) == (71, 0)
    assert outcome(world, sid, 2) == (0, sid)


def test_a_session_without_partitions_lives_until_its_next_poll(world: World) -> None:
    sid = world.fetch_now(ask(session=(0, 0))).session_id
    assert sid > 0
    assert outcome(world, sid, 1) == (0, 0)
    assert outcome(world, sid, 2) == (70, 0)
    sid = world.fetch_now(ask(session=(0, 0))).session_id
    response = world.fetch_now(ask(("t0", 0, 0), session=(sid, 1)))
    assert response.session_id == sid
    assert told(response) == [("t0", 0, 0, 0)]


def test_forgetting_every_partition_closes_the_session(world: World) -> None:
    sid = open_session(world)
    response = world.fetch_now(ask(session=(sid, 1), forget=(("t0", 0), ("t0", 1))))
    assert (response.error_code, response.session_id, told(response)) == (0, 0, [])
    assert outcome(world, sid, 2) == (70, 0)


def test_an_unresolved_id_can_be_forgotten(world: World) -> None:
    """Case 46."""
    request = ask(("t3", 0, 0), ("t0", 0, 0), version=13, session=(0, 0))
    sid = world.fetch_now(request, 13).session_id
    request = ask(version=13, session=(sid, 1), forget=(("t3", 0),))
    assert told(world.fetch_now(request, 13)) == []


def test_no_session_before_version_7_and_none_without_slots(world: World) -> None:
    assert world.fetch_now(ask(("t0", 0, 0)), 6).session_id == 0
    small = World({"max.incremental.fetch.session.cache.slots": "7"})
    small.create_topic("t0")
    response = small.fetch_now(ask(("t0", 0, 0), session=(0, 0)))
    assert (response.session_id, told(response)) == (0, [("t0", 0, 0, 0)])


def test_each_fetch_is_classed(world: World) -> None:
    classes = []
    sid = open_session(world)
    for request in (
        ask(("t0", 0, 0)),
        ask(("t0", 0, 0), session=(0, 0)),
        ask(session=(sid, 1)),
        ask(session=(777, 1)),
    ):
        pending = world.send(request)
        assert pending.ctx is not None
        assert pending.ctx.fetch is not None
        classes.append(pending.ctx.fetch.fetch_class)
        world.fetch.note_answered(pending.ctx.fetch)
    assert classes == ["SESSIONLESS", "FULL", "INCREMENTAL", "INCREMENTAL"]
    assert world.fetch.answered == {"SESSIONLESS": 1, "FULL": 1, "INCREMENTAL": 2}
