"""Producers insist until they are answered; only plain ones repeat themselves in the log."""

from __future__ import annotations

import pytest

from simulation.faults import NetworkFaults
from tests.support.simulated import Simulated


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_appends(version: int) -> None:
    simulated = Simulated()
    simulated.produce_for(50, version=version)
    simulated.ledger.check()
    assert len(simulated.ledger.acknowledged) > 5
    assert simulated.violations == []


@pytest.mark.parametrize("acks", [1, -1])
def test_an_idempotent_producer_may_send_again(acks: int) -> None:
    simulated = Simulated(NetworkFaults(lose_chance=0.4))
    simulated.produce_for(200, acks=acks)
    simulated.ledger.check()
    assert simulated.ledger.may_repeat == {}
    assert simulated.violations == []


def test_what_a_plain_producer_sends_again_may_be_there_twice() -> None:
    simulated = Simulated(NetworkFaults(lose_chance=0.4))
    simulated.produce_for(200, idempotent=False)
    simulated.ledger.check()
    assert simulated.ledger.may_repeat
    assert simulated.violations == []


def test_batches_for_a_topic_that_is_gone_are_given_up() -> None:
    for version in (9, 13):
        simulated = Simulated()
        producer = simulated.producer(version=version)
        producer.start()
        admin = simulated.admin()
        admin.start()
        admin.stop()
        simulated.world.run_for(5)
        admin.delete("t0")
        simulated.world.run_for(50)
        producer.stop()
        assert simulated.world.run_until(lambda: producer.idle, 100)  # noqa: B023
        assert list(producer.topics) == ["t1"]
        assert simulated.violations == []


def test_a_producer_goes_on_after_a_stop() -> None:
    simulated = Simulated()
    producer = simulated.produce_for(20)
    before = len(simulated.ledger.acknowledged)
    simulated.world.run_for(20)
    assert len(simulated.ledger.acknowledged) == before
    producer.go_on()
    simulated.world.run_for(20)
    assert len(simulated.ledger.acknowledged) > before
