"""Committers of the cluster's simulation: offsets of a group through coordinators that move.

Each commits growing offsets and asks for them back. What was acknowledged is there ever after, at
whichever broker coordinates by then, as far as `GroupBook` asks it of that one; in the end the
last offset is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from simulation.cluster.clients import ClusterClient
from simulation.cluster.group_book import GroupBook

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

FIND_VERSION = 3
COMMIT_VERSION = 8
FETCH_VERSION = 7
RETRIABLE = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # a broker that has not heard of the topic yet
    )
)


class Committer(ClusterClient):
    """Commits for a group of its own name."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.part = self.parts[0]
        self.book = GroupBook(world, truth, name, 1)
        self.acknowledged = 0
        self.tried = 0
        self.checks = 0
        self._coordinator: int | None = None
        self._finishing = False

    def finish(self) -> None:
        """Commit and ask once more: the cluster must let it."""
        self._finishing = True
        self.tried += 1
        if self.stopped and not self.busy:
            self.proceed()

    def has_work(self) -> bool:
        return self._finishing

    def begin(self) -> None:
        if self._coordinator is None:
            self._find()
        elif self.acknowledged < self.tried or self.rng.random() < 0.5:
            self._commit(self._coordinator)
        else:
            self._ask(self._coordinator)

    def _find(self) -> None:
        def found(answer: FindCoordinatorResponse | None) -> None:
            if answer is not None and answer.error_code == ErrorCode.NONE:
                self._coordinator = answer.node_id
            self.later(1.0 if self._coordinator is not None else 100.0)

        request = FindCoordinatorRequest(key=self.name)
        self.ask(self.any_node(), request, FIND_VERSION, FindCoordinatorResponse, found)

    def _commit(self, node: int) -> None:
        if self.acknowledged == self.tried:
            self.tried += 1
        offset = self.tried

        def answered(answer: OffsetCommitResponse | None) -> None:
            error = -1 if answer is None else answer.topics[0].partitions[0].error_code
            self.note(f"commit {offset} at {node}: {error}")
            if error == ErrorCode.NONE:
                self.acknowledged = offset
                self.book.committed(self.part, offset)
                self.later(self.rng.random() * 100)
            else:
                self._again(error)

        partition = OffsetCommitRequestPartition(self.part[1], offset)
        request = OffsetCommitRequest(
            group_id=self.name,
            topics=[OffsetCommitRequestTopic(name=self.part[0], partitions=[partition])],
        )
        self.ask(node, request, COMMIT_VERSION, OffsetCommitResponse, answered)

    def _ask(self, node: int) -> None:
        asked = self.book.ask(node, [self.part])

        def answered(answer: OffsetFetchResponse | None) -> None:
            error = -1 if answer is None else answer.error_code
            if answer is None or error:
                self._again(error)
                return
            data = answer.topics[0].partitions[0]
            self.note(f"finds {data.committed_offset} at {node}")
            self.book.fetched(asked, self.part, data.committed_offset)
            if data.committed_offset < self.acknowledged:
                self._coordinator = None  # it may have been replaced, and not have heard so
                self.later()
                return
            self.checks += 1
            self._finishing = False
            self.later(self.rng.random() * 100)

        request = OffsetFetchRequest(
            group_id=self.name, topics=[OffsetFetchRequestTopic(self.part[0], [self.part[1]])]
        )
        self.ask(node, request, FETCH_VERSION, OffsetFetchResponse, answered)

    def _again(self, error: int) -> None:
        if error != -1 and error not in RETRIABLE:
            self.world.violate(f"{self.name}: its coordinator answers {error}")
        self._coordinator = None
        self.later()
