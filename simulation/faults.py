"""Which faults a run has, and how often: each seed draws a few kinds and leaves the others out.

Swarm testing: a run in which everything goes wrong all the time reaches fewer states than many
runs that each break a few things. `draw` makes the plan from the seed's own stream; `simulation`
hands its parts to the world and the actors.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from simulation.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KINDS = (
    "cut",
    "lose_answers",
    "hang_up_parked",
    "replay",
    "impatient",
    "pipeline",
    "wrong_family",
    "resume_after_loss",
    "pause",
    "delete_topics",
    "add_partitions",
    "delete_records",
    "leader_epochs",
    "stall",
    "transactions",
    "crowd",
    "thief",
    "slow_motion",
    "split",
    "delays",
    "tiny_segments",
    "tiny_budget",
)
SLOW_MOTION = 200.0
_SIZE_OFF: dict[str, tuple[str, float | None]] = {
    "delays": ("max_delay_ms", 0.0),
    "split": ("split_chance", 0.0),
    "cut": ("cut_every_ms", 0.0),
    "lose_answers": ("lose_chance", 0.0),
    "tiny_segments": ("segment_bytes", None),
    "tiny_budget": ("max_bytes", None),
    "slow_motion": ("time_scale", 1.0),
}
"""The size that a kind draws, and what it is without."""


@dataclass(slots=True)
class NetworkFaults:
    """How the network treats bytes; by default it is a perfect one."""

    max_delay_ms: float = 0.0
    split_chance: float = 0.0
    cut_every_ms: float = 0.0
    lose_chance: float = 0.0

    def loses(self, rng: Random) -> bool:
        """Whether the connection breaks under the answer that was just written."""
        return self.lose_chance > 0 and rng.random() < self.lose_chance

    def delay_ms(self, rng: Random) -> float:
        """How long the next piece takes."""
        return rng.random() * self.max_delay_ms if self.max_delay_ms else 0.0

    def pieces(self, data: bytes, rng: Random) -> list[bytes]:
        """`data` as the network carries it: whole or cut anywhere."""
        if not self.split_chance or len(data) < 2 or rng.random() >= self.split_chance:
            return [data]
        first = rng.randrange(1, len(data))
        second = rng.randrange(first, len(data))
        return [piece for piece in (data[:first], data[first:second], data[second:]) if piece]


class SwarmPlan:
    """What is on in this run. `on` holds kinds of `KINDS`; the rest are sizes and rates.

    `time_scale` stretches every wait and pause, so that sessions grow old enough to be evicted.
    """

    def __init__(self, rng: Random) -> None:
        share = rng.choice((0.0, 0.15, 0.3, 0.3, 0.5))
        self.on: dict[str, bool] = {kind: rng.random() < share for kind in KINDS}
        on = self.on
        if on["stall"]:
            on["add_partitions"] = False  # a second replica would be wanted of each
        self.time_scale = SLOW_MOTION if on["slow_motion"] else 1.0
        self.active_ms = rng.choice((25, 50, 100))
        self.rounds = rng.choice((1, 1, 1, 2))
        self.topics = {f"t{n}": rng.randint(1, 4) for n in range(rng.randint(1, 3))}
        self.consumers = rng.randint(1, 3)
        self.producers = rng.randint(1, 2)
        self.cache_slots = rng.choice((8, 8, 16, 1000, 7))
        self.eviction_ms = rng.choice((120_000, int(20 * self.time_scale)))
        self.segment_bytes = rng.choice((700, 2000)) if on["tiny_segments"] else None
        self.max_bytes = rng.choice((0, 100, 300, 1000)) if on["tiny_budget"] else None
        self.network = NetworkFaults(
            max_delay_ms=rng.choice((0.5, 3.0, 10.0)) if on["delays"] else 0.0,
            split_chance=0.3 if on["split"] else 0.0,
            cut_every_ms=rng.choice((10.0, 30.0)) if on["cut"] else 0.0,
            lose_chance=rng.choice((0.02, 0.1)) if on["lose_answers"] else 0.0,
        )
        base = rng.random()
        self.limits = Limits(Random(f"{base}/limits"), self.on)
        self.without: Sequence[str] = ()
        """Clients that a shrunk run does without, by name."""

    def change(self, changes: Mapping[str, object]) -> None:
        """Take other sizes than were drawn, by name; `off` are kinds to turn off."""
        for name, size in changes.items():
            if name != "off":
                assert hasattr(self, name), name
                setattr(self, name, size)
                continue
            assert isinstance(size, list)
            for kind in size:
                self.on[kind] = False
                if kind in _SIZE_OFF:
                    of_kind, value = _SIZE_OFF[kind]
                    owner = self.network if hasattr(self.network, of_kind) else self
                    setattr(owner, of_kind, value)

    def __str__(self) -> str:
        kinds = " ".join(kind for kind, is_on in self.on.items() if is_on)
        return (
            f"topics {self.topics}, {self.consumers} consumers, {self.producers} producers, "
            f"{self.cache_slots} slots, {self.rounds} x {self.active_ms} ms, faults: {kinds or '-'}"
        )
