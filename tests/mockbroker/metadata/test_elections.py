"""Elections as Apache Kafka's controller decides them, values in and a value out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.metadata.changes import PartitionState
from mockbroker.metadata.elections import Election, changed

if TYPE_CHECKING:
    from collections.abc import Callable


def alive(*nodes: int) -> Callable[[int], bool]:
    return nodes.__contains__


def test_nothing_changes_when_the_leader_can_go_on() -> None:
    state = PartitionState(1, [1, 2, 3], [1, 2, 3])
    assert changed(state, alive(1, 2, 3), 1) is None


def test_the_next_replica_in_sync_leads_in_a_new_epoch() -> None:
    state = PartitionState(1, [1, 2, 3], [1, 3], 4, 9)
    after = changed(state, alive(2, 3), 1, isr=[3])
    assert after is not None
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (3, 5, 10)
    assert after.isr == [3]


def test_a_smaller_in_sync_set_alone_is_no_new_leader_epoch() -> None:
    after = changed(PartitionState(1, [1, 2], [1, 2], 4, 9), alive(1, 2), 1, isr=[1])
    assert after is not None
    assert (after.leader_epoch, after.partition_epoch) == (4, 10)


def test_the_last_one_in_sync_is_remembered_and_leads_when_it_is_back() -> None:
    state = PartitionState(1, [1, 2], [1])
    down = changed(state, alive(2), 1, isr=[])
    assert down is not None
    assert (down.leader, down.isr, down.elr, down.last_known_leader) == (-1, [], [1], 1)
    assert changed(down, alive(2), 1) is None
    back = changed(down, alive(1, 2), 1)
    assert back is not None
    assert (back.leader, back.isr, back.elr, back.last_known_leader) == (1, [1], [], -1)
    assert back.leader_epoch == 2


def test_who_left_below_the_minimum_in_sync_may_still_lead() -> None:
    """KIP-966: nothing was acknowledged without it since."""
    shrunk = changed(PartitionState(1, [1, 2, 3], [1, 2]), alive(1, 3), 2, isr=[1])
    assert shrunk is not None
    assert shrunk.elr == [2]
    leaderless = changed(shrunk, alive(2, 3), 2, isr=[])
    assert leaderless is not None
    assert (leaderless.leader, leaderless.isr) == (2, [2])


@pytest.mark.parametrize(("election", "leader"), [(Election.ONLINE, -1), (Election.UNCLEAN, 2)])
def test_only_an_unclean_election_takes_one_that_lags(election: Election, leader: int) -> None:
    down = PartitionState(-1, [1, 2], [], elr=[1], last_known_leader=1)
    after = changed(down, alive(2), 1, election=election)
    assert (after.leader if after else -1) == leader
    if after:
        assert (after.isr, after.elr) == ([2], [])


def test_the_preferred_leader_gets_the_lead_back() -> None:
    state = PartitionState(2, [1, 2], [2, 1], 3)
    assert changed(state, alive(1, 2), 1) is None
    after = changed(state, alive(1, 2), 1, election=Election.PREFERRED)
    assert after is not None
    assert (after.leader, after.leader_epoch) == (1, 4)


def test_a_reassignment_ends_once_the_new_replicas_are_in_sync() -> None:
    state = PartitionState(1, [3, 1, 2], [1, 2], 0, 0, adding=[3], removing=[1])
    waiting = changed(state, alive(1, 2, 3), 1, isr=[1, 2])
    assert waiting is None
    done = changed(state, alive(1, 2, 3), 1, isr=[1, 2, 3])
    assert done is not None
    assert (done.replicas, done.isr, done.leader) == ([3, 2], [2, 3], 3)
    assert (done.adding, done.removing, done.leader_epoch) == ([], [], 1)


def test_losing_a_replica_is_a_new_leader_epoch() -> None:
    state = PartitionState(1, [1, 2, 3], [1, 2, 3], 5, removing=[3])
    after = changed(state, alive(1, 2, 3), 1)
    assert after is not None
    assert (after.replicas, after.leader, after.leader_epoch) == ([1, 2], 1, 6)


def test_who_is_no_replica_any_more_is_not_eligible() -> None:
    """What is left of a reassignment to one replica goes on alone, without the others."""
    state = PartitionState(2, [1, 2, 3], [2], elr=[1, 3])
    after = changed(state, alive(1, 2, 3), 3, replicas=[2], isr=[2])
    assert after is not None
    assert (after.replicas, after.isr, after.elr) == ([2], [2], [])


def test_a_leader_that_is_enough_by_a_lowered_minimum_leaves_nobody_eligible() -> None:
    """min.insync.replicas fell from 2 to 1 while nobody led: it commits without the other."""
    state = PartitionState(-1, [1, 2, 3], [], 3, elr=[1, 2])
    after = changed(state, alive(1), 1)
    assert after is not None
    assert (after.leader, after.isr, after.elr) == (1, [1], [])
    below = changed(state, alive(1), 2)
    assert below is not None
    assert (below.isr, below.elr) == ([1], [2])


def test_a_last_leader_that_is_no_replica_any_more_does_not_lead() -> None:
    state = PartitionState(-1, [1, 2], [], 3, last_known_leader=3)
    unclean = changed(state, alive(1, 2, 3), 1, election=Election.UNCLEAN)
    assert unclean is not None
    assert (unclean.leader, unclean.isr) == (1, [1])
