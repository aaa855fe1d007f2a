"""One broker of a topology for so long, under one scenario: what its fetches cost.

Called where the work is spread, with plain values in and out (`run_task`): a broker's task needs
nothing of any other's, since who follows a broker, or reads from it, asks nobody else for that.
Partitions are appended to at random times, drawn from the topology's seed: the same in each
scenario.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.changes import PartitionState
from mockbroker.what_if.broker import EVICTION_MS, SLOTS, Client, SimulatedBroker
from mockbroker.what_if.collecting import dropped_as_a_whole
from mockbroker.what_if.consumer import Consumer
from mockbroker.what_if.costs import Costs, Histogram
from mockbroker.what_if.delays import Moves
from mockbroker.what_if.follower import Follower
from mockbroker.what_if.topology import (
    KIP_74,
    NO_LIMIT,
    NONE,
    SCENARIOS,
    BrokerPart,
    part_of,
    topology_from,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker.replica.partition import Partition
    from mockbroker.what_if.topology import Scenario, Topology

_OVERHEAD: Final = 70
"""Of a batch with one record, about."""


def run_task(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Simulate one broker under some scenarios: the figures of each, as `World.figures` has them.

    `task` has `topology` (`Topology.values`), `broker`, `scenarios` (names), and `part`
    (`BrokerPart` as values) where the broker cannot work it out.
    """
    topology = topology_from(task["topology"])
    part = BrokerPart(**task["part"]) if task.get("part") else part_of(topology, task["broker"])
    wanted = [each for each in SCENARIOS if each.name in task["scenarios"]]
    told: list[dict[str, Any]] = []
    for scenario in wanted:
        before = told[-1] if told else None
        if (
            before is not None
            and scenario.name == KIP_74
            and before["scenario"] == NONE
            and before["largest_bytes"] <= min(topology.fetch_max_bytes, topology.replica_max_bytes)
        ):
            # No answer came to its limit: the same would happen again.
            told.append({**before, "scenario": KIP_74})
            continue
        told.append(dropped_as_a_whole(partial(_figures, topology, part, scenario)))
    return told


def _figures(topology: Topology, part: BrokerPart, scenario: Scenario) -> dict[str, Any]:
    world = World(topology, part, scenario)
    world.run()
    return world.figures()


def batch_of(size_bytes: int) -> bytes:
    """One record in a batch of about that size."""
    value = b"v" * max(0, size_bytes - _OVERHEAD)
    return build_batch([Record(0, 0, None, value, ())])


