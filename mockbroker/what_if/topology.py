"""A cluster as a description, and what of it one broker is concerned with.

`simulate` runs one `BrokerPart` under one `Scenario`. A `Topology` is a few numbers, so that a
process that is to simulate a broker is told these and works the rest out; or it has its
partitions' replicas listed, as a cluster's metadata give them.

Without a list, replicas are placed as Kafka places them without racks (AdminUtils): leaders in
turn, followers behind the leader, one further with each round. Each group's consumers share all
partitions in ranges.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from mockbroker.what_if.errors import WhatIfError

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_LIMIT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Scenario:
    """What of the protocol is there: KIP-74's limits of an answer, KIP-227's sessions, KIP-1166."""

    name: str
    limits: bool = True
    sessions: bool = True
    high_watermarks: bool = True


NONE: Final = "none"
KIP_74: Final = "kip-74"
SCENARIOS: Final = (
    Scenario(NONE, limits=False, sessions=False, high_watermarks=False),
    Scenario(KIP_74, limits=True, sessions=False, high_watermarks=False),
    Scenario("kip-227", limits=True, sessions=True, high_watermarks=False),
    Scenario("kip-1166", limits=True, sessions=True, high_watermarks=True),
)
"""Each adds to the one before, in the order in which Kafka had them."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A cluster and its traffic.

    `change_rate` is how often a second a partition is appended to, on average; `batch_bytes` what
    is appended then; `backlog_bytes` what each partition holds at the start, which everybody has
    yet to read. `replicas` lists topic, index and replicas, leader first, of each partition; empty:
    they are placed. Times are in ms.
    """

    brokers: int = 3
    partitions: int = 30
    replication: int = 3
    topics: int = 0
    consumers: int = 3
    groups: int = 1
    change_rate: float = 0.05
    batch_bytes: int = 1000
    backlog_bytes: int = 0
    seconds: float = 60.0
    travel_ms: float = 0.5
    slots: int = 1000
    eviction_ms: int = 120_000
    fetch_max_bytes: int = 50 << 20
    replica_max_bytes: int = 10 << 20
    seed: int = 0
    replicas: list[tuple[str, int, list[int]]] = field(default_factory=list)

    def values(self) -> dict[str, Any]:
        """As plain values, for `topology_from`."""
        return asdict(self)

    def resized(self, share: float) -> Topology:
        """The same cluster with that share of its partitions, and all else."""
        values = self.values()
        if self.replicas:
            values["replicas"] = self.replicas[: max(1, round(len(self.replicas) * share))]
        values["partitions"] = max(1, round(self.partitions * share))
        return Topology(**values)


_POSITIVE: Final = ("brokers", "partitions", "replication", "groups", "seconds")
_NOT_NEGATIVE: Final = (
    "topics", "consumers", "change_rate", "backlog_bytes", "travel_ms", "slots", "eviction_ms",
)  # fmt: skip
MIN_BATCH_BYTES: Final = 70
MAX_BATCH_BYTES: Final = 1_000_000
MIN_LIMIT_BYTES: Final = 1024


def topology_from(values: Mapping[str, object]) -> Topology:
    """A topology of plain values. Raises WhatIfError, which names the value."""
    known = {each.name: each for each in fields(Topology)}
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise WhatIfError(f"{name}: no such value (there are {', '.join(sorted(known))})")
        given[name] = _replicas(value) if name == "replicas" else _number(name, value)
    made = Topology(**given)
    _check(made)
    return made


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WhatIfError(f"{name}: {value!r} is no number")
    if name not in {"change_rate", "seconds", "travel_ms"} and value != int(value):
        raise WhatIfError(f"{name}: {value!r} is no whole number")
    return value


def _replicas(value: object) -> list[tuple[str, int, list[int]]]:
    if not isinstance(value, list):
        raise WhatIfError("replicas: not a list of [topic, partition, [broker, …]]")
    placed = []
    for each in value:
        match each:
            case [str(topic), int(index), [int(), *_] as nodes] if all(
                isinstance(node, int) and node >= 0 for node in nodes
            ) and len(set(nodes)) == len(nodes):
                placed.append((topic, index, list(nodes)))
            case _:
                raise WhatIfError(f"replicas: {each!r} is not [topic, partition, [broker, …]]")
    return placed


def _check(made: Topology) -> None:
    for name in _POSITIVE:
        if getattr(made, name) <= 0:
            raise WhatIfError(f"{name}: must be more than 0")
    for name in _NOT_NEGATIVE:
        if getattr(made, name) < 0:
            raise WhatIfError(f"{name}: must not be negative")
    if made.replication > made.brokers and not made.replicas:
        raise WhatIfError(f"replication: {made.replication}, of {made.brokers} brokers")
    if not MIN_BATCH_BYTES <= made.batch_bytes <= MAX_BATCH_BYTES:
        raise WhatIfError(f"batch_bytes: must be from {MIN_BATCH_BYTES} to {MAX_BATCH_BYTES}")
    for name in ("fetch_max_bytes", "replica_max_bytes"):
        if not MIN_LIMIT_BYTES <= getattr(made, name) <= NO_LIMIT:
            raise WhatIfError(f"{name}: must be from {MIN_LIMIT_BYTES} to {NO_LIMIT}")


# -- one broker ------------------------------------------------------------------------------


@dataclass(slots=True)
class BrokerPart:
    """What one broker leads, and who reads it.

    `topics` holds the replicas of each partition, leader first, by the topic's name. Partitions are
    numbered anew from 0: a number takes the same room on the wire. `readers` says which consumer
    reads which, by topic and number.
    """

    broker: int
    topics: dict[str, list[list[int]]] = field(default_factory=dict)
    readers: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def add(self, topic: str, nodes: list[int], readers: list[str]) -> None:
        """It leads this one, too."""
        led = self.topics.setdefault(topic, [])
        for reader in readers:
            self.readers.setdefault(reader, []).append((topic, len(led)))
        led.append(nodes)


def brokers_of(topology: Topology) -> list[int]:
    """The ids of those that lead something."""
    if topology.replicas:
        return sorted({nodes[0] for _, _, nodes in topology.replicas})
    return list(range(1, min(topology.brokers, topology.partitions) + 1))


def part_of(topology: Topology, broker: int) -> BrokerPart:
    """What that broker is concerned with."""
    if topology.replicas:
        return listed_parts(topology)[broker]
    part = BrokerPart(broker)
    for number, name, nodes in _placed(topology, broker):
        part.add(name, nodes, _readers(topology, number))
    return part


def listed_parts(topology: Topology) -> dict[int, BrokerPart]:
    """Of a topology whose replicas are listed the part of each broker that leads something."""
    parts: dict[int, BrokerPart] = {}
    for number, (name, _, nodes) in enumerate(topology.replicas):
        part = parts.setdefault(nodes[0], BrokerPart(nodes[0]))
        part.add(name, nodes, _readers(topology, number))
    return parts


def _placed(topology: Topology, broker: int) -> list[tuple[int, str, list[int]]]:
    brokers, partitions = topology.brokers, topology.partitions
    of_topic = -(-partitions // (topology.topics or max(1, partitions // 100)))
    first = broker - 1
    led = []
    for turn, number in enumerate(range(first, partitions, brokers)):
        nodes = [
            first,
            *(
                (first + 1 + (turn + each) % (brokers - 1)) % brokers
                for each in range(topology.replication - 1)
            ),
        ]
        led.append((number, f"topic-{number // of_topic:05}", [node + 1 for node in nodes]))
    return led


def _readers(topology: Topology, number: int) -> list[str]:
    """The consumers of this partition, one a group."""
    partitions = len(topology.replicas) or topology.partitions
    readers = []
    for group in range(topology.groups):
        members = topology.consumers // topology.groups
        members += group < topology.consumers % topology.groups
        if members:
            readers.append(f"consumer-{group}-{number * members // partitions}")
    return readers
