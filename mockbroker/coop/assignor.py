"""Who reads which partitions, and which ranges of their keys, when members outnumber partitions.

Per topic: while there are as many partitions as members that share, or sharing is not allowed,
whole partitions go round, to all members. Else members that do not share take whole partitions, one
each, so long as one is left for those that share; these are dealt over the rest, and a partition
with several owners is cut evenly. With weights (lag, or bytes a second) each partition of the rest
gets an owner first, and each further one goes where the weight per owner is highest.

The same members and partitions always come to the same assignment: members count by their ids,
partitions by their indexes. The leader of a classic group calls `assign`, and so does the broker
for groups of KIP-848 (`krange`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mockbroker.coop.key_filter import SLOTS, KeyRange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

PROTOCOL_NAME: Final = "krange-roundrobin"
"""What members of a classic group call this assignor."""

Ranges: TypeAlias = tuple[KeyRange, ...]
"""Of one partition; none is the whole partition."""
Assignment: TypeAlias = "dict[str, dict[int, Ranges]]"
"""A member's partitions and ranges, by topic."""


class Member(NamedTuple):
    """A member, its topics, and whether it shares partitions with others."""

    id: str
    topics: Collection[str]
    shares: bool


def assign(
    members: Iterable[Member],
    partition_counts: Mapping[str, int],
    *,
    allowed: bool = True,
    closed_topics: Collection[str] = (),
    weights: Mapping[tuple[str, int], float] | None = None,
) -> dict[str, Assignment]:
    """Each member's partitions.

    `allowed`: whether the coordinator lets members share at all; `closed_topics` are those that may
    not be shared; topics that are not in `partition_counts` do not exist.
    """
    ordered = sorted(members)
    found: dict[str, Assignment] = {member.id: {} for member in ordered}
    turn = 0
    for topic in sorted(partition_counts):
        readers = [member for member in ordered if topic in member.topics]
        indexes = range(partition_counts[topic])
        sharing = [member for member in readers if member.shares]
        if len(indexes) >= len(sharing) or not allowed or topic in closed_topics:
            turn = _deal_whole(topic, indexes, ordered, turn, found)
            continue
        others = [member for member in readers if not member.shares]
        whole = min(len(others), len(indexes) - 1) if indexes else 0
        for index, member in zip(range(whole), others, strict=False):
            found[member.id].setdefault(topic, {})[index] = ()
        rest = indexes[whole:]
        for index, owners in _owners(topic, rest, sharing, weights).items():
            for owner, ranges in zip(owners, cut(len(owners)), strict=True):
                found[owner.id].setdefault(topic, {})[index] = ranges
    return found


def cut(count: int) -> list[Ranges]:
    """The slots in as many even parts; one part is no range but the whole."""
    if count == 1:
        return [()]
    return [
        (KeyRange(part * SLOTS // count, (part + 1) * SLOTS // count - 1),) for part in range(count)
    ]


def _deal_whole(
    topic: str, indexes: range, members: list[Member], turn: int, found: dict[str, Assignment]
) -> int:
    """Whole partitions in turn to those that read the topic; where the next topic goes on."""
    if not any(topic in member.topics for member in members):
        return turn
    for index in indexes:
        while topic not in members[turn % len(members)].topics:
            turn += 1
        found[members[turn % len(members)].id].setdefault(topic, {})[index] = ()
        turn += 1
    return turn


def _owners(
    topic: str,
    indexes: Sequence[int],
    members: list[Member],
    weights: Mapping[tuple[str, int], float] | None,
) -> dict[int, list[Member]]:
    if not indexes:
        return {}
    if weights is None:
        return {index: members[at :: len(indexes)] for at, index in enumerate(indexes)}
    counts = dict.fromkeys(indexes, 1)
    for _ in members[len(indexes) :]:
        hottest = max(
            indexes,
            key=lambda index: (
                weights.get((topic, index), 0.0) / counts[index],
                -counts[index],
                -index,
            ),
        )
        counts[hottest] += 1
    dealt = iter(members)
    return {index: [next(dealt) for _ in range(counts[index])] for index in indexes}
