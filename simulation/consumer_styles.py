"""How the consumers of a run fetch, and how they misbehave: drawn from the seed and the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from simulation.faults import SwarmPlan

FIRST_VERSION_WITH_SESSIONS = 7
NO_LIMIT = 1 << 20
"""More than any log of a run holds."""
WAITS_FOR_AS_MUCH = 150
"""The bytes that who waits for as much as it had last begins with."""


class ConsumerStyle:
    """How one consumer fetches; the chances are per poll."""

    def __init__(self, rng: Random, plan: SwarmPlan) -> None:
        on = plan.on
        self.version = rng.choice((4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 13, 14, 15, 16, 17, 18, 18))
        self.sessionless = self.version < FIRST_VERSION_WITH_SESSIONS or rng.random() < 0.15
        self.committed = rng.random() < 0.3
        self.max_wait_ms = int(rng.choice((0, 5, 20, 50)) * plan.time_scale)
        self.min_bytes = rng.choice((0, 1, 1, 1, WAITS_FOR_AS_MUCH, 1000))
        self.waits_for_as_much = self.min_bytes == WAITS_FOR_AS_MUCH
        """Whether the next answer is to have as many bytes as the last: to the byte, at times."""
        self.max_bytes = NO_LIMIT
        self.partition_max_bytes = NO_LIMIT
        if plan.max_bytes is not None:
            self.max_bytes = rng.choice((plan.max_bytes, NO_LIMIT))
            self.partition_max_bytes = rng.choice((plan.max_bytes, NO_LIMIT))
        self.pause_ms = rng.choice((2.0, 5.0, 15.0)) * plan.time_scale
        self.sends_leader_epochs = rng.random() < 0.5
        self.sends_high_watermarks = rng.random() < 0.3
        """Whether it tells what it knows, as replicas may by KIP-1166."""
        self.stubborn = rng.random() < 0.5
        """Whether it goes on asking for topics that the metadata no longer have."""
        self.check_chance = 0.3
        self.hang_up_chance = 0.1 if on["hang_up_parked"] else 0.0
        self.replay_chance = 0.1 if on["replay"] else 0.0
        self.impatient_chance = 0.1 if on["impatient"] else 0.0
        self.wrong_family_chance = 0.05 if on["wrong_family"] else 0.0
        self.resume_chance = 0.5 if on["resume_after_loss"] else 0.0
        self.pipeline_chance = 0.1 if on["pipeline"] else 0.0
        self.pause_chance = 0.15 if on["pause"] else 0.0
        self.keeps_epochs = not (on["replay"] or on["impatient"] or on["resume_after_loss"])
        """Whether nobody ever sends an epoch that is not the session's."""

    def behave(self) -> None:
        """No more faults of its own."""
        self.hang_up_chance = self.replay_chance = self.impatient_chance = 0.0
        self.wrong_family_chance = self.pause_chance = self.resume_chance = 0.0
        self.pipeline_chance = 0.0
