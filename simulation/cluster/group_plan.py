"""Which groups a cluster's run has, and how their members behave: drawn from the seed.

A run has one for each of `GROUP_KINDS` that is on. `protocol` is how members join: "eager" and
"cooperative" by JoinGroup, "consumer" by ConsumerGroupHeartbeat, "mixed" by either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

GROUP_KINDS: dict[str, tuple[str, ...]] = {
    "classic_group": ("eager", "cooperative"),
    "consumer_group": ("consumer", "consumer", "mixed"),
}
"""Kinds of `plan.CREW_KINDS`, and the protocols that each draws from."""
HABITS = ("static", "leave", "crash", "slow", "regex", "some_topics", "restless")
REGEXES = ("t.*", "t[0-9]", "t0|t1", "[tx].*")


class GroupPlan:
    """One group; the chances are per step of a member."""

    def __init__(self, rng: Random, protocols: Sequence[str]) -> None:
        self.protocol = rng.choice(protocols)
        self.cooperative = self.protocol == "cooperative" or (
            self.protocol == "mixed" and rng.random() < 0.5
        )
        """Whether its classic members keep what they have while they join again."""
        self.members = rng.choice((1, 2, 2, 3, 4))
        share = rng.choice((0.0, 0.3, 0.6))
        self.on = {habit: rng.random() < share for habit in HABITS}
        self.stable_chance = rng.choice((0.0, 0.5, 1.0))
        """How often offsets are fetched with RequireStable."""
        self.session_timeout_ms = rng.choice((300, 800, 3_000))
        self.rebalance_timeout_ms = rng.choice((150, 400, 900))
        self.pause_ms = rng.choice((40.0, 120.0))
        self.admin = rng.random() < 0.4
        """Whether somebody deletes its offsets, its members or the group."""

    @property
    def is_classic(self) -> bool:
        """Whether no member comes by ConsumerGroupHeartbeat."""
        return self.protocol in ("eager", "cooperative")

    def speaks_classic(self, rng: Random) -> bool:
        """Whether the next member comes by JoinGroup."""
        return self.is_classic or (self.protocol == "mixed" and rng.random() < 0.5)

    def __str__(self) -> str:
        habits = " ".join(habit for habit, is_on in self.on.items() if is_on)
        admin = " admin" if self.admin else ""
        return f"{self.protocol} of {self.members}{admin}{' ' if habits else ''}{habits}"


class GroupTimes:
    """What the brokers say of groups; `skewed`: their clocks may differ much."""

    def __init__(self, rng: Random, *, skewed: bool) -> None:
        self.initial_delay_ms = rng.choice((0, 100))
        self.commit_timeout_ms = rng.choice((150, 600, 5_000))
        # The interval is measured by the clock of who coordinates.
        self.assignment_interval_ms = rng.choice((0, 0, 0 if skewed else 200))
        self.consumer_session_timeout_ms = rng.choice((300, 800, 3_000))
        self.max_size = rng.choice((1_000, 1_000, 4, 3, 2))
        """Of classic groups: they have no more members, but for those whom nobody misses yet."""

    def config(self) -> dict[str, str]:
        """The brokers' config."""
        session_ms = str(self.consumer_session_timeout_ms)
        return {
            "offsets.commit.timeout.ms": str(self.commit_timeout_ms),
            "group.initial.rebalance.delay.ms": str(self.initial_delay_ms),
            "group.min.session.timeout.ms": "10",
            "group.max.size": str(self.max_size),
            "group.consumer.min.session.timeout.ms": "10",
            "group.consumer.session.timeout.ms": session_ms,
            "group.consumer.min.heartbeat.interval.ms": "10",
            "group.consumer.heartbeat.interval.ms": "50",
            "group.consumer.assignment.interval.ms": str(self.assignment_interval_ms),
            "group.consumer.migration.policy": "BIDIRECTIONAL",
        }
