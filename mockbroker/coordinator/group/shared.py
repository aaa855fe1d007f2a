"""What a group has of partitions that its members share, as whoever looks is told of it.

Made by the extension that lets them share (`apis.context.Extension`); tests and the admin API see
it. Offsets and slots of keys are ranges with both ends in them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Range: TypeAlias = tuple[int, int]


class Lease(NamedTuple):
    """Offsets that a member was handed out, for the `deliveries`th time; it has them that long."""

    first: int
    last: int
    member_id: str
    deliveries: int
    left_ms: float


class Piece(NamedTuple):
    """Offsets that nobody has, and how often they were handed out."""

    first: int
    last: int
    deliveries: int


class Sharing(NamedTuple):
    """One partition.

    `stable` is the first offset that is not done, None before anything was committed; `ranges` are
    committed beyond it, `pending` in open transactions. `owners` are the slots of keys that members
    may read, by member. Of cooperative fetches, `marker` is the first offset that was never handed
    out (None: none was), `leases` are handed out, `free` is to be handed out again, and `given_up`
    was handed out too often.
    """

    stable: int | None
    ranges: list[Range]
    pending: list[Range]
    owners: dict[str, list[Range]]
    marker: int | None
    leases: list[Lease]
    free: list[Piece]
    given_up: list[Piece]

    def has_done(self, offset: int) -> bool:
        """Whether the group is done with a record, and will not be given it again."""
        before = self.stable is not None and offset < self.stable
        return before or any(first <= offset <= last for first, last in self.ranges)
