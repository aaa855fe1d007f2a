"""The states of a group."""

from __future__ import annotations

from mockbroker.coordinator.group.states import VALID_PREVIOUS_STATES, GroupState


def test_each_state_but_dead_is_entered_from_others_only() -> None:
    assert set(VALID_PREVIOUS_STATES) == set(GroupState)
    for state, previous in VALID_PREVIOUS_STATES.items():
        assert (state in previous) == (state is GroupState.DEAD)


def test_nothing_comes_after_dead() -> None:
    for state in set(GroupState) - {GroupState.DEAD}:
        assert GroupState.DEAD not in VALID_PREVIOUS_STATES[state]
