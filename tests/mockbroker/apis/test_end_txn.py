"""EndTxn over the wire, in both protocol generations."""

from __future__ import annotations

import pytest

from tests.support.core import Core
from tests.support.transactions import Transactional, read_committed


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1})


@pytest.mark.parametrize("version", range(5))
def test_up_to_version_4_the_epoch_stays(core: Core, version: int) -> None:
    producer = Transactional.begin(core, v1=True)
    producer.write("t", 0, "a")
    assert producer.end(commit=True, version=version) == (0, -1, -1)
    assert producer.end(commit=True, version=version) == (0, -1, -1)
    assert producer.end(commit=False, version=version) == (48, -1, -1)
    producer.write("t", 0, "b")
    assert producer.end(commit=False, version=version) == (0, -1, -1)
    assert read_committed(core, "t") == ["a"]
    assert producer.describe().producer_epoch == 0


def test_from_version_5_on_the_answer_has_the_next_epoch(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    told = producer.end(commit=True)
    assert told == (0, producer.producer_id, 1)
    assert producer.end(commit=True) == told
    assert producer.end(commit=False).error == 48
    assert producer.send("t", 0, "late") == 47
    producer.become(told)
    assert producer.end(commit=True).error == 48
    assert producer.end(commit=False) == (0, producer.producer_id, 2)
    assert read_committed(core, "t") == ["a"]


@pytest.mark.parametrize(("version", "error"), [(0, 47), (1, 47), (2, 90), (4, 90), (5, 90)])
def test_a_wrong_epoch(core: Core, version: int, error: int) -> None:
    producer = Transactional.begin(core)
    producer.epoch = 9
    assert producer.end(commit=True, version=version) == (error, -1, -1)


@pytest.mark.parametrize(("transactional_id", "error"), [("nope", 49), ("", 42)])
def test_other_ids(core: Core, transactional_id: str, error: int) -> None:
    producer = Transactional.begin(core)
    producer.transactional_id = transactional_id
    for version in (4, 5):
        assert producer.end(commit=True, version=version) == (error, -1, -1)


def test_nobody_coordinates_before_the_topic_is_there(core: Core) -> None:
    assert Transactional(core).end(commit=True).error == 16


def test_a_decision_that_cannot_be_written_is_none(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    partition = core.broker.services.replicas.partition(
        "__transaction_state", core.broker.services.transactions.service.runtime.partition_for("tx")
    )
    assert partition is not None
    partition.state.isr.clear()
    assert producer.end(commit=True).error == 15
    assert producer.state == "Ongoing"
    partition.state.isr.append(core.broker.services.broker_id)
    assert producer.end(commit=True).error == 0
