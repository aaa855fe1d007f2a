"""A group that shares a partition, as plain sets of offsets: what must be committed and given."""

from __future__ import annotations

from typing import NamedTuple

from mockbroker.coop.key_filter import slot_of

KEYS = ("a", "b", "c", "foobar", "21", "user-1")
"""By halves in the lower and in the upper half of the slots."""
SLOTS = {key: slot_of(key.encode()) for key in KEYS}


class Held(NamedTuple):
    """An offset that the broker has dealt to a member, until a time."""

    member: str
    until_ms: float


class Model:
    """What was written, what is committed of it, and who was dealt what.

    The group reads committed records: markers and aborted records are holes.
    """

    def __init__(self) -> None:
        self.keys: dict[int, str] = {}
        """Of each record that consumers are given, by its offset."""
        self.end = 0
        self.start = 0
        """Records before it were deleted."""
        self.stable = 0
        self.done: set[int] = set()
        """Records from the stable offset on that are committed."""
        self.pending: dict[str, set[int]] = {}
        """What each producer's open transaction commits."""
        self.held: dict[int, Held] = {}
        self.marker: int | None = None
        """From where on the present coordinator has dealt nothing; None: nothing at all."""

    # -- what is written -------------------------------------------------------------------

    def append(self, keys: list[str], *, aborted: bool, markers: int) -> None:
        """Records, and markers behind them."""
        if not aborted:
            self.keys.update(enumerate(keys, self.end))
        self.end += len(keys) + markers
        self.settle()

    def delete_before(self, offset: int) -> None:
        """The log begins here, and the group's position not before it."""
        self.start = max(self.start, offset)
        self.stable = max(self.stable, self.start)
        self.keys = {at: key for at, key in self.keys.items() if at >= self.start}
        self.settle()

    def settle(self) -> None:
        """The first record that is not done; what is below it needs no mention."""
        while self.stable < self.end and (self.stable in self.done or self.stable not in self.keys):
            self.stable += 1
        self.done = {offset for offset in self.done if offset >= self.stable}

    def is_stable(self, offset: int) -> bool:
        """Whether it says the same: who has no ranges is not known to pass over aborted records."""
        return offset <= self.stable and self.keys.keys().isdisjoint(range(offset, self.stable))

    def open(self) -> list[int]:
        """Records that are not committed, in order."""
        return [offset for offset in self.keys if offset >= self.stable and offset not in self.done]

    # -- commits ---------------------------------------------------------------------------

    def commit(self, offsets: set[int]) -> None:
        """These are done, whoever had them."""
        self.done |= {offset for offset in offsets if offset >= self.stable}
        for offset in offsets:
            self.held.pop(offset, None)
        self.settle()

    def sets(self, position: int, *, keeps: bool) -> None:
        """A plain position takes the place of all, or `keeps` what lies behind it."""
        self.done = {offset for offset in self.done if offset >= position} if keeps else set()
        self.stable = max(position, self.start)
        self.pending.clear()
        self.settle()

    def waits(self, offsets: set[int], but_of: str = "") -> bool:
        """Whether another open transaction is to commit one of these."""
        return any(offsets & each for owner, each in self.pending.items() if owner != but_of)

    # -- leases ----------------------------------------------------------------------------

    def others(self, member: str, offsets: set[int], now_ms: float) -> bool:
        """Whether the broker says of some that they are not this member's to commit."""
        if self.marker is None:
            return False
        return any(offset >= self.marker for offset in offsets) or any(
            self.held[offset].member != member and self.held[offset].until_ms > now_ms
            for offset in offsets & self.held.keys()
        )

    def free(self, now_ms: float) -> list[int]:
        """What nobody has, in order."""
        return [
            offset
            for offset in self.open()
            if offset not in self.held or self.held[offset].until_ms <= now_ms
        ]

    def mine(self, member: str, now_ms: float) -> list[int]:
        """What a member has still."""
        return sorted(
            offset
            for offset, held in self.held.items()
            if held.member == member and held.until_ms > now_ms
        )
