"""What time does to transactions, on a clock that the test moves."""

from __future__ import annotations

import pytest

from mockbroker.metadata.topic_requests import TopicReference
from tests.support.core import Core
from tests.support.transactions import Transactional, read_committed

CHECK_MS = 10_000


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1})


def overdue(core: Core, timeout_ms: int = 500, *, v1: bool = False) -> Transactional:
    producer = Transactional(core, v1=v1)
    producer.find()
    producer.become(producer.init(timeout_ms=timeout_ms))
    producer.write("t", 0, "a")
    return producer


@pytest.mark.parametrize("v1", [False, True])
def test_an_overdue_transaction_is_aborted_at_the_next_look(core: Core, v1: bool) -> None:
    producer = overdue(core, v1=v1)
    core.advance(CHECK_MS - 1)
    assert producer.state == "Ongoing"
    core.advance(1)
    assert producer.state == "CompleteAbort"
    assert producer.describe().producer_epoch == 1
    assert read_committed(core, "t") == []
    assert producer.send("t", 0, "b") == 47
    assert producer.end(commit=True).error == (90 if v1 else 48)
    assert producer.init().epoch == 2


def test_one_that_is_not_overdue_is_left_alone_until_it_is(core: Core) -> None:
    producer = overdue(core, CHECK_MS)
    core.advance(CHECK_MS)
    assert producer.state == "Ongoing"
    core.advance(CHECK_MS)
    assert producer.state == "CompleteAbort"


def test_looks_fall_on_multiples_of_the_interval(core: Core) -> None:
    core.advance(CHECK_MS + 2_500)
    producer = overdue(core)
    core.advance(CHECK_MS - 2_500 - 1)
    assert producer.state == "Ongoing"
    core.advance(1)
    assert producer.state == "CompleteAbort"


def test_nothing_is_due_once_the_topic_is_gone(core: Core) -> None:
    producer = overdue(core)
    core.cluster.controller.delete_topics([TopicReference("__transaction_state")])
    core.advance(CHECK_MS)
    assert producer.describe().error_code == 16


def test_an_id_that_nobody_uses_is_forgotten() -> None:
    config = {"transactional.id.expiration.ms": "7200000"}
    core = Core(topics={"t": 1}, config=config)
    idle, busy = Transactional.begin(core, "idle"), Transactional.begin(core, "busy")
    busy.write("t", 0, "a")
    core.advance(CHECK_MS * 6)
    assert busy.state == "Ongoing"
    core.advance(CHECK_MS)
    assert busy.state == "CompleteAbort"
    core.advance(7_200_000 - 7 * CHECK_MS)
    assert idle.describe().error_code == 105
    assert busy.state == "CompleteAbort"
    assert idle.end(commit=False).error == 49
    core.advance(3_600_000)
    assert busy.describe().error_code == 105
    services = core.broker.services
    assert len(services.timer) == services.replicas.upkeep.is_armed  # nothing but old logs


def test_a_transaction_is_overdue_since_its_first_partition() -> None:
    core = Core(topics={"t": 2})
    producer = overdue(core, 15_000)
    core.advance(CHECK_MS + 5_000)
    assert producer.add({"t": [1]}) == {("t", 1): 0}
    core.advance(CHECK_MS - 5_000)
    assert producer.state == "CompleteAbort"


def test_what_a_coordinator_took_over_is_overdue_once_that_is_replicated(core: Core) -> None:
    producer = overdue(core)
    runtime = core.broker.services.transactions.service.runtime
    (shard,) = runtime.shards()
    shard.is_settled = False
    core.advance(2 * CHECK_MS)
    shard.is_settled = True
    assert producer.state == "Ongoing"
    core.advance(CHECK_MS)
    assert producer.state == "CompleteAbort"
