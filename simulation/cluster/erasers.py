"""Erasers of the cluster's simulation: a compacted topic gets keys that are deleted at once.

Each batch of theirs has a value and then a tombstone, of a key that nobody writes again. So what a
cleaner keeps of it is the tombstone, for as long as `delete.retention.ms` says: see `storage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from simulation.cluster.clients import ClusterClient
from simulation.cluster.plan import COMPACTED
from simulation.cluster.producers import VERSION
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

PAUSE_MS = 100.0
TIMEOUT_MS = 300


class Eraser(ClusterClient):
    """Writes and deletes one key after another; `erased` of them were acknowledged."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, {COMPACTED: plan.all_topics[COMPACTED]})
        self.erased = 0
        self._made = 0

    def begin(self) -> None:
        part = self.rng.choice(self.parts)
        known = self.leaders.get(part)
        if known is None:
            self.learn()
            return
        self._made += 1
        key, now_ms = f"{self.name}:{self._made}".encode(), EPOCH_MS + int(self.world.now_ms)
        batch = build_batch([Record(0, now_ms, key, key), Record(1, now_ms, key, None)])

        def answered(answer: ProduceResponse | None) -> None:
            error = -1 if answer is None else answer.responses[0].partition_responses[0].error_code
            self.note(f"erases {key.decode()} in {part[0]}-{part[1]}: {error}")
            if error:
                self.forget(part)
            else:
                self.erased += 1
            self.later(self.rng.random() * PAUSE_MS)

        topic = ProduceRequestTopic(part[0], bytes(16), [ProduceRequestPartition(part[1], batch)])
        request = ProduceRequest(None, self.rng.choice((1, -1)), TIMEOUT_MS, [topic])
        self.ask(known[0], request, VERSION, ProduceResponse, answered)
