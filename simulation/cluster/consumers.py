"""Consumers of the cluster's simulation: each reads all partitions, from leaders or its rack.

All that they are given must be committed; a reader that is sent to a follower and does not get on
there goes back to the leader. In the end each must reach the end of every partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from simulation.cluster.clients import ClusterClient
from simulation.record_reader import read_records

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

VERSION = 12
LIST_OFFSETS_VERSION = 6
EARLIEST = -2
MAX_WAIT_MS = 100
PAUSE_MS = 100
NO_LIMIT = 1 << 20


def fetch_of(part: tuple[str, int], epoch: int, offset: int, *, committed: bool) -> FetchRequest:
    """Fetch one partition without a session; `epoch` is its leader's, or -1."""
    partition = FetchRequestPartition(
        partition=part[1],
        current_leader_epoch=epoch,
        fetch_offset=offset,
        partition_max_bytes=NO_LIMIT,
    )
    return FetchRequest(
        max_wait_ms=MAX_WAIT_MS,
        min_bytes=1,
        max_bytes=NO_LIMIT,
        isolation_level=int(committed),
        session_epoch=-1,
        topics=[FetchRequestTopic(topic=part[0], partitions=[partition])],
    )


class ClusterConsumer(ClusterClient):
    """Reads one partition after another without a session; `racks` may send it to followers.

    A subclass may read `committed` records alone, and is told what it is given.
    """

    committed = False

    reads_on = True

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.all_topics)
        self.rack = rng.choice(("", *dict.fromkeys(plan.racks)))
        self.tells_epoch = rng.random() < 0.5
        self.positions = dict.fromkeys(self.parts, 0)
        self.records = self.from_followers = 0
        self._preferred: dict[tuple[str, int], int] = {}
        self._next = 0

    def begin(self) -> None:
        part = self.parts[self._next % len(self.parts)]
        known = self.leaders.get(part)
        if known is None:
            self.learn()
            return
        self._next += 1
        node = self._preferred.get(part, known[0])
        epoch = known[1] if self.tells_epoch else -1
        request = fetch_of(part, epoch, self.positions[part], committed=self.committed)
        request.rack_id = self.rack

        def answered(answer: FetchResponse | None) -> None:
            if answer is None or answer.error_code or not answer.responses:
                self._turn_away(part)
                self.later()
            else:
                self._take(part, node, answer.responses[0].partitions[0])

        self.ask(node, request, VERSION, FetchResponse, answered)

    def given(self, part: tuple[str, int], value: bytes) -> None:
        """The next record of a partition."""

    def begins_again(self, part: tuple[str, int]) -> None:
        """It reads a partition from its start."""

    def _take(self, part: tuple[str, int], node: int, data: FetchResponsePartition) -> None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            # A follower, or a leader of before, has less; after an unclean election all have. Or
            # what it wants was deleted.
            if part in self._preferred:
                self._turn_away(part)
                self.later()
            else:
                self._begin_anew(part, node)
            return
        if data.error_code:
            self._turn_away(part)
            self.later()
            return
        if data.preferred_read_replica >= 0:
            self._preferred[part] = data.preferred_read_replica
            self.later(1.0)
            return
        reading = read_records(data, self.positions[part], committed=self.committed)
        if reading.wrong is not None:
            self.world.violate(f"{self.name}: {reading.wrong}")
        for offset, value in reading.records:
            self.truth.was_read(self.name, *part, offset, value)
            self.given(part, value)
        if reading.records:
            self.note(f"read {part[0]}-{part[1]} to {reading.end} at {node}")
            self.records += len(reading.records)
            if part in self._preferred:
                self.from_followers += len(reading.records)
        self.positions[part] = reading.end
        if self.rng.random() < 0.05:
            self._turn_away(part)  # client.metadata.max.age.ms is over
        self.later(self.rng.random() * PAUSE_MS)

    def _begin_anew(self, part: tuple[str, int], node: int) -> None:
        """Ask where the log begins (auto.offset.reset)."""
        topics = [ListOffsetsTopic(part[0], [ListOffsetsPartition(part[1], timestamp=EARLIEST)])]

        def found(answer: ListOffsetsResponse | None) -> None:
            data = None if answer is None else answer.topics[0].partitions[0]
            if data is not None and data.error_code == ErrorCode.NONE:
                self.positions[part] = data.offset
                self.begins_again(part)
            self._turn_away(part)
            self.later()

        request = ListOffsetsRequest(-1, 0, topics)
        self.ask(node, request, LIST_OFFSETS_VERSION, ListOffsetsResponse, found)

    def _turn_away(self, part: tuple[str, int]) -> None:
        """Ask for the leader again, and begin there."""
        self._preferred.pop(part, None)
        self.forget(part)
