"""What a client's producer was told and what its consumers were given, against what the logs hold.

A client tells the ledger from its own threads; the scenario waits for what is in it. Records are
numbered, and a number is a record's value; they are keyed, and the key decides the partition.

What holds whatever happens, and `check` demands: a number that was acknowledged at an offset is
there, unless the scenario knows that it was lost; no number is there twice; each partition has its
numbers in the order in which they were sent. A member that begins to read anywhere but where it
stopped begins between what the group was told to be committed and what it tried to commit.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TOPIC = "orders"
GROUP = "readers"
PARTITIONS = 3
KEYS = 17
# The producer has no more unanswered records than these, so that it stops soon when told to.
WINDOW = 200
# How long it rests after each; a load that a slow machine carries too.
PAUSE_S = 0.001
# Far beyond what a run takes: it only ends a run that hangs.
DEADLINE_S = 60.0

Logs = dict[int, list[int]]
"""By partition, the number at each offset from 0 on."""


def key_of(number: int) -> bytes:
    return b"key-%d" % (number % KEYS)


class Read(NamedTuple):
    """One record as a member of the group got it."""

    member: int
    partition: int
    offset: int
    number: int


class Ledger:
    """Told by the client, asked by the scenario."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.acknowledged: dict[int, tuple[int, int]] = {}
        """Partition and offset by number."""
        self.refused: dict[int, str] = {}
        """Why the library gave a number up."""
        self.reads: list[Read] = []
        self.begun: list[tuple[Read, int, int]] = []
        """The first record of each stretch, the least and the most that was committed by then."""
        self.failures: list[str] = []
        self._committed = dict.fromkeys(range(PARTITIONS), 0)
        self._tried = dict.fromkeys(range(PARTITIONS), 0)
        self._next: dict[tuple[int, int], int] = {}

    # -- told by the client --------------------------------------------------------------------

    def acknowledge(self, number: int, partition: int, offset: int) -> None:
        with self.changed:
            if number in self.acknowledged:
                self.failures.append(f"{number} was acknowledged twice")
            self.acknowledged[number] = (partition, offset)
            self.changed.notify_all()

    def refuse(self, number: int, why: str) -> None:
        with self.changed:
            self.refused[number] = why
            self.changed.notify_all()

    def read(self, member: int, partition: int, offset: int, number: int) -> None:
        with self.changed:
            one = Read(member, partition, offset, number)
            if self._next.get((member, partition)) != offset:
                bounds = self._committed[partition], self._tried[partition]
                self.begun.append((one, *bounds))
            self._next[member, partition] = offset + 1
            self.reads.append(one)
            self.changed.notify_all()

    def try_commit(self, ends: Mapping[int, int]) -> None:
        with self.changed:
            self._tried |= {part: max(self._tried[part], end) for part, end in ends.items()}

    def committed(self, ends: Mapping[int, int]) -> None:
        with self.changed:
            self._committed.update(ends)
            self.changed.notify_all()

    def fail(self, why: str) -> None:
        with self.changed:
            self.failures.append(why)
            self.changed.notify_all()

    # -- asked by the scenario -----------------------------------------------------------------

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Raises what the client failed with, or that the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: bool(self.failures) or condition(), DEADLINE_S)
            assert not self.failures, self.failures
            assert condition(), f"{what} did not happen in {DEADLINE_S:g} s: {self.describe()}"

    def wait_acknowledged(self, more: int, partition: int = 0) -> None:
        """Until so many records more were acknowledged in a partition."""
        with self.changed:
            wanted = self.count(partition) + more
        self.wait_for(lambda: self.count(partition) >= wanted, f"{more} more acknowledgements")

    def count(self, partition: int) -> int:
        return sum(1 for at, _ in self.acknowledged.values() if at == partition)

    def wait_read(self, logs: Logs) -> None:
        """Until somebody read the last record of each partition."""

        def is_read() -> bool:
            there = {(one.partition, one.offset, one.number) for one in self.reads}
            return all(
                not log or (part, len(log) - 1, log[-1]) in there for part, log in logs.items()
            )

        self.wait_for(is_read, f"reading to {[len(log) for log in logs.values()]}")

    def describe(self) -> str:
        ends: dict[tuple[int, int], int] = {}
        for one in self.reads:
            ends[one.member, one.partition] = one.offset + 1
        return (
            f"{len(self.acknowledged)} acknowledged, {len(self.refused)} refused, read to {ends}"
            f" (by member and partition), committed {self._committed}"
        )

    # -- in the end ------------------------------------------------------------------------------

    def check_written(self, logs: Logs, lost: frozenset[int] = frozenset()) -> None:
        """Acknowledged means stored, once, where it was said to be; `lost` was, and is no more."""
        stored = [number for log in logs.values() for number in log]
        assert len(stored) == len(set(stored)), "a record was stored twice"
        for log in logs.values():
            assert log == sorted(log), "records of a partition changed places"
        assert set(self.acknowledged) - set(stored) == lost
        for number, (partition, offset) in self.acknowledged.items():
            if number not in lost:
                assert logs[partition][offset] == number
        assert set(stored) <= set(self.acknowledged) | set(self.refused)

    def check_read(self, expected: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """One member that never left got exactly these (offset, number) pairs in order."""
        for partition, wanted in expected.items():
            found = [(one.offset, one.number) for one in self.reads if one.partition == partition]
            assert found == list(wanted)

    def check_shared(self, logs: Logs) -> None:
        """Several members got what the logs hold, and again only what was not committed."""
        found = {(one.partition, one.offset): one.number for one in self.reads}
        assert found == {
            (part, offset): number
            for part, log in logs.items()
            for offset, number in enumerate(log)
        }
        assert all(found[one.partition, one.offset] == one.number for one in self.reads)
        for one, committed, tried in self.begun:
            assert committed <= one.offset <= tried, (one, committed, tried)


def whole(log: Sequence[int], start: int = 0) -> list[tuple[int, int]]:
    """A log's (offset, number) pairs from an offset on."""
    return list(enumerate(log))[start:]
