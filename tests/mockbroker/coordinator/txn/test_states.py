"""States, their names and numbers, and which may follow which."""

from __future__ import annotations

from mockbroker.coordinator.txn.states import (
    AT_REST,
    PREPARED,
    STATE_NAMES,
    VALID_PREVIOUS_STATES,
    TransactionState,
)


def test_each_state_has_kafkas_number_and_name() -> None:
    assert {int(state): name for state, name in STATE_NAMES.items()} == {
        0: "Empty",
        1: "Ongoing",
        2: "PrepareCommit",
        3: "PrepareAbort",
        4: "CompleteCommit",
        5: "CompleteAbort",
        6: "Dead",
        7: "PrepareEpochFence",
    }


def test_a_decision_cannot_be_undone() -> None:
    for state in PREPARED:
        followers = [to for to, previous in VALID_PREVIOUS_STATES.items() if state in previous]
        assert len(followers) == 1
        assert followers[0] in AT_REST


def test_only_an_abort_needs_no_open_transaction() -> None:
    assert VALID_PREVIOUS_STATES[TransactionState.PREPARE_COMMIT] == {TransactionState.ONGOING}
    assert VALID_PREVIOUS_STATES[TransactionState.PREPARE_ABORT] > AT_REST
