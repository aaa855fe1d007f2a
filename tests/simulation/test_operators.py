"""The operator's acts show in the core, and `calm` ends what it left open."""

from __future__ import annotations

from simulation.ledger import TrueLog
from simulation.operators import Operator
from tests.support.simulated import Simulated


def begin() -> tuple[Simulated, Operator, TrueLog]:
    simulated = Simulated()
    simulated.produce_for(50)
    log = simulated.ledger.live("t0", 0)
    assert log is not None
    return simulated, simulated.operator(), log


def test_the_log_start_moves() -> None:
    simulated, operator, log = begin()
    for _ in range(10):
        operator.delete_records(log)
    assert log.log is not None
    assert log.log.log_start_offset > 0
    assert simulated.violations == []


def test_the_leader_epoch_rises() -> None:
    _, operator, log = begin()
    operator.raise_leader_epoch(log)
    assert (log.partition.leader_epoch, log.partition.is_leader) == (1, True)


def test_a_stalled_high_watermark_moves_again() -> None:
    simulated, operator, log = begin()
    before = log.partition.high_watermark
    operator.stall_or_release(log)
    producer = simulated.producer(acks=-1, version=9)
    producer.start()
    simulated.world.run_for(60)
    assert log.partition.high_watermark == before
    operator.calm()
    producer.stop()
    assert simulated.world.run_until(lambda: producer.idle, 1_000)
    assert log.partition.high_watermark > before
    simulated.ledger.check()
    assert simulated.violations == []


def test_transactions_hold_the_last_stable_offset_until_their_end() -> None:
    simulated, operator, log = begin()
    assert log.log is not None
    while not operator.transactions:
        operator.transact(log)
    assert list(log.open_transactions.values()) == [log.log.last_stable_offset]
    operator.calm()
    assert log.open_transactions == {}
    assert log.log.last_stable_offset == log.log.high_watermark
    simulated.ledger.check()
    assert simulated.violations == []


def test_it_acts_by_itself_only_as_far_as_the_plan_has_it() -> None:
    simulated, operator, log = begin()
    operator.start()
    simulated.world.run_for(500)
    assert log.partition.leader_epoch == 0
    simulated.plan.on["leader_epochs"] = True
    operator = simulated.operator()
    operator.start()
    simulated.world.run_for(500)
    epoch = log.partition.leader_epoch
    assert epoch > 0
    operator.calm()
    simulated.world.run_for(500)
    assert log.partition.leader_epoch == epoch
    operator.go_on()
    simulated.world.run_for(500)
    assert log.partition.leader_epoch > epoch
