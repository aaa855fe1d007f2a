"""Trials: something of a broker is tried now and then, beside the cluster.

`log_trials`, `follower_trials`, `replica_trials` and `wait_trials` say what, and what must come
of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.node.broker import Broker


class Trials(ABC):
    """Trials of one kind: `chance` is how likely one is made at a look."""

    chance: ClassVar[float]

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.tried = 0

    def look(self, broker: Broker) -> Iterator[str]:
        """What was wrong, if one was made."""
        if self._rng.random() < self.chance:
            yield from self.try_one(broker)

    @abstractmethod
    def try_one(self, broker: Broker) -> Iterator[str]:
        """Make one, if the broker has something to try it on."""
