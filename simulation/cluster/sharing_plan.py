"""Which groups of a cluster's run share a partition, and how they do: drawn from the seed.

Their topic has one partition, and its records have keys; a group reads it by ranges of keys or by
leases, and commits single offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

HABITS = ("crash", "leave", "slow", "opted_out", "sessions", "positions")


class SharingTimes:
    """What the brokers say of shared partitions."""

    def __init__(self, rng: Random) -> None:
        self.groups = rng.choice((1, 1, 2))
        self.lease_ms = rng.choice((150, 500, 3_000))
        self.most_ranges = rng.choice((60_000, 60_000, 4))
        self.cache_bytes = rng.choice((1 << 20, 500))
        self.folds = rng.random() < 0.8

    def config(self) -> dict[str, str]:
        """The brokers' config."""
        return {
            "coop.extension.enable": "true",
            "coop.fetch.lease.ms": str(self.lease_ms),
            "individual.commit.max.ranges.per.group": str(self.most_ranges),
            "max.bytes.key.range.cache": str(self.cache_bytes),
            "range.fetch.fold.empty": str(self.folds).lower(),
        }


class SharingPlan:
    """One group; the chances are per step of a member."""

    def __init__(self, rng: Random) -> None:
        self.protocol = rng.choice(("alone", "classic", "classic", "consumer", "consumer"))
        """How members come: "alone" is without a group, JoinGroup, or ConsumerGroupHeartbeat."""
        self.by_leases = rng.random() < 0.4
        """Whether the broker deals records out, or each member reads its ranges of keys."""
        self.members = rng.choice((2, 2, 3, 4))
        share = rng.choice((0.0, 0.3, 0.6))
        self.on = {habit: rng.random() < share for habit in HABITS}
        self.read_committed = rng.random() < 0.5
        self.session_timeout_ms = rng.choice((300, 800, 3_000))
        self.rebalance_timeout_ms = rng.choice((150, 400, 900))
        self.pause_ms = rng.choice((20.0, 60.0))
        self.processors = rng.choice((0, 1, 1))
        """Those that commit offsets in transactions, where there are any."""

    def __str__(self) -> str:
        habits = "".join(f" {habit}" for habit, is_on in self.on.items() if is_on)
        by = "leases" if self.by_leases else "ranges"
        return f"{self.members} {self.protocol} by {by}{habits}"
