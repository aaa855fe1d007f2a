"""The ledger knows every log that ever was, and tells what should not be in it."""

from __future__ import annotations

from mockbroker.log.results import AppendOrigin
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from simulation.ledger import Acknowledged
from tests.support.simulated import Simulated


def append(simulated: Simulated, value: bytes, index: int = 0) -> None:
    log = simulated.ledger.live("t0", index)
    assert log is not None
    data = build_batch([Record(0, 0, None, value, [])])
    partition = log.partition

    def do() -> None:
        partition.append_batch(data, AppendOrigin.CLIENT)

    simulated.world.operate(do)


def delete(simulated: Simulated, topic: str) -> None:
    admin = simulated.admin()
    admin.start()
    admin.delete(topic)
    simulated.world.run_for(0)


def test_what_producers_append_and_hear_of_agrees() -> None:
    simulated = Simulated()
    simulated.produce_for(50)
    simulated.ledger.check()
    assert simulated.ledger.acknowledged
    assert simulated.violations == []


def test_a_deleted_log_is_still_known() -> None:
    simulated = Simulated()
    append(simulated, b"a")
    delete(simulated, "t0")
    (log,) = simulated.ledger.incarnations("t0", 0)
    simulated.ledger.catch_up(log)
    assert log.deleted
    assert log.values == [b"a"]
    assert simulated.ledger.live("t0", 0) is None


def test_a_value_that_nobody_sent_is_told() -> None:
    simulated = Simulated()
    append(simulated, b"a")
    simulated.ledger.check()
    assert "was not sent" in simulated.violations[0]


def test_a_value_twice_is_told_unless_it_may_repeat() -> None:
    simulated = Simulated()
    for value in (b"a", b"a", b"b", b"b"):
        simulated.ledger.sent[value] = "t0", 0
        append(simulated, value)
    simulated.ledger.may_repeat[b"b"] = None
    simulated.ledger.check()
    assert len(simulated.violations) == 1
    assert "b'a' 2 times" in simulated.violations[0]


def test_a_lost_acknowledged_record_is_told() -> None:
    simulated = Simulated()
    simulated.ledger.sent[b"a"] = "t0", 1
    append(simulated, b"a", 1)
    simulated.ledger.acknowledged.append(Acknowledged("t0", 1, 0, [b"a"]))
    simulated.ledger.check()
    assert simulated.violations == []
    simulated.ledger.acknowledged.append(Acknowledged("t0", 1, 1, [b"b"]))
    simulated.ledger.check()
    assert "is not there" in simulated.violations[0]


def test_open_transactions_bound_a_committed_reader() -> None:
    simulated = Simulated()
    append(simulated, b"a")
    append(simulated, b"b")
    log = simulated.ledger.incarnations("t0", 0)[0]
    simulated.ledger.catch_up(log)
    log.open_transactions[7] = 1
    log.aborted[0] = None
    assert (log.readable_end(committed=True), log.readable_end(committed=False)) == (1, 2)
    assert log.visible(0, 9, committed=True) == [(1, b"b")]
    assert log.visible(0, 1, committed=False) == [(0, b"a")]
