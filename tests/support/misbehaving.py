"""Clients that each make one mistake, and some that make none, on brokers that write journals.

`plant` runs them all; the names of clients, groups and topics say what is wrong with each. Real
clients do it where they can; what none of them does is sent as frames.
"""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Producer, TopicPartition

from mockbroker import Fault, MockBroker
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from tests.support.blocking import BlockingConnection
from tests.support.fetch_world import batch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafka import KafkaConsumer

DEADLINE_SECONDS = 20.0
HEARTBEATS = "mockbroker:type=RequestMetrics,name=Requests,request=Heartbeat"
DEPARTURES = "mockbroker:type=RequestMetrics,name=Requests,request=LeaveGroup"
QUICK = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1}

PLANTED = {
    ("busy-polling", "busy"),
    ("session-cache", "broker 1"),
    ("commits-never", "forgetful-group"),
    ("commits-each-record", "meticulous-group"),
    ("lag-grows", "behind"),
    ("stops-fetching", "stalled"),
    ("hot-partition", "skewed-0"),
    ("hot-key", "skewed"),
    ("member-flaps", "late-poller"),
    ("member-flaps", "seldom-poller"),
    ("member-flaps", "silent"),
    ("small-fetches", "sipper"),
    ("one-partition-limits", "narrow"),
    ("producer-doubles", "doubler"),
    ("held-stable-offset", "slow-tx"),
    ("stale-metadata", "chaser"),
    ("slow-replica", "replicated-0"),
}
"""Rule and subject of all that is wrong."""


def plant(folder: Path) -> None:
    """Run all of them; their journals are in the folder, a run each."""
    polls_and_records(folder)
    time_that_passes(folder)
    stops_fetching(folder)
    too_many_sessions(folder)
    three_brokers(folder)


def consumer(broker: MockBroker, name: str, **conf: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "client.id": name,
            "group.id": f"{name}-group",
            "auto.offset.reset": "earliest",
            **{key.replace("_", "."): value for key, value in conf.items()},
        }
    )


