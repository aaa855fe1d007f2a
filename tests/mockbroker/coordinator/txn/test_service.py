"""Shards of transactions: who owns what, and how they move."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.txn.records import decode_record
from mockbroker.journal import TransactionDecided
from mockbroker.metadata.topic_requests import TopicReference
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from tests.support.core import Core
from tests.support.transactions import Transactional, read_committed

TOPIC = "__transaction_state"


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1})


def log_of(core: Core) -> InternalLog:
    return InternalLog(TOPIC, core.broker.services.replicas, core.cluster.clock)


def records(core: Core, transactional_id: str) -> list[TransactionLogValue | None]:
    """What the log of an id's partition says of it."""
    service = core.broker.services.transactions.service
    found = []
    for logged in log_of(core).read(service.runtime.partition_for(transactional_id)):
        assert not isinstance(logged, EndOfTransaction)
        record = decode_record(logged[2], logged[3])
        assert record is not None
        assert record.key == TransactionLogKey(transactional_id)
        assert record.value is None or isinstance(record.value, TransactionLogValue)
        found.append(record.value)
    return found


def test_each_state_is_a_record_of_the_internal_topic(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    producer.finish(commit=True)
    assert [
        (one.transaction_status, one.producer_epoch, one.client_transaction_version)
        for one in records(core, "tx")
        if one is not None
    ] == [(0, 0, 0), (1, 0, 2), (2, 1, 2), (4, 1, 2)]
    topic = core.cluster.metadata.topics[TOPIC]
    assert (len(topic.partitions), topic.internal) == (50, True)


def test_ids_are_spread_as_kafka_spreads_them(core: Core) -> None:
    service = core.broker.services.transactions.service
    assert [service.runtime.partition_for(one) for one in ("tx", "", "a")] == [16, 0, 47]


def move(core: Core, transactional_id: str = "tx") -> None:
    service = core.broker.services.transactions.service
    index = service.runtime.partition_for(transactional_id)
    service.runtime.unload(index)
    service.runtime.load(index, log_of(core).read(index))


@pytest.mark.parametrize("v1", [False, True])
def test_a_shard_that_moved_goes_on_where_it_was(core: Core, v1: bool) -> None:
    producer = Transactional.begin(core, v1=v1)
    producer.write("t", 0, "a")
    move(core)
    assert producer.state == "Ongoing"
    producer.write("t", 0, "b")
    producer.finish(commit=True)
    move(core)
    producer.write("t", 0, "c")
    producer.finish(commit=False)
    assert read_committed(core, "t") == ["a", "b"]


def test_a_prepared_transaction_is_ended_by_the_new_owner(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    partition = core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    partition.state.isr.clear()
    producer.finish(commit=True)
    service = core.broker.services.transactions.service
    index = service.runtime.partition_for("tx")
    service.runtime.unload(index)
    assert not service.markers
    assert producer.describe().error_code == 16
    assert producer.init().error == 16
    partition.state.isr.append(core.broker.services.broker_id)
    core.advance(1_000)
    assert read_committed(core, "t") == []
    service.runtime.load(index, log_of(core).read(index))
    assert producer.state == "CompleteCommit"
    assert read_committed(core, "t") == ["a"]


def test_an_open_transaction_times_out_at_the_new_owner(core: Core) -> None:
    producer = Transactional(core)
    producer.find()
    producer.become(producer.init(timeout_ms=100))
    producer.write("t", 0, "a")
    move(core)
    core.advance(10_000)
    assert producer.state == "CompleteAbort"


def test_a_topic_that_is_deleted_takes_the_transactions_along(core: Core) -> None:
    producer = Transactional.begin(core)
    core.cluster.controller.delete_topics([TopicReference(TOPIC)])
    assert producer.describe().error_code == 16
    producer.find()
    assert producer.describe().error_code == 105
    again = producer.init()
    assert again.epoch == 0
    assert again.producer_id != producer.producer_id


def test_a_first_state_that_cannot_be_written_leaves_nothing(core: Core) -> None:
    producer = Transactional(core)
    producer.find()
    index = core.broker.services.transactions.service.runtime.partition_for("tx")
    partition = core.broker.services.replicas.partition(TOPIC, index)
    assert partition is not None
    partition.state.isr.clear()
    assert producer.init() == (15, -1, -1)
    assert producer.describe().error_code == 105
    partition.state.isr.append(core.broker.services.broker_id)
    assert producer.init().epoch == 0


def decided(core: Core) -> list[tuple[str, bool, str, int, int]]:
    return [
        (event.transactional_id, event.committed, event.by, event.producer_epoch, event.partitions)
        for event in core.cluster.journal.events()
        if isinstance(event, TransactionDecided)
    ]


def test_the_journal_has_who_ended_a_transaction() -> None:
    core = Core(topics={"t": 2})
    producer = Transactional.begin(core, v1=True)
    for commit in (True, False):
        producer.write("t", 0, "a")
        producer.write("t", 1, "b")
        core.advance(250)
        producer.finish(commit=commit)
    assert decided(core) == [("tx", True, "client", 0, 2), ("tx", False, "client", 0, 2)]
    events = core.cluster.journal.events()
    first = next(one for one in events if isinstance(one, TransactionDecided))
    assert (first.broker_id, first.producer_id, first.open_ms) == (1, producer.producer_id, 250)


def test_the_journal_has_transactions_that_the_coordinator_aborts() -> None:
    core = Core(topics={"t": 1})
    fenced = Transactional.begin(core, "fenced")
    fenced.write("t", 0, "a")
    assert Transactional(core, "fenced").init().error == 51
    removed = Transactional.begin(core, "removed")
    removed.write("t", 0, "a")
    core.broker.services.transactions.service.forget("removed")
    overdue = Transactional.begin(core, "overdue")
    overdue.write("t", 0, "a")
    core.advance(80_000)
    assert decided(core) == [
        ("fenced", False, "fenced", 0, 1),
        ("removed", False, "removed", 0, 1),
        ("overdue", False, "timeout", 0, 1),
    ]


def test_an_end_without_a_transaction_is_not_in_the_journal() -> None:
    core = Core(topics={"t": 1})
    producer = Transactional.begin(core)
    producer.end(commit=False)
    assert decided(core) == []


@pytest.mark.parametrize(("timeout_ms", "error"), [(0, 50), (1, 0), (900_000, 0), (900_001, 50)])
def test_a_transaction_may_be_open_for_as_long_as_the_broker_allows(
    core: Core, timeout_ms: int, error: int
) -> None:
    producer = Transactional(core)
    producer.find()
    assert producer.init(timeout_ms=timeout_ms).error == error


def test_an_id_with_a_transition_under_way_is_not_forgotten(core: Core) -> None:
    producer = Transactional.begin(core)
    service = core.broker.services.transactions.service
    (shard,) = service.runtime.shards()
    current = shard.transactions["tx"]
    for is_open in (False, True):
        if is_open:
            producer.write("t", 0, "a")
        current.pending_state = current.state
        service.forget("tx")
        current.pending_state = None
        assert "tx" in shard.transactions
    assert producer.state == "Ongoing"
    service.forget("tx")
    assert producer.describe().error_code == 105
