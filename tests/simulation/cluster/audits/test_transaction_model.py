"""What becomes of a transactional id: some of each table, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits.transaction_model import FENCE, NONE, V2, Id, Model

if TYPE_CHECKING:
    from simulation.cluster.audits.transaction_model import Outcome

REST = Id(
    state=TransactionState.COMPLETE_COMMIT,
    producer_id=7,
    epoch=3,
    last_epoch=2,
    previous_id=7,
    next_id=NONE,
    parts=frozenset(),
    start_ms=50,
    timeout_ms=1000,
    version=V2,
)
OPEN = REST._replace(state=TransactionState.ONGOING, parts=frozenset({("t", 0)}))
MODEL = Model(most_epochs=10, new_id=99, now_ms=500)
LAST = REST._replace(epoch=9)


@pytest.mark.parametrize(
    ("known", "told", "wanted"),
    [
        (REST, None, (7, 4, NONE)),
        (REST, (7, 3), (7, 4, 3)),
        (REST, (7, 2), (7, 3, 2)),
        (REST, (7, 1), ErrorCode.PRODUCER_FENCED),
        (REST, (8, 3), ErrorCode.PRODUCER_FENCED),
        (REST._replace(previous_id=8, epoch=0), (8, 8), ErrorCode.PRODUCER_FENCED),
        (REST._replace(previous_id=8, epoch=0, last_epoch=9), (8, 9), (7, 0, 9)),
        (LAST, None, (99, 0, NONE)),
        (LAST, (7, 9), (99, 0, 9)),
        (LAST, (7, 2), ErrorCode.PRODUCER_FENCED),
        (REST._replace(epoch=8), None, (7, 9, NONE)),
        (OPEN, None, FENCE),
        (OPEN, (7, 3), FENCE),
        (OPEN._replace(is_pending=True), None, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_who_is_the_producer(
    known: Id, told: tuple[int, int] | None, wanted: Outcome | tuple[int, int, int]
) -> None:
    found = MODEL.init(known, told, 1000)
    if isinstance(found, Id):
        assert (found.state, found.start_ms) == (TransactionState.EMPTY, NONE)
        assert (found.producer_id, found.epoch, found.last_epoch) == wanted
    else:
        assert found == wanted


def test_a_transaction_begins_with_its_first_partition() -> None:
    opened = MODEL.add(REST, (7, 3), [("t", 0)], V2)
    assert opened == OPEN._replace(start_ms=500)
    more = MODEL.add(OPEN, (7, 3), [("t", 0), ("t", 1)], V2)
    assert more == OPEN._replace(parts=frozenset({("t", 0), ("t", 1)}))
    assert MODEL.add(OPEN, (7, 3), [("t", 0)], V2) is ErrorCode.NONE
    assert MODEL.add(OPEN, (7, 2), [("t", 0)], V2) is ErrorCode.PRODUCER_FENCED
    assert MODEL.add(OPEN, (8, 3), [("t", 0)], V2) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_end_of_the_second_generation_has_the_next_epoch() -> None:
    ended = MODEL.end_v2(OPEN, (7, 3), commit=True)
    assert isinstance(ended, Id)
    assert (ended.epoch, ended.last_epoch, ended.next_id) == (4, 3, NONE)
    assert MODEL.complete(ended).epoch == 4
    assert MODEL.complete(ended).parts == frozenset()
    used_up = MODEL.end_v2(OPEN._replace(epoch=9), (7, 9), commit=True)
    assert isinstance(used_up, Id)
    assert (used_up.epoch, used_up.next_id) == (10, 99)
    assert MODEL.complete(used_up)[1:3] == (99, 0)
    assert MODEL.end_v2(REST, (7, 2), commit=True) is ErrorCode.NONE
    assert MODEL.end_v2(REST, (7, 2), commit=False) is ErrorCode.INVALID_TXN_STATE
    assert MODEL.end_v2(REST, (7, 3), commit=True) is ErrorCode.INVALID_TXN_STATE
    exchanged = REST._replace(previous_id=6, epoch=0)
    assert MODEL.end_v2(exchanged, (6, 9), commit=True) is ErrorCode.NONE


def test_an_end_of_the_first_generation_has_the_same_epoch() -> None:
    ended = MODEL.end_v1(OPEN, (7, 3), commit=False)
    assert isinstance(ended, Id)
    assert (ended.state, ended.epoch) == (TransactionState.PREPARE_ABORT, 3)
    assert MODEL.end_v1(REST, (7, 3), commit=True) is ErrorCode.NONE
    assert MODEL.end_v1(REST, (7, 3), commit=False) is ErrorCode.INVALID_TXN_STATE
    assert MODEL.fence(OPEN).epoch == 4
