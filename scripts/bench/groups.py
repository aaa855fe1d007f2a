"""How soon a group's members have their first records: ours beside kfake and Apache Kafka.

    scripts/bench/groups [--rounds N] [--members 1,3,50] [--peers mockbroker,kfake,kafka]

Each round makes a fresh group of librdkafka consumers that subscribe together, and takes the time
until every one of them has read a record; the table shows medians in seconds, and ours as a ratio
to each peer (above 1 is better for us). A peer that does not speak a protocol shows as `-`.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import threading
import time
import uuid

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from scripts.bench import peers

PROTOCOLS = ("classic", "consumer")
DEADLINE_S = 30.0
# Apache Kafka and kfake wait before a first rebalance unless they are told not to.
CONFIG = {"group.initial.rebalance.delay.ms": "0"}


def fill(address: str, partitions: int) -> str:
    """A topic with a few records in each partition."""
    topic = f"groups-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "log_level": 0})
    for number in range(partitions * 3):
        producer.produce(topic, b"x", partition=number % partitions)
    producer.flush(DEADLINE_S)
    return topic


def measure(address: str, protocol: str, count: int) -> float | None:
    """Seconds until all members have read; None when some never do."""
    topic = fill(address, max(count, 6))
    settings = {
        "bootstrap.servers": address,
        "group.id": topic,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    members = [confluent_kafka.Consumer(settings) for _ in range(count)]
    began = time.perf_counter()
    took: list[float] = []

    def run(member: confluent_kafka.Consumer) -> None:
        member.subscribe([topic])
        while time.perf_counter() - began < DEADLINE_S:
            message = member.poll(0.05)
            if message is not None and message.error() is None:
                took.append(time.perf_counter() - began)
                break
        while len(took) < count and time.perf_counter() - began < DEADLINE_S:
            member.poll(0.05)

    threads = [threading.Thread(target=run, args=(member,)) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for member in members:
        member.close()
    return max(took) if len(took) == count else None


def table(names: list[str], samples: dict[tuple[str, str, int], list[float | None]]) -> None:
    """Print a row a protocol and size."""
    print(f"{'s until all have read':28}" + "".join(f"{name:>14}" for name in names))
    for protocol, count in sorted({key[1:] for key in samples}):
        medians: dict[str, float | None] = {}
        for name in names:
            values = [one for one in samples[name, protocol, count] if one is not None]
            medians[name] = statistics.median(values) if values else None
        ours = medians.get("mockbroker")
        cells = []
        for name in names:
            value = medians[name]
            cell = "-" if value is None else f"{value:.3f}"
            if value is not None and ours and name != "mockbroker":
                cell += f" ({value / ours:.1f})"
            cells.append(f"{cell:>14}")
        print(f"{protocol + ' x ' + str(count):28}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--members", default="1,3,50")
    parser.add_argument("--peers", default=",".join(peers.available()))
    options = parser.parse_args()
    names = options.peers.split(",")
    samples: dict[tuple[str, str, int], list[float | None]] = {}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(peers.run_peer(name, CONFIG)) for name in names]
        for _ in range(options.rounds):
            for count in map(int, options.members.split(",")):
                for protocol in PROTOCOLS:
                    for peer in running:
                        took = measure(peer.address, protocol, count)
                        samples.setdefault((peer.name, protocol, count), []).append(took)
    table(names, samples)


if __name__ == "__main__":
    main()
