"""Readers of committed records (read_committed): what each was given, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.consumers import ClusterConsumer

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.transaction_ledger import Part
    from simulation.cluster.transactors import Setting


class CommittedReader(ClusterConsumer):
    """A consumer that is never given what may still be aborted."""

    committed = True

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        super().__init__(setting.world, name, rng, setting.truth, setting.plan)
        self._ledger = setting.ledger
        self.taken: dict[Part, list[bytes]] = {part: [] for part in self.parts}

    def given(self, part: Part, value: bytes) -> None:
        self.taken[part].append(value)
        self._ledger.was_read(self.name, value)

    def begins_again(self, part: Part) -> None:
        self.taken[part].clear()
