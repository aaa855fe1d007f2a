"""Commit and abort in each state: the two tables of `end_txn`."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.end_txn import decide_end_v1, decide_end_v2, decide_fence
from mockbroker.coordinator.txn.states import TransactionState
from tests.mockbroker.coordinator.txn.making import NOW_MS, STATES, Ids, outcome, transaction

COMMIT, ABORT = ("PrepareCommit", 7), ("PrepareAbort", 7)


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        ("Ongoing", (*COMMIT, 5), (*ABORT, 5)),
        ("PrepareCommit", 51, 51),
        ("PrepareAbort", 51, 51),
        ("CompleteCommit", 0, 48),
        ("CompleteAbort", 48, 0),
        ("Empty", 48, 48),
    ],
)
def test_v1(state: str, commit: object, abort: object) -> None:
    kind = STATES[state]
    assert kind is not None
    for wanted, committed in ((commit, True), (abort, False)):
        current = transaction(kind, version=0)
        assert outcome(decide_end_v1(current, 7, 5, committed, NOW_MS)) == wanted
        assert outcome(decide_end_v1(current, 8, 5, committed, NOW_MS)) == 49
        for epoch in (4, 6):
            assert outcome(decide_end_v1(current, 7, epoch, committed, NOW_MS)) == 90


@pytest.mark.parametrize(
    ("state", "commit_retry", "commit", "abort_retry", "abort"),
    [
        ("Ongoing", 90, (*COMMIT, 6), 90, (*ABORT, 6)),
        ("CompleteCommit", 0, 48, 48, (*ABORT, 6)),
        ("CompleteAbort", 48, 48, 0, (*ABORT, 6)),
        ("Empty", 90, 48, 90, (*ABORT, 6)),
    ],
)
def test_v2(
    state: str, commit_retry: object, commit: object, abort_retry: object, abort: object
) -> None:
    kind = STATES[state]
    assert kind is not None
    table = {
        (4, True): commit_retry,
        (5, True): commit,
        (4, False): abort_retry,
        (5, False): abort,
        (6, True): 90,
        (3, False): 90,
    }
    for (epoch, committed), wanted in table.items():
        decided = decide_end_v2(transaction(kind), 7, epoch, committed, Ids(), NOW_MS)
        assert outcome(decided) == wanted, (epoch, committed)
        decided = decide_end_v2(transaction(kind), 8, epoch, committed, Ids(), NOW_MS)
        assert outcome(decided) == 49


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "pending"])
@pytest.mark.parametrize("commit", [False, True])
def test_v2_while_a_transition_is_under_way(state: str, commit: bool) -> None:
    """Before all else: the producer may be one that the transition makes."""
    current = transaction(STATES.get(state) or TransactionState.EMPTY)
    if state == "pending":
        current.pending_state = TransactionState.EMPTY
    for producer in ((7, 5), (7, 4), (7, 9), (8, 0)):
        assert outcome(decide_end_v2(current, *producer, commit, Ids(), NOW_MS)) == 51


def test_v1_while_a_transition_is_under_way() -> None:
    current = transaction(TransactionState.ONGOING, pending=TransactionState.PREPARE_COMMIT)
    assert outcome(decide_end_v1(current, 7, 5, True, NOW_MS)) == 51
    assert outcome(decide_end_v1(current, 7, 4, True, NOW_MS)) == 90
    assert outcome(decide_end_v1(current, 8, 5, True, NOW_MS)) == 49


def test_v2_exchanges_a_used_up_producer_id() -> None:
    ids = Ids()
    decided = decide_end_v2(
        transaction(TransactionState.ONGOING, epoch=32766), 7, 32766, True, ids, NOW_MS
    )
    assert outcome(decided) == (*COMMIT, 32767)
    assert ids.given == 1


@pytest.mark.parametrize(
    ("producer", "commit", "answer"),
    [
        ((7, 32766), True, 0),
        ((7, 32766), False, 48),
        ((7, 32765), True, 49),
        ((9, 32766), True, 49),
    ],
)
def test_v2_knows_the_retry_of_such_an_end(
    producer: tuple[int, int], commit: bool, answer: int
) -> None:
    current = transaction(
        TransactionState.COMPLETE_COMMIT, producer_id=100, epoch=0, previous_producer_id=7
    )
    assert outcome(decide_end_v2(current, *producer, commit, Ids(), NOW_MS)) == answer


@pytest.mark.parametrize(("epoch", "ids_given"), [(5, 0), (32766, 1)])
def test_a_fence_aborts_under_the_next_epoch(epoch: int, ids_given: int) -> None:
    ids = Ids()
    current = transaction(TransactionState.ONGOING, epoch=epoch, version=0)
    decided = decide_fence(current, ids, NOW_MS)
    assert outcome(decided) == (*ABORT, epoch + 1)
    assert decided.value.client_transaction_version == 2
    assert ids.given == ids_given
