"""Consumers read everything in every version, and survive what they do to themselves."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from simulation.consumers import Consumer, answer_line, request_line
from simulation.faults import NetworkFaults
from tests.support.simulated import Simulated


def run(simulated: Simulated, consumer: Consumer) -> None:
    """Let a producer and the consumer live for a while, then let the consumer read to the end."""
    if consumer.channel is None:
        consumer.start()
    simulated.produce_for(100)
    consumer.style.behave()
    simulated.world.faults = NetworkFaults()
    consumer.begin_quiet()
    assert simulated.world.run_until(lambda: consumer.settled, 2_000), consumer.behind()
    assert simulated.violations == []
    assert consumer.reading.records > 10


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_reads_everything(version: int) -> None:
    simulated = Simulated()
    consumer = simulated.consumer(version, sessionless=version < 7)
    run(simulated, consumer)
    assert bool(consumer.checks) == (version >= 7)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("version", [12, 18])
def test_a_tiny_budget_is_enough(version: int, committed: bool) -> None:
    simulated = Simulated()
    run(simulated, simulated.consumer(version, max_bytes=0, committed=committed))


def test_one_that_waits_for_as_much_as_it_had_reads_everything() -> None:
    simulated = Simulated()
    consumer = simulated.consumer(min_bytes=150, waits_for_as_much=True)
    run(simulated, consumer)
    assert consumer.style.min_bytes not in (0, 1, 150, 1000)


@pytest.mark.parametrize(
    "chance",
    [
        "pipeline_chance",
        "hang_up_chance",
        "replay_chance",
        "impatient_chance",
        "wrong_family_chance",
        "pause_chance",
    ],
)
@pytest.mark.parametrize("resume_chance", [0.0, 1.0])
@pytest.mark.parametrize("version", [12, 13])
def test_misbehaviour_loses_nothing(version: int, resume_chance: float, chance: str) -> None:
    simulated = Simulated()
    consumer = simulated.consumer(version, resume_chance=resume_chance, keeps_epochs=False)
    setattr(consumer.style, chance, 0.4)
    run(simulated, consumer)


@pytest.mark.parametrize("resume_chance", [0.0, 1.0])
def test_lost_answers_lose_nothing(resume_chance: float) -> None:
    simulated = Simulated(NetworkFaults(lose_chance=0.2))
    run(simulated, simulated.consumer(resume_chance=resume_chance, keeps_epochs=False))


@pytest.mark.parametrize("version", [12, 18])
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_topic_that_comes_back_is_read_from_its_start(version: int, stubborn: bool) -> None:
    simulated = Simulated()
    consumer = simulated.consumer(version, stubborn=stubborn)
    consumer.start()
    simulated.produce_for(30)
    admin = simulated.admin()
    admin.start()
    admin.stop()
    admin.delete("t0")
    simulated.world.run_for(30)
    admin.create("t0", 3)
    run(simulated, consumer)
    assert consumer.positions["t0", 2] > 0


def test_a_log_start_that_overtakes_the_reader_sends_it_on() -> None:
    simulated = Simulated()
    simulated.produce_for(50)
    log = simulated.ledger.live("t0", 0)
    assert log is not None
    simulated.ledger.catch_up(log)
    log.partition.delete_records_before(1)
    run(simulated, simulated.consumer())


def test_an_error_of_the_session_for_nothing_is_told() -> None:
    simulated = Simulated()
    consumer = simulated.consumer()
    consumer.start()
    simulated.world.run_for(50)
    cache = simulated.world.broker.services.fetch.cache
    cache.remove(consumer.session.session_id)
    simulated.world.run_for(100)
    assert "error 70 for nothing" in simulated.violations[0]


def test_lines_of_the_trace_are_readable() -> None:
    assert request_line(FetchRequest(session_id=3, session_epoch=1), 12) == "fetch v12 3/1 "
    assert answer_line(FetchResponse(0, 71, 3, [])) == "answer 71 of 3: "
