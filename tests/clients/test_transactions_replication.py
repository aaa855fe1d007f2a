"""librdkafka's transactions on three brokers, while the coordinator's log is not replicated.

The coordinator gives up a write after the transaction's time-out, which is short here, so that the
client meets it and repeats its request; what it repeats must succeed once the log is replicated
again, or at the next coordinator.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from mockbroker import MockBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

LOG = "__transaction_state"
DEADLINE_S = 30.0
SOON_S = 5.0
TIMEOUT_MS = 60_000
SHORT_TIMEOUT_MS = 3_000
TIMED_OUT = 15
CONFIG = {
    # No transaction is aborted for its age meanwhile.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 3_600_000,
}


class Program:
    """A producer, its coordinator's partition, and who else has that partition's log."""

    def __init__(self, broker: MockBroker) -> None:
        self.broker = broker
        self.cluster = broker.cluster
        self.make(TIMEOUT_MS)
        self.partition = next(
            index
            for index in range(50)
            if self.cluster.records(LOG, index, self.cluster.leader(LOG, index))
        )
        self.coordinator = self.cluster.leader(LOG, self.partition)
        self.followers = [
            node for node in self.cluster.replicas(LOG, self.partition) if node != self.coordinator
        ]

    def make(self, timeout_ms: int, patience_ms: int | None = None) -> Producer:
        """A producer, before its first transaction; the one before it is fenced.

        It repeats a request that was not answered for `patience_ms`.
        """
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap_servers,
                "transactional.id": "x",
                "transaction.timeout.ms": timeout_ms,
                **({} if patience_ms is None else {"socket.timeout.ms": patience_ms}),
                "log_level": 0,
            }
        )
        producer.init_transactions(DEADLINE_S)
        return producer

    def visible(self) -> list[bytes | None]:
        topic = self.broker.topic("t")
        return sorted(one.value for one in topic.records(isolation="read_committed"))

    def disturb(self, how: str) -> Callable[[], None]:
        """Keep the log from being replicated; what is returned ends that."""
        cluster, partition, node = self.cluster, self.partition, self.followers[0]
        if how == "hold_high_watermark":
            cluster.hold_high_watermark(LOG, partition)
            return lambda: cluster.release_high_watermark(LOG, partition)
        if how == "kill_unnoticed":
            cluster.kill(node, fence=False)
            return lambda: cluster.revive(node)
        if how == "isolate":
            cluster.isolate(node)
            return lambda: cluster.reconnect(node)
        cluster.hold_follower(LOG, partition, node)
        return lambda: cluster.release_follower(LOG, partition, node)


@pytest.fixture
def program() -> Iterator[Program]:
    with MockBroker(brokers=3, topics={"t": 3}, config=CONFIG) as broker:
        yield Program(broker)


@pytest.mark.parametrize(
    ("how", "commit"),
    [
        ("hold_high_watermark", True),
        ("kill_unnoticed", True),
        ("isolate", True),
        ("hold_follower", True),
        ("hold_follower", False),
    ],
)
def test_an_end_whose_record_is_replicated_late(program: Program, how: str, commit: bool) -> None:
    producer, journal = program.make(SHORT_TIMEOUT_MS), program.broker.journal
    producer.begin_transaction()
    for partition in range(3):
        producer.produce("t", f"{partition}", partition=partition)
    assert producer.flush(DEADLINE_S) == 0
    undo = program.disturb(how)
    with ThreadPoolExecutor() as pool:
        end = producer.commit_transaction if commit else producer.abort_transaction
        ending = pool.submit(end, DEADLINE_S)
        # The client gives its request up after as long as the coordinator its write.
        given_up, *_ = journal.expect(api="EndTxn").within(DEADLINE_S)
        assert given_up.line()["errors"] in ([TIMED_OUT], [])
        undo()
        ending.result(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("t", "next", partition=0)
    producer.commit_transaction(DEADLINE_S)
    program.broker.topic("t").wait_for(4 if commit else 1, isolation="read_committed")
    assert program.visible() == ([b"0", b"1", b"2", b"next"] if commit else [b"next"])


def test_a_partition_whose_record_was_not_replicated_before_its_coordinator_died(
    program: Program,
) -> None:
    """Nothing is written for a transaction that the next coordinator does not know."""
    producer, cluster = program.make(TIMEOUT_MS, patience_ms=2_000), program.cluster
    if cluster.leader("t", 0) == program.coordinator:
        cluster.move_leader("t", 0, to=program.followers[0])
    for node in program.followers:
        cluster.hold_follower(LOG, program.partition, node)
    producer.begin_transaction()
    producer.produce("t", "x", partition=0)
    producer.flush(SOON_S)
    assert cluster.records("t", 0, cluster.leader("t", 0)) == []
    cluster.kill(program.coordinator)
    for node in program.followers:
        cluster.release_follower(LOG, program.partition, node)
    cluster.revive(program.coordinator)
    producer.commit_transaction(DEADLINE_S)
    successor = program.make(TIMEOUT_MS)
    successor.begin_transaction()
    successor.produce("t", "later", partition=0)
    successor.commit_transaction(DEADLINE_S)
    program.broker.topic("t").wait_for(2, isolation="read_committed")
    assert program.visible() == [b"later", b"x"]
