"""The `uniform` assignor for members that read different topics.

Members keep what they may; free partitions go to whoever has least, topic by topic; then topics are
balanced in rounds, by moving partitions from the most to the least loaded subscribers, until a
round moves nothing (Kafka: UniformHeterogeneousAssignmentBuilder). The walk is Kafka's, so that
the outcome is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coordinator.group.consumer.assignment import Assignments, GroupSpec

MAX_ROUNDS: Final = 16
_NOBODY = -1


def assign_heterogeneous(spec: GroupSpec) -> Assignments:
    """Each member's partitions."""
    return _Builder(spec).build()


class _Builder:
    """Members are numbers here: their places in `spec.member_ids`."""

    __slots__ = ("_counts", "_loads", "_member_ids", "_owners", "_spec", "_subscribers")

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._member_ids = spec.member_ids
        self._counts = spec.partition_counts
        self._loads = [0] * len(self._member_ids)
        self._subscribers: dict[bytes, list[int]] = {}
        for number, member_id in enumerate(self._member_ids):
            for topic_id in sorted(spec.members[member_id].topic_ids):
                self._subscribers.setdefault(topic_id, []).append(number)
        self._owners = {
            topic_id: [_NOBODY] * self._counts[topic_id] for topic_id in self._subscribers
        }

    def build(self) -> Assignments:
        if not self._subscribers:
            return {}
        self._keep()
        self._assign_free()
        self._balance()
        assignments: Assignments = {member_id: {} for member_id in self._member_ids}
        for topic_id, owners in self._owners.items():
            by_owner: dict[int, list[int]] = {}
            for index, owner in enumerate(owners):
                by_owner.setdefault(owner, []).append(index)
            for owner, indexes in by_owner.items():
                assignments[self._member_ids[owner]][topic_id] = tuple(indexes)
        return assignments

    def _keep(self) -> None:
        for number, member_id in enumerate(self._member_ids):
            member = self._spec.members[member_id]
            for topic_id, indexes in member.assigned.items():
                if topic_id in member.topic_ids:
                    self._loads[number] += len(indexes)
                    for index in indexes:
                        self._owners[topic_id][index] = number

    def _assign_free(self) -> None:
        free = {
            topic_id: indexes
            for topic_id, owners in self._owners.items()
            if (indexes := [index for index, owner in enumerate(owners) if owner == _NOBODY])
        }
        for topic_id in self._sorted(free):
            line = _Line(self._loads, self._subscribers[topic_id])
            for index in free[topic_id]:
                self._give(topic_id, index, line.next_least_loaded())

    def _balance(self) -> None:
        topic_ids = self._sorted(one for one, who in self._subscribers.items() if len(who) > 1)
        last_moved: int | None = None
        for _ in range(MAX_ROUNDS):
            for place, topic_id in enumerate(topic_ids):
                if place == last_moved:
                    return  # a whole round without a move
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = place

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Whether a partition moved."""
        subscribers = self._subscribers[topic_id]
        loads = [self._loads[number] for number in subscribers]
        if max(loads) - min(loads) <= 1:
            return False
        line = _Line(self._loads, subscribers)
        owned: dict[int, list[int]] = {}
        for index, owner in enumerate(self._owners[topic_id]):
            owned.setdefault(owner, []).append(index)
        moved = False
        while not line.is_balanced():
            giver = self._giver(line, owned)
            if giver is None:
                break
            index = owned[giver].pop()
            taker = line.next_least_loaded()
            if line.is_balanced():
                break
            self._loads[giver] -= 1
            self._give(topic_id, index, taker)
            moved = True
        return moved

    @staticmethod
    def _giver(line: _Line, owned: dict[int, list[int]]) -> int | None:
        while True:
            number = line.next_most_loaded()
            if number is None or owned.get(number):
                return number
            line.exclude_most_loaded()

    def _give(self, topic_id: bytes, index: int, number: int) -> None:
        self._owners[topic_id][index] = number
        self._loads[number] += 1

    def _sorted(self, topic_ids: Iterable[bytes]) -> list[bytes]:
        """By partitions a subscriber, the most first; then fewer subscribers; then id."""

        def order(topic_id: bytes) -> tuple[float, int, int, int]:
            subscriber_count = len(self._subscribers[topic_id])
            return (
                -self._counts[topic_id] / subscriber_count,
                subscriber_count,
                int.from_bytes(topic_id[:8], "big", signed=True),
                int.from_bytes(topic_id[8:], "big", signed=True),
            )

        return sorted(topic_ids, key=order)


class _Line:
    """A topic's subscribers by load, and who is next to take or to give a partition.

    Two ranges grow towards each other: the least loaded members from the left, the most loaded
    from the right; all members of a range have the same load once each of them had its turn.
    """

    __slots__ = (
        "_least_end", "_least_level", "_loads", "_members", "_most_end", "_most_level",
        "_most_start", "_next_least", "_next_most",
    )  # fmt: skip

    def __init__(self, loads: list[int], subscribers: list[int]) -> None:
        self._loads = loads
        self._members = members = sorted(subscribers, key=lambda number: (loads[number], number))
        self._least_end = 0
        self._least_level = loads[members[0]] - 1
        self._next_least = 0
        self._most_start = self._most_end = len(members)
        self._most_level = loads[members[-1]] + 1
        self._next_most = len(members) - 1

    def is_balanced(self) -> bool:
        return self._most_level - self._least_level <= 1

    def next_least_loaded(self) -> int:
        """Who takes the next partition."""
        members, loads = self._members, self._loads
        if self._next_least >= self._least_end:
            self._least_level += 1
            while self._least_end < len(members) and (
                loads[members[self._least_end]] == self._least_level
            ):
                self._least_end += 1
            self._next_least = 0
        number = members[self._next_least]
        self._next_least += 1
        return number

    def next_most_loaded(self) -> int | None:
        """Who gives the next partition; None when nobody has one to give."""
        members, loads = self._members, self._loads
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                # All of the range were excluded: go on with those to the left of it.
                self._most_level = loads[members[self._most_start - 1]]
            else:
                self._most_level -= 1
            while self._most_start > 0 and loads[members[self._most_start - 1]] == self._most_level:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        number = members[self._next_most]
        self._next_most -= 1
        return number

    def exclude_most_loaded(self) -> None:
        """Whoever was named last has no partition of the topic to give."""
        members, place = self._members, self._next_most + 1
        self._most_end -= 1
        members[place], members[self._most_end] = members[self._most_end], members[place]
