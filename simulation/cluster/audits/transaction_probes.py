"""Questions to what coordinators of transactions are made of, beside a run: see the four rooms.

Each round one broker's ids are asked about, and one of the partitions that it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.audits.decision_probes import DecisionProbes
from simulation.cluster.audits.marker_probes import MarkerProbes
from simulation.cluster.audits.shard_probes import ShardProbes
from simulation.cluster.audits.verification_probes import VerificationProbes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.node.broker import Broker

DECISIONS, SHARDS = 4, 2
"""So many at a time; each takes microseconds."""


class TransactionProbes:
    """Asks; `look` tells what is wrong."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.decisions = DecisionProbes(rng)
        self.shards = ShardProbes(rng)
        self.markers = MarkerProbes(rng)
        self.verifications = VerificationProbes(rng)

    def look(self, broker: Broker) -> Iterator[str]:
        """Ask a broker's rooms."""
        services = broker.services
        if not services.transactions.in_use:
            return
        ids = [
            one
            for shard in services.transactions.service.runtime.shards()
            for one in shard.transactions.values()
        ]
        yield from self.verifications.look(broker)
        if not ids:
            return
        now_ms = services.clock.wall_ms()
        for _ in range(DECISIONS):
            yield from self.decisions.look(self._rng.choice(ids), now_ms)
        for _ in range(SHARDS):
            yield from self.shards.look(self._rng.choice(ids), services.config, services.clock)
        yield from self.markers.look(broker, self._rng.choice(ids))