def send(broker: MockBroker, name: str, records: list[dict[str, Any]], each: int = 1) -> None:
    """Send records, so many in a batch."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "client.id": name,
            "linger.ms": 1000,
            "partitioner": "murmur2_random",
        }
    )
    for number, record in enumerate(records):
        producer.produce(**record)
        if number % each == each - 1:
            producer.flush(DEADLINE_SECONDS)
    assert producer.flush(DEADLINE_SECONDS) == 0


def read(reader: Consumer, count: int) -> None:
    """Take so many records, and fail where they do not come."""
    got = 0
    for _ in range(400):
        got += len(reader.consume(count - got, 0.05))
        if got >= count:
            return
    raise AssertionError(f"{got} of {count} records came")


def polls_and_records(folder: Path) -> None:
    topics = {"calm": 3, "skewed": 6, "slow": 1, "sips": 1, "wide": 2, "quiet": 1, "twice": 1}
    with MockBroker(journal=folder, config=QUICK, topics=topics) as broker:
        calm = [{"topic": "calm", "key": f"k{n}", "value": f"v{n}"} for n in range(300)]
        send(broker, "calm-producer", calm, each=10)
        keys = ["hot" if n % 10 < 7 else f"k{n}" for n in range(300)]
        send(broker, "skewing", [{"topic": "skewed", "key": k, "value": "v"} for k in keys], 10)
        with closing(consumer(broker, "calm")) as reader:
            reader.subscribe(["calm"])
            read(reader, 300)
        with closing(consumer(broker, "forgetful", enable_auto_commit=False)) as reader:
            reader.subscribe(["calm"])
            read(reader, 300)
        with closing(consumer(broker, "meticulous", enable_auto_commit=False)) as reader:
            reader.subscribe(["calm"])
            for _ in range(60):
                read(reader, 1)
                reader.commit(asynchronous=False)
        polls_without_waiting(broker)
        reads_too_little(broker)
        falls_behind(broker)
        sends_twice(broker)


def polls_without_waiting(broker: MockBroker) -> None:
    with closing(consumer(broker, "busy", fetch_wait_max_ms=0)) as reader:
        reader.assign([TopicPartition("quiet", 0, 0)])
        reader.poll(0.2)
        reader.poll(0.2)
    with closing(consumer(broker, "patient")) as reader:
        reader.assign([TopicPartition("quiet", 0, 0)])
        reader.poll(0.2)


def reads_too_little(broker: MockBroker) -> None:
    send(broker, "sips-producer", [{"topic": "sips", "value": bytes(150)} for _ in range(100)])
    large = [{"topic": "wide", "value": bytes(40_000), "partition": 0} for _ in range(30)]
    send(broker, "wide-producer", large)
    for name, topic, partitions, limit, count in (
        ("sipper", "sips", 1, 300, 100),
        ("narrow", "wide", 2, 70_000, 30),
        ("whole", "wide", 2, 1 << 20, 30),
    ):
        reader = kafka_python(broker, name, topic, partitions, max_partition_fetch_bytes=limit)
        _take(reader, count)
        reader.close()


def kafka_python(
    broker: MockBroker, name: str, topic: str, partitions: int, **conf: Any
) -> KafkaConsumer:
    """A consumer with fetch sessions, which librdkafka has not; its partitions are assigned."""
    from kafka import KafkaConsumer, TopicPartition

    reader = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **conf,
    )
    reader.assign([TopicPartition(topic, number) for number in range(partitions)])
    return reader


def _take(reader: KafkaConsumer, count: int) -> None:
    got = 0
    for _ in range(400):
        got += sum(map(len, reader.poll(100).values()))
        if got >= count:
            return
    raise AssertionError(f"{got} of {count} records came")


def falls_behind(broker: MockBroker) -> None:
    reader = kafka_python(broker, "behind", "slow", 1, max_partition_fetch_bytes=70_000)
    for _ in range(15):
        send(broker, "steady", [{"topic": "slow", "value": bytes(900)} for _ in range(150)], 5)
        _take(reader, 1)
    reader.close()


def sends_twice(broker: MockBroker) -> None:
    """The answers to two batches are lost; the client sends both again."""
    broker.faults.add(
        Fault(api="Produce", client="doubler", stage="after", disconnect=True, count=2)
    )
    send(broker, "doubler", [{"topic": "twice", "value": f"v{n}"} for n in range(4)])


def time_that_passes(folder: Path) -> None:
    topics = {"orders": 1, "moves": 1}
    with MockBroker(journal=folder, config=QUICK, topics=topics) as broker:
        holds_the_stable_offset(broker)
        with closing(
            consumer(broker, "silent", session_timeout_ms=6_000, heartbeat_interval_ms=50)
        ) as silent:
            given: list[object] = []
            silent.subscribe(["moves"], on_assign=lambda *_: given.append(None))
            joins_anew(lambda: silent.poll(0.05), given, lambda: broker.clock.advance(6_500))
        polls_late(broker)
        polls_seldom(broker)


def stops_fetching(folder: Path) -> None:
    """One member pauses its partition and stays in its group; another one goes on."""
    with (
        MockBroker(journal=folder, config=QUICK, topics=["paused"]) as broker,
        closing(consumer(broker, "stalled", heartbeat_interval_ms=50)) as stalled,
        closing(consumer(broker, "going", heartbeat_interval_ms=50)) as going,
    ):
        for reader in (stalled, going):
            reader.subscribe(["paused"])
        send(broker, "before", [{"topic": "paused", "value": "v"}])
        for reader in (stalled, going):
            read(reader, 1)
        stalled.pause([TopicPartition("paused", 0)])
        stalled.poll(0.05)
        for _ in range(2):
            send(broker, "meanwhile", [{"topic": "paused", "value": "v"}])
            read(going, 1)
            broker.clock.advance(20_000)
            beats = broker.metrics()[HEARTBEATS]
            for _ in range(600):
                stalled.poll(0.05)
                if broker.metrics()[HEARTBEATS] >= beats + 10:
                    break
            assert broker.metrics()[HEARTBEATS] >= beats + 10


def polls_late(broker: MockBroker) -> None:
    """Three times its last poll seems to it too long ago, so it leaves, and joins with the next."""
    from kafka import KafkaConsumer

    reader = KafkaConsumer(
        "moves",
        bootstrap_servers=broker.bootstrap_servers,
        client_id="late-poller",
        group_id="late-poller-group",
        heartbeat_interval_ms=50,
        max_poll_interval_ms=300_000,
    )
    # Its assignor deals out no partition of a topic that it does not know yet.
    assert reader.partitions_for_topic("moves")
    given: list[object] = []

    def polls() -> None:
        if reader.poll(50) or reader.assignment():
            given.append(None)

    def waits_too_long() -> None:
        given.clear()
        left = broker.metrics().get(DEPARTURES, 0)
        heartbeat: Any = reader._coordinator.heartbeat
        heartbeat.last_poll = float("-inf")
        for _ in range(600):
            if broker.metrics().get(DEPARTURES, 0) > left:
                return
            threading.Event().wait(0.05)  # leave the processor to the client
        raise AssertionError("it did not leave")

    for _ in range(3):
        takes(polls, given)
        waits_too_long()
    takes(polls, given)
    reader.close()


def polls_seldom(broker: MockBroker) -> None:
    """A client of KIP-848 leaves by a heartbeat, and this one with its next poll alone."""
    options = {"group_protocol": "consumer", "max_poll_interval_ms": 400}
    with closing(consumer(broker, "seldom-poller", **options)) as reader:
        given: list[object] = []
        reader.subscribe(["moves"], on_assign=lambda *_: given.append(None))
        joins_anew(lambda: reader.poll(0.05), given, lambda: threading.Event().wait(1))


def joins_anew(
    polls: Callable[[], object], given: list[object], loses_it: Callable[[], object]
) -> None:
    """Three times it is no member any more, and joins again; `given` grows with each time."""
    for joins in range(1, 5):
        takes(polls, given, joins)
        if joins < 4:
            loses_it()


def takes(polls: Callable[[], object], given: list[object], joins: int = 1) -> None:
    """Poll until partitions were given so often."""
    for _ in range(600):
        polls()
        if len(given) >= joins:
            return
    raise AssertionError("no partition was given")


def holds_the_stable_offset(broker: MockBroker) -> None:
    bootstrap = broker.bootstrap_servers
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "slow-tx"})
    producer.init_transactions(DEADLINE_SECONDS)
    producer.begin_transaction()
    producer.produce("orders", "held")
    producer.flush(DEADLINE_SECONDS)
    send(broker, "plain", [{"topic": "orders", "value": f"v{n}"} for n in range(5)])
    with closing(consumer(broker, "committed", enable_auto_commit=False)) as reader:
        reader.assign([TopicPartition("orders", 0, 0)])
        reader.poll(0.3)
        broker.clock.advance(15_000)
        producer.commit_transaction(DEADLINE_SECONDS)
        read(reader, 6)
    quick = Producer({"bootstrap.servers": bootstrap, "transactional.id": "quick-tx"})
    quick.init_transactions(DEADLINE_SECONDS)
    quick.begin_transaction()
    quick.produce("orders", "v")
    quick.commit_transaction(DEADLINE_SECONDS)


def too_many_sessions(folder: Path) -> None:
    """Twelve consumers for eight slots, which are held or taken away; then a broker with room."""
    for slots, consumers, keeps_ms in ((8, 12, 120_000), (8, 12, 0), (16, 12, 0)):
        config = {
            "max.incremental.fetch.session.cache.slots": slots,
            "min.incremental.fetch.session.eviction.ms": keeps_ms,
        }
        with MockBroker(journal=folder, config=config, topics=["orders"]) as broker:
            readers = [
                kafka_python(broker, f"reader-{number}", "orders", 1, fetch_max_wait_ms=20)
                for number in range(consumers)
            ]
            for _ in range(3):
                for reader in readers:
                    reader.poll(30)
            for reader in readers:
                reader.close()


def three_brokers(folder: Path) -> None:
    topics = {"replicated": 1, "prompt": 1}
    with MockBroker(journal=folder, brokers=3, topics=topics) as broker:
        cluster = broker.cluster
        leader, slow, _ = cluster.replicas("replicated", 0)
        cluster.move_leader("prompt", 0, to=leader)
        send(broker, "prompt-producer", [{"topic": "prompt", "value": f"{n}"} for n in range(12)])
        cluster.slow_link(slow, leader, seconds=0.1)
        send(broker, "waiting", [{"topic": "replicated", "value": f"{n}"} for n in range(12)])
        cluster.restore_link(slow, leader)
        chases(broker.bootstrap_servers.split(",")[slow - 1])


def chases(address: str) -> None:
    """Frames to a broker that does not lead, again and again, as no client of ours would."""
    with BlockingConnection(address) as connection:
        for _ in range(4):
            partition = ProduceRequestPartition(0, batch(10))
            topics = [ProduceRequestTopic("prompt", partition_data=[partition])]
            connection.send(ProduceRequest(None, 1, 1000, topics), 9, client_id="chaser")
            (answer,) = connection.receive(ProduceResponse).responses[0].partition_responses
            assert answer.error_code == 6
