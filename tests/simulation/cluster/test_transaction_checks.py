"""What does not hold of transactions at rest is told."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.records import encode_record, transaction_record
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.messages.transaction_records import TransactionLogValue
from simulation.cluster.processors import Processor
from simulation.cluster.transaction_checks import TransactionChecks, VisibleLog, leader_log
from simulation.cluster.transaction_ledger import Transaction
from simulation.cluster.transactions import TransactionCrew
from simulation.cluster.transactors import Transactor
from simulation.producers import batch_of
from tests.support.transaction_run import transaction_run

pytestmark = pytest.mark.sim
PLAIN = -1


class Written:
    """A log as a follower gets it, right or wrong."""

    def __init__(self) -> None:
        self.log = UnifiedLog()

    def produce(self, producer_id: int, epoch: int, sequence: int, value: bytes) -> None:
        data = bytearray(
            batch_of(
                [value],
                0.0,
                producer_id,
                sequence,
                producer_epoch=epoch,
                transactional=producer_id != PLAIN,
            )
        )
        data[:8] = self.log.log_end_offset.to_bytes(8, "big")
        assert not self.log.append_as_follower(data, 0).error

    def end(self, producer_id: int, epoch: int, *, commit: bool) -> None:
        result = self.log.append_end_of_transaction(producer_id, epoch, 0, 0, 0, commit=commit)
        assert not result.error

    def visible(self) -> VisibleLog:
        self.log.advance_high_watermark(self.log.log_end_offset)
        return VisibleLog(self.log)


def test_visible_is_what_is_committed_in_the_order_of_the_log() -> None:
    written = Written()
    written.produce(1, 0, 0, b"committed")
    written.produce(2, 0, 0, b"aborted")
    written.produce(PLAIN, 0, 0, b"plain")
    written.end(2, 0, commit=False)
    written.end(1, 1, commit=True)
    visible = written.visible()
    assert visible.records == [(0, b"committed"), (2, b"plain")]
    assert visible.wrong == []


def test_gaps_old_epochs_and_what_stays_open_are_told() -> None:
    written = Written()
    written.produce(1, 1, 0, b"a")
    written.produce(1, 1, 2, b"b")
    written.produce(1, 0, 0, b"c")
    assert written.visible().wrong == [
        "producer 1 has sequence 2 after 1",
        "producer 1 has epoch 0 after 1",
        "producers [1] have a transaction open",
        f"the last stable offset stands still: {written.log!r}",
    ]


@pytest.fixture(scope="module")
def lived() -> TransactionCrew:
    run, crew = transaction_run(transactors=1, processors=1, seed=3)
    for each in crew.clients:
        if isinstance(each, Transactor):
            each.leaves, each.abort_chance, each.pause_ms = False, 0.4, 5.0
    run.live()
    assert run.world.violations == []
    return crew


def told(crew: TransactionCrew) -> str:
    """What the crew finds by now."""
    del crew.world.violations[:]
    crew.check()
    return "\n".join(crew.world.violations)


def transaction(crew: TransactionCrew, *, committed: bool) -> Transaction:
    """One with several values that ended so."""
    return next(
        each
        for each in crew.ledger.lineages["txn0"].transactions
        if each.ended is committed and len(each.values) > 1
    )


def test_half_a_transaction_is_told(lived: TransactionCrew) -> None:
    each = transaction(lived, committed=True)
    each.values[b"missing"] = "t0", 0
    assert f"of {len(each.values)} values are visible" in told(lived)
    del each.values[b"missing"]
    assert told(lived) == ""


def test_what_nobody_commits_must_not_be_visible(lived: TransactionCrew) -> None:
    each = transaction(lived, committed=True)
    each.fenced = True
    assert f"{each} is visible, and nobody commits it" in told(lived)
    each.fenced, each.ended = False, False
    assert f"{each} is visible, and nobody commits it" in told(lived)
    each.ended = True


def test_what_was_committed_must_be_visible(lived: TransactionCrew) -> None:
    each = transaction(lived, committed=False)
    each.ended = each.commit_tried = True
    assert f"{each} is not visible, although it was committed" in told(lived)
    each.ended = each.commit_tried = False


def test_a_reader_that_was_given_something_else_is_told(lived: TransactionCrew) -> None:
    taken = lived.readers[0].taken["out", 0]
    taken.insert(1, b"aborted")
    assert "reader0 of ('out', 0) was given [b'aborted'" in told(lived)
    del taken[1]


def test_values_in_another_order_are_told(lived: TransactionCrew) -> None:
    order = lived.ledger.order
    taken = [value for value in lived.readers[0].taken["t0", 0] if value.startswith(b"txn0")]
    first, last = taken[0], taken[-1]
    order[first], order[last] = order[last], order[first]
    assert f"follows {first!r}" in told(lived)
    order[first], order[last] = order[last], order[first]


def test_an_output_too_many_is_told(lived: TransactionCrew) -> None:
    (processor,) = (each for each in lived.clients if isinstance(each, Processor))
    committed = processor.committed
    processor.committed = 1
    assert "its offset 1 is that of" in told(lived)
    processor.committed = committed


def test_an_epoch_that_the_coordinator_has_forgotten_is_told(lived: TransactionCrew) -> None:
    lived.ledger.lineages["txn0"].epoch += 1
    assert "txn0 was told (" in told(lived)
    lived.ledger.lineages["txn0"].epoch -= 1


def test_states_that_do_not_follow_are_told(lived: TransactionCrew) -> None:
    checks = TransactionChecks(lived.world, lived.ledger)
    del lived.world.violations[:]
    records: dict[str, list[TransactionLogValue]] = {}
    for state in (
        TransactionState.ONGOING,
        TransactionState.PREPARE_ABORT,
        TransactionState.COMPLETE_ABORT,
        TransactionState.COMPLETE_ABORT,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.EMPTY,
    ):
        value = TransactionLogValue(transaction_status=state)
        checks._follow(*encode_record(transaction_record("id", value)), records)
    assert any(
        violation.endswith("id: COMPLETE_COMMIT after COMPLETE_ABORT")
        for violation in lived.world.violations
    )


def test_a_marker_of_a_coordinator_from_before_the_decision_is_told(lived: TransactionCrew) -> None:
    checks = TransactionChecks(lived.world, lived.ledger)
    log = leader_log(lived.world.cluster, "t0", 0)
    assert log is not None
    visible = checks._visible["t0", 0] = VisibleLog(log)
    del lived.world.violations[:]
    checks._check_states()
    checks._check_markers()
    assert lived.world.violations == []
    assert checks._decided.keys() & visible.markers.keys() == visible.markers.keys()
    (producer, *_) = visible.markers
    visible.markers[producer] = checks._decided[producer] - 1
    checks._check_markers()
    assert (
        f"the marker of producer {producer[0]} has coordinator epoch" in lived.world.violations[0]
    )
