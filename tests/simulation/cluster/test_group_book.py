"""The rules of a group can fail."""

from __future__ import annotations

import pytest

from simulation.cluster.group_book import GroupBook
from tests.support.simulated_cluster import SimulatedCluster

PART = "t0", 0


class World:
    """A book, and the broker that coordinates its group."""

    def __init__(self) -> None:
        simulated = SimulatedCluster()
        world = self.world = simulated.world
        controller = world.cluster.controller
        world.operate(lambda: controller.ensure_internal_topic("__consumer_offsets"))
        world.run_for(100)
        state = world.cluster.metadata.topics["__consumer_offsets"].partitions[0]
        self.leader = state.leader
        self.other = next(node for node in state.replicas if node != state.leader)
        self.book = GroupBook(world, simulated.truth, "g", 1)

    @property
    def broken(self) -> str:
        return " ".join(self.world.violations)


@pytest.fixture
def group() -> World:
    return World()


def test_the_coordinator_in_force_is_who_leads_and_knows_it(group: World) -> None:
    asked = group.book.ask(group.leader)
    assert group.book.is_current(asked)
    assert not group.book.is_current(group.book.ask(group.other))
    world = group.world
    world.operate(lambda: world.controls.move_leader("__consumer_offsets", 0, group.other))
    assert not group.book.is_current(asked)


def test_offsets_that_nobody_committed_are_noticed(group: World) -> None:
    group.book.fetched(group.book.ask(group.leader, [PART]), PART, -1)
    assert group.book.checks == 1
    assert not group.broken
    group.book.fetched(group.book.ask(group.leader, [PART]), PART, 7)
    assert "7 was told" in group.broken
    group.book.committed(PART, 8)
    assert "commit 8" in group.broken


def test_a_generation_that_is_not_replicated_is_noticed(group: World) -> None:
    group.book.offsets._take(b"\0\2\0\1g=\0\3\0\1c\0\0\0\4", 1)
    group.book.assigned(group.book.ask(group.leader), 4, "a", [PART])
    assert not group.broken
    group.book.assigned(group.book.ask(group.leader), 5, "a", [PART])
    assert "generation 5 is assigned before it is replicated" in group.broken


def test_a_coordinator_may_tell_of_a_generation_that_it_loaded(group: World) -> None:
    broker = group.world.cluster.broker(group.leader)
    assert broker is not None
    partition = broker.services.replicas.partition("__consumer_offsets", 0)
    assert partition is not None
    partition.epoch_start_offset = partition.high_watermark + 1
    group.book.assigned(group.book.ask(group.leader), 5, "a", [PART])
    partition.epoch_start_offset = 0
    group.book.offsets._generations["g"] = 5
    group.book.assigned(group.book.ask(group.leader), 5, "b", [PART])
    assert not group.broken, "who coordinates next may have lacked that generation"


def test_a_partition_is_of_one_member_in_a_generation(group: World) -> None:
    book = group.book
    book.offsets._generations["g"] = 2
    book.assigned(book.ask(group.leader), 1, "a", [PART])
    book.assigned(book.ask(group.leader), 1, "a", [PART])
    book.assigned(book.ask(group.leader), 2, "b", [PART])
    book.assigned(book.ask(group.other), 2, "a", [PART])  # it has not heard that it does not lead
    assert not group.broken
    book.assigned(book.ask(group.leader), 2, "a", [PART])
    assert "is of b and of a in generation 2" in group.broken


def test_generations_do_not_go_back(group: World) -> None:
    book = group.book
    early = book.ask(group.leader)
    assert book.moved_on(book.ask(group.leader), 5)
    assert book.moved_on(early, 4)  # it was asked before the fifth was known
    assert not group.broken
    book.moved_on(book.ask(group.leader), 4)
    assert "went back" in group.broken


def test_who_lost_a_partition_is_no_member_in_good_standing(group: World) -> None:
    book = group.book
    book.took(book.ask(group.leader), "a", PART)
    book.confirmed(book.ask(group.leader), "a", [PART])
    before = book.ask(group.leader)
    book.took(book.ask(group.leader), "b", PART)
    book.confirmed(book.ask(group.leader), "b", [PART])
    book.confirmed(before, "a", [PART])
    assert not group.broken
    book.confirmed(book.ask(group.leader), "a", [PART])
    assert "was given to b while a had it" in group.broken


def test_who_gave_a_partition_up_may_lose_it(group: World) -> None:
    book = group.book
    book.took(book.ask(group.leader), "a", PART)
    book.gave_up("a", PART)
    book.took(book.ask(group.leader), "b", PART)
    book.confirmed(book.ask(group.leader), "a", [])
    assert not group.broken


def test_who_insists_is_told_what_was_written_when_it_asked(
    group: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = group.book
    key = ("g", *PART)
    book.offsets._values[key], book.offsets._ends_at[key] = [None, 5, 6], [0, 1, 2]
    monkeypatch.setattr(book, "_log_end", lambda _: 1)
    early = book.ask(group.leader, [PART], stable=True)
    monkeypatch.setattr(book, "_log_end", lambda _: 2)
    book.fetched(early, PART, 5)
    book.fetched(book.ask(group.leader, [PART], stable=True)._replace(epoch=-1), PART, 5)
    book.fetched(book.ask(group.other, [PART]), PART, 5)
    assert not group.broken
    book.fetched(book.ask(group.leader, [PART], stable=True), PART, 6)
    assert not group.broken
    book.fetched(book.ask(group.leader, [PART], stable=True)._replace(known={}), PART, 5)
    assert "5 was told" in group.broken


def test_what_no_leader_gave_is_noticed(group: World) -> None:
    group.book.deals(4, [[PART], []])
    group.book.given(4, "a", [PART])
    group.book.given(4, "b", [])
    assert not group.broken
    group.book.given(4, "c", [("t0", 1)])
    assert "said nothing of the kind" in group.broken


def test_who_did_not_join_a_generation_is_not_in_it(group: World) -> None:
    book = group.book
    for member_id in ("a", "b"):
        asked = book.ask(group.leader)
        book.joins(asked.time, member_id)
        book.joined(asked, member_id, 1, {})
    asked = book.ask(group.leader)
    book.joins(asked.time, "a")
    book.joins(book.ask(group.leader).time, "b")
    book.joined(asked, "a", 2, {"a": None, "b": None, "new": None})
    assert not group.broken
    asked = book.ask(group.leader)
    book.joins(asked.time, "a")
    book.joined(asked, "a", 3, {"a": None, "b": "i"})
    book.joined(book.ask(group.leader), "b", 2, {})
    assert not group.broken
    again = book.ask(group.leader)
    book.joins(again.time, "b")
    book.joined(again, "b", 2, {})
    book.joined(asked, "a", 3, {"a": None, "b": None})
    assert "b is in generation 3, and last joined 2" in group.broken


def test_a_static_member_stays_while_its_session_lasts(group: World) -> None:
    book = group.book
    until_ms = group.world.now_ms + 100
    for instance in ("stays", "goes", "over"):
        last_ms = group.world.now_ms if instance == "over" else until_ms
        book.stays(book.ask(group.leader), instance, 1, last_ms)
    book.removes("goes")
    book.joined(book.ask(group.leader), "a", 3, {"a": None})  # it may have gone by the second
    book.joined(book.ask(group.leader), "a", 2, {"a": None, "i": "stays"})
    assert not group.broken
    book.joined(book.ask(group.leader), "a", 2, {"a": None})
    assert "stays is not in generation 2" in group.broken
    assert "goes" not in group.broken
    assert "over" not in group.broken