class World:
    """A broker, its followers and its consumers."""

    def __init__(self, topology: Topology, part: BrokerPart, scenario: Scenario) -> None:
        self._topology = topology
        self._scenario = scenario
        self._random = Random(f"{topology.seed}/{part.broker}/appends")
        self._batch = batch_of(topology.batch_bytes)
        self.broker = SimulatedBroker(
            part.broker,
            _config(topology, scenario),
            seed=topology.seed,
            travel_ms=topology.travel_ms,
            counts_idle=True,
        )
        self._appends = self._bytes_in = 0
        self.follower_costs, self.consumer_costs = Costs(), Costs()
        self._delays = {name: Histogram() for name in DELAYS}
        self._moves: dict[tuple[bytes, int], tuple[Moves, Moves]] = {}
        self._partitions: list[Partition] = []
        self._ids: dict[str, bytes] = {}
        self._make_topics(part)
        if topology.backlog_bytes:
            self._fill(topology.backlog_bytes)
        self._start_followers(part, scenario)
        self._start_consumers(part, scenario)
        self._parts = [len(part.readers), len(self._partitions)]

    def _make_topics(self, part: BrokerPart) -> None:
        for number, (name, replicas) in enumerate(part.topics.items()):
            topic_id = self._ids[name] = topic_id_of(number)
            states = [PartitionState(part.broker, list(nodes), list(nodes)) for nodes in replicas]
            self.broker.create_topic(name, topic_id, states)
            for index in range(len(states)):
                partition = self.broker.partition(name, index)
                partition.open_log()
                partition.high_watermark_listener = self._moved
                self._partitions.append(partition)
                self._moves[topic_id, index] = Moves(), Moves()

    def _start_followers(self, part: BrokerPart, scenario: Scenario) -> None:
        nodes = sorted({node for led in part.topics.values() for nodes in led for node in nodes})
        for node in nodes:
            if node != part.broker:
                follower = Follower(
                    self.broker,
                    node,
                    self.follower_costs,
                    tells_high_watermark=scenario.high_watermarks,
                )
                follower.measure(
                    self._moves,
                    self._delays["follower_records"],
                    self._delays["follower_high_watermark"],
                )
                self.broker.at(0.0, follower.start)

    def _start_consumers(self, part: BrokerPart, scenario: Scenario) -> None:
        max_bytes = self._topology.fetch_max_bytes if scenario.limits else NO_LIMIT
        for number, (name, read) in enumerate(part.readers.items(), start=1):
            keys = [(self._ids[topic], index) for topic, index in read]
            client = Client(number, name, self.consumer_costs)
            consumer = Consumer(self.broker, client, keys, max_bytes)
            consumer.measure(
                self._moves,
                self._delays["consumer_records"],
                self._delays["consumer_high_watermark"],
            )
            self.broker.at(0.0, consumer.start)

    def run(self) -> None:
        """Let the time pass."""
        self._schedule(self._next_appends())
        self.broker.run(self._topology.seconds * 1000)

    def _fill(self, backlog_bytes: int) -> None:
        for partition in self._partitions:
            for _ in range(-(-backlog_bytes // len(self._batch))):
                partition.append_batch(self._batch, AppendOrigin.CLIENT)

    def _next_appends(self) -> Iterator[float]:
        rate = self._topology.change_rate * len(self._partitions) / 1000
        now_ms = 0.0
        while rate:
            now_ms += self._random.expovariate(rate)
            yield now_ms

    def _schedule(self, times: Iterator[float]) -> None:
        time_ms = next(times, None)
        if time_ms is not None and time_ms <= self._topology.seconds * 1000:
            self.broker.at(time_ms, lambda: self._append(times))

    def _append(self, times: Iterator[float]) -> None:
        partition = self._partitions[self._random.randrange(len(self._partitions))]
        partition.append_batch(self._batch, AppendOrigin.CLIENT)
        self._appends += 1
        self._bytes_in += len(self._batch)
        self._schedule(times)

    def _moved(self, partition: Partition) -> None:
        """It was appended to, or its high watermark moved."""
        log = partition.log
        assert log is not None
        ends, marks = self._moves[partition.topic_id, partition.index]
        now_ms = self.broker.clock.now_ms
        ends.note(log.log_end_offset, now_ms)
        marks.note(log.high_watermark, now_ms)

    def figures(self) -> dict[str, Any]:
        """What came of it, as plain values."""
        consumers, partitions = self._parts
        costs = self.follower_costs, self.consumer_costs
        return {
            "scenario": self._scenario.name,
            "broker": self.broker.broker_id,
            "partitions": partitions,
            "consumers": consumers,
            "appends": self._appends,
            "appended_bytes": self._bytes_in,
            "sessions": self.broker.sessions,
            "session_events": self.broker.session_events,
            "followers": self.follower_costs.values(),
            "readers": self.consumer_costs.values(),
            "largest_bytes": max(each.largest_bytes for each in costs),
            "errors": _errors(*costs),
            "delays": {name: delays.buckets for name, delays in self._delays.items()},
        }


DELAYS: Final = (
    "follower_records",
    "follower_high_watermark",
    "consumer_records",
    "consumer_high_watermark",
)
"""From an append, or a move of the high watermark, until they know."""


def topic_id_of(number: int) -> bytes:
    """Some id for a topic."""
    return (number + 1).to_bytes(16, "big")


def _errors(*costs: Costs) -> dict[int, int]:
    total = Costs()
    for each in costs:
        total.add(each)
    return total.errors


def _config(topology: Topology, scenario: Scenario) -> dict[str, str]:
    return {
        SLOTS: str(topology.slots if scenario.sessions else 0),
        EVICTION_MS: str(topology.eviction_ms),
        "fetch.max.bytes": str(NO_LIMIT),
        "replica.fetch.response.max.bytes": str(
            topology.replica_max_bytes if scenario.limits else NO_LIMIT
        ),
    }
