"""Coordinators go on from what the other kind wrote: ours and one of Apache Kafka, in turn.

`__consumer_offsets` and `__transaction_state` have one partition, on both. Groups of both protocols
read and commit, a transactional producer writes and commits offsets, while the coordinator is
moved, and the real one killed, also in the middle of a transaction.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from mockbroker.testing.mock_broker import MockBroker
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tests.raft.test_mixed_security import ask
from tests.raft.test_real_followers import create, kafka_jars
from tests.support.real_brokers import DEADLINE_SECONDS, RealBroker, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mockbroker.testing.cluster_view import ClusterView

__all__ = ["kafka_jars"]

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(480)]
SESSION_MS = 180_000
CONFIG = {
    "broker.session.timeout.ms": "6000",
    # librdkafka at times finds a coordinator that moved 45 s later: members are to be there yet.
    "group.consumer.max.session.timeout.ms": str(SESSION_MS),
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
}
INTERNAL = ("__consumer_offsets", "__transaction_state")
OURS, REAL = 1, 2
INPUT = 60
STEP = 5
"""Records of each transaction, and what each group reads between two moves."""
PROTOCOLS = ("classic", "consumer")
MOVED = {
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.REQUEST_TIMED_OUT,
}
T = TypeVar("T")


class Groups:
    """A member of a group of each protocol; each commits what it has read."""

    def __init__(self, bootstrap: str) -> None:
        self.members = {
            protocol: Consumer(
                {
                    "bootstrap.servers": bootstrap,
                    "group.id": protocol,
                    "group.protocol": protocol,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    **({} if protocol == "consumer" else {"session.timeout.ms": SESSION_MS}),
                }
            )
            for protocol in PROTOCOLS
        }
        self._read = dict.fromkeys(PROTOCOLS, 0)
        for member in self.members.values():
            member.subscribe(["input"])

    def go_on(self) -> None:
        """Each reads on where it is, commits, and is told so."""
        for protocol, member in self.members.items():
            for _ in range(STEP):
                assert retried(partial(next_offset, member)) == self._read[protocol]
                self._read[protocol] += 1
            retried(partial(member.commit, asynchronous=False))
            assert committed(member, "input") == self._read[protocol]

    def close(self) -> None:
        for member in self.members.values():
            member.close()


class Transactions:
    """A transactional producer that commits an offset of the group `simple` in each transaction."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "tx"})
        self.group = Consumer({"bootstrap.servers": bootstrap, "group.id": "simple"})
        self._count = 0
        self.committed: list[bytes] = []
        """What readers are to see."""
        self._producer.init_transactions(DEADLINE_SECONDS)

    def run(self, meanwhile: Callable[[], None], *, commit: bool = True) -> None:
        """One transaction; `meanwhile` happens before it ends."""
        self._count += 1
        values = [b"%d-%d" % (self._count, at) for at in range(STEP)]
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce("output", value, partition=0)
        position = [TopicPartition("input", 0, self._count)]
        metadata = self.group.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(position, metadata, DEADLINE_SECONDS)
        assert self._producer.flush(DEADLINE_SECONDS) == 0
        meanwhile()
        producer = self._producer
        end = producer.commit_transaction if commit else producer.abort_transaction
        retried(lambda: end(DEADLINE_SECONDS))
        if commit:
            self.committed += values
            assert committed(self.group, "input") == self._count


def retried(call: Callable[[], T]) -> T:
    """What it returns once the client has found the coordinator, which it asks but once."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            return call()
        except KafkaException as error:
            problem = error.args[0]
            if not (problem.retriable() or problem.code() in MOVED) or time.monotonic() > deadline:
                raise


def test_coordinators_go_on_from_each_others_records(tmp_path: Path) -> None:
    configs = [f"{key}={value}" for key, value in CONFIG.items()]
    with (
        MockBroker(controller_port=0, config=CONFIG) as broker,
        RealBroker(broker, tmp_path, REAL, *configs) as real,
    ):
        cluster = broker.cluster
        addresses = {OURS: broker.bootstrap_servers, REAL: real.address}
        bootstrap = ",".join(addresses.values())
        create(broker, "input", [[OURS, REAL]])
        create(broker, "output", [[REAL, OURS]])
        write_input(bootstrap)
        groups, transactions = Groups(bootstrap), Transactions(bootstrap)
        try:
            # A client that asks for its first offsets as the coordinator moves may wait for ever.
            groups.go_on()
            for node in (OURS, REAL):
                move(cluster, node)
                groups.go_on()
                other = OURS + REAL - node
                transactions.run(partial(move, cluster, other))
                transactions.run(partial(move, cluster, node), commit=False)
            assert_both_tell_the_same(cluster, addresses)
            move(cluster, REAL)
            transactions.run(real.kill)
            groups.go_on()
            real.start()
            move(cluster, REAL)
            groups.go_on()
            for address in addresses.values():
                assert read_committed(address) == transactions.committed
        finally:
            groups.close()
            transactions.group.close()


def move(cluster: ClusterView[MockBroker], node: int) -> None:
    """Let it coordinate all, once it has all records."""
    for topic in INTERNAL:
        until(partial(is_on_both, cluster, topic))
        cluster.move_leader(topic, 0, to=node)


def is_on_both(cluster: ClusterView[MockBroker], topic: str) -> bool:
    return sorted(cluster.isr(topic, 0)) == [OURS, REAL]


def assert_both_tell_the_same(cluster: ClusterView[MockBroker], addresses: dict[int, str]) -> None:
    """Of members, subscriptions, assignments and transactions; but for the epoch of a group.

    Whoever takes over has another hash of the topics' metadata, and begins one.
    """
    told = []
    for node, address in addresses.items():
        move(cluster, node)
        until(partial(loaded, address))
        told.append(described(address))
    assert told[0] == told[1]


def loaded(address: str) -> bool:
    """Whether it coordinates all, and no transaction is under way."""
    classic, consumer, transaction = described(address)
    return all("error_code=0," in one for one in (classic, consumer)) and "Complete" in transaction


def described(address: str) -> tuple[str, str, str]:
    """A group of each protocol and the transactional id, as a coordinator tells of them."""
    classic = ask(address, DescribeGroupsRequest(["classic"]), 5, DescribeGroupsResponse)
    request = ConsumerGroupDescribeRequest(["consumer"])
    consumer = ask(address, request, 1, ConsumerGroupDescribeResponse).groups[0]
    consumer.group_epoch = consumer.assignment_epoch = 0
    for member in consumer.members:
        member.member_epoch = 0
    asked = DescribeTransactionsRequest(["tx"])
    transactions = ask(address, asked, 0, DescribeTransactionsResponse)
    return str(classic.groups[0]), str(consumer), str(transactions.transaction_states[0])


def write_input(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for index in range(INPUT):
        producer.produce("input", str(index), partition=0)
    assert producer.flush(DEADLINE_SECONDS) == 0


def next_offset(member: Consumer) -> int | None:
    """Of the next record that it is given."""
    (message,) = member.consume(1, DEADLINE_SECONDS)
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    return message.offset()


def committed(member: Consumer, topic: str) -> int:
    (found,) = retried(lambda: member.committed([TopicPartition(topic, 0)], DEADLINE_SECONDS))
    return int(found.offset)


def read_committed(address: str) -> list[bytes | str | None]:
    """What a reader that begins at this broker sees of the output, to its end."""
    reader = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "none",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition("output", 0, 0)])
    found: list[bytes | str | None] = []
    while True:
        (message,) = reader.consume(1, DEADLINE_SECONDS)
        if message.error() is not None:
            break
        found.append(message.value())
    reader.close()
    return found
