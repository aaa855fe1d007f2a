"""What fetches cost, as numbers that can be added up over clients, brokers and processes.

`broker` counts into the `Costs` of each client, `delays` into `Histogram`s. Both become plain
values (`values`, `buckets`) to leave a process, and add up again behind it.
"""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STEP: Final = 1.1
"""A bucket's upper end is so much its lower one: quantiles are at most a tenth too high."""
_LEAST_MS: Final = 0.01
_LOG_STEP: Final = log(STEP)


class Costs:
    """Sums of polls. Bytes are those on the wire, lengths of frames included.

    `looked_at` counts the partitions that the broker read for them, which is what a poll costs in
    CPU; `named` those that requests named, `told` those in the answers. `largest_bytes` is the
    largest answer. `errors` counts answers by the error at their top, `timeouts` polls whose wait
    ended without anything to tell.
    """

    __slots__ = (
        "errors",
        "largest_bytes",
        "looked_at",
        "named",
        "polls",
        "records_bytes",
        "request_bytes",
        "response_bytes",
        "timeouts",
        "told",
        "waits",
    )

    SUMS: Final = (
        "polls",
        "request_bytes",
        "response_bytes",
        "records_bytes",
        "named",
        "told",
        "looked_at",
        "timeouts",
    )

    def __init__(self) -> None:
        self.polls = 0
        self.request_bytes = 0
        self.response_bytes = 0
        self.records_bytes = 0
        self.named = 0
        self.told = 0
        self.looked_at = 0
        self.timeouts = 0
        self.largest_bytes = 0
        self.errors: dict[int, int] = {}
        self.waits = Histogram()
        """Of the polls that were played: from arrival to answer."""

    def values(self) -> dict[str, int]:
        """All but errors and waits."""
        return {
            **{name: getattr(self, name) for name in self.SUMS},
            "largest_bytes": self.largest_bytes,
        }

    def add(self, other: Costs) -> None:
        """Those of another client too."""
        for name in self.SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_bytes = max(self.largest_bytes, other.largest_bytes)
        for error, count in other.errors.items():
            self.errors[error] = self.errors.get(error, 0) + count
        self.waits.add(other.waits.buckets)


class Histogram:
    """Durations in ms, by buckets that grow by a tenth. Bucket -1 holds those of nothing."""

    __slots__ = ("buckets",)

    def __init__(self, buckets: Mapping[int, int] | None = None) -> None:
        self.buckets: dict[int, int] = dict(buckets or {})

    def note(self, duration_ms: float, count: int = 1) -> None:
        """Count a duration."""
        bucket = -1
        if duration_ms > 0:
            bucket = max(0, ceil(log(duration_ms / _LEAST_MS) / _LOG_STEP - 1e-9))
        self.buckets[bucket] = self.buckets.get(bucket, 0) + count

    def add(self, buckets: Mapping[int, int]) -> None:
        """Those of another one too."""
        for bucket, count in buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.buckets.values())

    def quantiles(self, shares: Iterable[float]) -> list[float | None]:
        """What each share of them does not exceed; None when there are none."""
        total = self.count
        ordered = sorted(self.buckets.items())
        found: list[float | None] = []
        for share in shares:
            seen = 0
            value: float | None = None
            for bucket, count in ordered:
                seen += count
                if seen >= share * total:
                    value = 0.0 if bucket < 0 else round(_LEAST_MS * STEP**bucket, 3)
                    break
            found.append(value)
        return found
