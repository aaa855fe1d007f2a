"""What really happened to every partition: the truth that readers and producers are held against.

The ledger listens to the metadata, keeps the log of each partition that ever was, deleted ones
too, and reads it for itself. Producers tell what they send and what was acknowledged; `operators`
tell which transactions were aborted. `checkers` compare.

Values are unique in a run: a value found twice in one log was appended twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockbroker.metadata.changes import PartitionsAdded, TopicCreated
from mockbroker_protocol.records.batch import iterate_records, verify_crc
from simulation.stage import Observer

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import Change
    from mockbroker.replica.partition import Partition
    from simulation.stage import Wire
    from simulation.world import World


class TrueLog:
    """One partition of one incarnation of a topic; `values[offset]` is None for a marker."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.topic = partition.topic
        self.topic_id = partition.topic_id
        self.index = partition.index
        self.values: list[bytes | None] = []
        self.aborted: dict[int, None] = {}
        self.open_transactions: dict[int, int] = {}
        """The first offset of each, by producer id."""
        self._log: UnifiedLog | None = None

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index} ({self.topic_id.hex()[:6]})"

    @property
    def deleted(self) -> bool:
        return self.partition.deleted

    @property
    def log(self) -> UnifiedLog | None:
        """Its log, also after deletion; None: nothing was ever appended or asked."""
        if self._log is None:
            self._log = self.partition.log
        return self._log

    def catch_up(self) -> list[str]:
        """Read what was appended since; returns what is wrong with it."""
        log = self.log
        wrong: list[str] = []
        if log is None or len(self.values) == log.log_end_offset:
            return wrong
        for header, batch in log.iterate_batches(len(self.values)):
            if not verify_crc(batch, 0, header):
                wrong.append(f"{self}: the checksum of the batch at {header.base_offset} is wrong")
            for record in iterate_records(batch, 0, header):
                if record.offset != len(self.values):
                    wrong.append(f"{self}: record {record.offset} follows {len(self.values) - 1}")
                self.values.append(None if header.is_control else record.value)
        return wrong

    def readable_end(self, *, committed: bool) -> int:
        """Behind the last offset that a reader may have been given by now."""
        if committed:
            return min((len(self.values), *self.open_transactions.values()))
        return len(self.values)

    def visible(self, start: int, end: int, *, committed: bool) -> list[tuple[int, bytes]]:
        """What a reader gets of the offsets from `start` to before `end`."""
        found: list[tuple[int, bytes]] = []
        for offset in range(start, min(end, len(self.values))):
            value = self.values[offset]
            if value is not None and not (committed and offset in self.aborted):
                found.append((offset, value))
        return found


@dataclass(slots=True)
class Acknowledged:
    """A batch that a producer was told is in the log."""

    topic: str
    index: int
    base_offset: int
    values: list[bytes]


class Ledger(Observer):
    """All partitions that ever were, and what producers know."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._logs: dict[tuple[str, int], list[TrueLog]] = {}
        self._unopened: list[TrueLog] = []
        self.sent: dict[bytes, tuple[str, int]] = {}
        self.may_repeat: dict[bytes, None] = {}
        """Values that a producer without idempotence sent again."""
        self.acknowledged: list[Acknowledged] = []
        for topic in world.cluster.metadata.topics.values():
            self._add(topic.name, 0, len(topic.partitions))
        world.cluster.metadata.subscribe(self._on_change)
        world.observers.append(self)

    def incarnations(self, topic: str, index: int) -> list[TrueLog]:
        """The logs of a partition under this name, oldest first."""
        return self._logs.get((topic, index), [])

    def logs(self) -> list[TrueLog]:
        """Every log there ever was."""
        return [log for logs in self._logs.values() for log in logs]

    def live(self, topic: str, index: int) -> TrueLog | None:
        """The log that is there now."""
        logs = self.incarnations(topic, index)
        return logs[-1] if logs and not logs[-1].deleted else None

    def bytes_arrived(self, wire: Wire, count: int) -> None:  # noqa: ARG002 - the observer's
        """Take hold of the logs that were opened, before this may drop them."""
        if self._unopened:
            self._unopened = [log for log in self._unopened if log.log is None and not log.deleted]

    def catch_up(self, log: TrueLog) -> None:
        """Read on in one log."""
        for wrong in log.catch_up():
            self._world.violate(wrong)

    def _on_change(self, change: Change) -> None:
        if isinstance(change, TopicCreated):
            self._add(change.name, 0, len(change.partitions))
        elif isinstance(change, PartitionsAdded):
            self._add(change.name, change.first_index, len(change.partitions))

    def _add(self, topic: str, first_index: int, count: int) -> None:
        for index in range(first_index, first_index + count):
            partition = self._world.broker.services.replicas.partition(topic, index)
            assert partition is not None
            log = TrueLog(partition)
            self._logs.setdefault((topic, index), []).append(log)
            self._unopened.append(log)

    # -- at the end ------------------------------------------------------------------------

    def check(self) -> None:
        """Every log holds what was sent to it, no value twice, and all that was acknowledged."""
        for log in self.logs():
            self.catch_up(log)
            self._check_values(log)
        for batch in self.acknowledged:
            end = batch.base_offset + len(batch.values)
            if not any(
                log.values[batch.base_offset : end] == batch.values
                for log in self.incarnations(batch.topic, batch.index)
            ):
                self._world.violate(
                    f"{batch.values[0]!r} was acknowledged at {batch.base_offset} of "
                    f"{batch.topic}-{batch.index} and is not there"
                )

    def _check_values(self, log: TrueLog) -> None:
        counts = Counter(value for value in log.values if value is not None)
        for value, count in counts.items():
            if self.sent.get(value) != (log.topic, log.index):
                self._world.violate(f"{log} holds {value[:20]!r}, which was not sent to it")
            if count > 1 and value not in self.may_repeat:
                self._world.violate(f"{log} holds {value[:20]!r} {count} times")
