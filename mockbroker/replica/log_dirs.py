"""In which of the node's log directories each replica is said to lie (KIP-113).

Nothing is on a disk; the names of log.dirs are kept because clients list and choose them. The
APIs on log directories ask. A replica is placed when that is first asked for: where it was wanted,
else where the fewest are, cordoned directories aside (KIP-1066, Kafka: LogManager.nextLogDirs).

Invariant: a placed replica lies in one of the directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.replica.partition import Partition


class HostedPartitions(Protocol):
    """Which partitions have a replica on this node: `ReplicaManager` says it."""

    def partition(self, topic: str, index: int) -> Partition | None: ...

    def all_partitions(self) -> list[Partition]: ...


class LogDirsMark(NamedTuple):
    """Where replicas lay, by topic id and index, and where those to come were wanted, by name."""

    placed: dict[tuple[bytes, int], str]
    wanted: dict[tuple[str, int], str]


class LogDirs:
    """The directories of one node."""

    __slots__ = ("_config", "_placed", "_replicas", "_wanted")

    def __init__(self, config: BrokerConfig, replicas: HostedPartitions) -> None:
        self._config = config
        self._replicas = replicas
        self._placed: dict[tuple[bytes, int], str] = {}
        self._wanted: dict[tuple[str, int], str] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The directories as configured, each once."""
        name = "log.dirs" if self._config.value("log.dirs") is not None else "log.dir"
        return tuple(dict.fromkeys(self._config.list(name)))

    def is_cordoned(self, path: str) -> bool:
        """Whether no new replica is put there."""
        cordoned = self._config.list("cordoned.log.dirs")
        return path in cordoned or "*" in cordoned

    def contents(self) -> dict[str, list[Partition]]:
        """The replicas in each directory, in the order in which they came to be."""
        found: dict[str, list[Partition]] = {path: [] for path in self.paths}
        hosted = self._replicas.all_partitions()
        placed, self._placed = self._placed, {}
        homeless = []
        for partition in hosted:
            key = (partition.topic_id, partition.index)
            path = placed.get(key)
            if path is None:
                homeless.append(partition)
            else:
                self._placed[key] = path
                found[path].append(partition)
        if homeless:
            usable = [path for path in found if not self.is_cordoned(path)] or list(found)
            for partition in homeless:
                found[self._place(partition, found, usable)].append(partition)
        return found

    def move(self, topic: str, index: int, path: str) -> None:
        """Put a replica into one of `paths`, now or when it comes to be. It is there at once."""
        self.contents()
        partition = self._replicas.partition(topic, index)
        if partition is None:
            self._wanted[topic, index] = path
        else:
            self._placed[partition.topic_id, partition.index] = path

    def mark(self) -> LogDirsMark:
        """How it is now."""
        return LogDirsMark(dict(self._placed), dict(self._wanted))

    def back_to(self, mark: LogDirsMark) -> None:
        """Let it be so again."""
        self._placed, self._wanted = dict(mark.placed), dict(mark.wanted)

    def _place(
        self, partition: Partition, found: dict[str, list[Partition]], usable: list[str]
    ) -> str:
        path = self._wanted.pop((partition.topic, partition.index), None)
        if path is None:
            path = min(usable, key=lambda each: len(found[each]))
        self._placed[partition.topic_id, partition.index] = path
        return path
