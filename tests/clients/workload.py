"""What each client must bring through the broker whole, and the check that it did.

A topic of six partitions takes 10,000 keyed records. A group of three members reads them back;
one member leaves in the middle. What counts as read is what a member committed: that must be
every record exactly once, in order within its partition, with its bytes, headers and timestamp.

Standard library only: the program for old clients imports this outside the test process.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    # Makes a member that tells of each assignment, at once, and of its revocation: set().
    Join = Callable[[Callable[[set[int]], None]], "Member"]

PARTITIONS = 6
RECORDS = 10_000
KEYS = 997
MEMBERS = 3
# The member that leaves does so once the group has committed this many records.
LEAVE_AFTER = RECORDS // 3
# Far beyond what a run takes: it only ends a run that hangs.
DEADLINE_S = 50.0
# Until the group shares the topic a poll lasts as long as joining may: kafka-python 3 loses its
# assignment when a poll ends just as the coordinator hands it out. The same with Apache Kafka.
JOIN_POLL_S = 20.0
POLL_S = 1.5
# How soon a member hears of a rebalance; clients' own 3 s would be most of a run.
HEARTBEAT_MS = 300
# Read so many at a time, so that a departure falls between two batches of a partition.
MAX_POLL_RECORDS = 200
PROGRAM_CONFIG = "MOCKBROKER_TEST_CLIENT_CONFIG"
"""The variable that names a file of what a program of kafka-python is configured with."""


class Sent(NamedTuple):
    """A record as it is produced. Its timestamp is its identity: no two share one."""

    timestamp_ms: int
    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Read(NamedTuple):
    """A record as a consumer shows it."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


def make_records(epoch_ms: int, *, with_headers: bool = True) -> list[Sent]:
    return [
        Sent(
            epoch_ms + number,
            b"key-%d" % (number % KEYS),
            make_value(number),
            make_headers(number) if with_headers else (),
        )
        for number in range(RECORDS)
    ]


def make_value(number: int) -> bytes | None:
    """All lengths up to some hundred bytes, compressible or not; tombstones; empty values."""
    if number % 100 == 99:
        return None
    if number % 100 == 98:
        return b""
    text = b"order %d " % number
    return text + bytes((number * step) % 256 for step in range(number % 311))


def make_headers(number: int) -> tuple[tuple[str, bytes], ...]:
    """None, one, or several of one name: order and repetition are kept."""
    return tuple(
        (f"trace-{repeat % 2}", b"%d:%d" % (number, repeat)) for repeat in range(number % 4)
    )


class Member(Protocol):
    """A consumer of a group, as the scenario drives it; one per client library."""

    def poll(self, timeout_s: float) -> list[Read]: ...

    def commit(self) -> bool:
        """Commits what poll returned. False: a rebalance took the partitions away first."""

    def close(self) -> None: ...


class Tally:
    """What the group has committed so far. Shared by its members' threads."""

    def __init__(self, records: Sequence[Sent]) -> None:
        self.records = records
        self.committed: list[Read] = []
        self.assignments: list[set[int]] = [set() for _ in range(MEMBERS)]
        self.was_stable = False
        self.left_with: int | None = None
        self.failures: list[BaseException] = []
        self.changed = threading.Condition()

    def is_stable(self) -> bool:
        """Says whether the group's members share all partitions evenly, now or once before."""
        sizes = {len(assignment) for assignment in self.assignments}
        union = set().union(*self.assignments)
        self.was_stable |= sizes == {PARTITIONS // MEMBERS} and len(union) == PARTITIONS
        return self.was_stable

    def is_done(self) -> bool:
        return bool(self.failures) or len(self.committed) >= len(self.records)

    def is_to_leave(self, index: int) -> bool:
        return index == 0 and len(self.committed) >= LEAVE_AFTER

    def note_assignment(self, index: int, assignment: set[int]) -> None:
        with self.changed:
            self.assignments[index] = assignment
            self.is_stable()
            self.changed.notify_all()

    def note_committed(self, batch: list[Read]) -> None:
        with self.changed:
            self.committed.extend(batch)
            self.changed.notify_all()

    def note_left(self) -> None:
        with self.changed:
            self.left_with = len(self.committed)
            self.assignments[0] = set()
            self.changed.notify_all()

    def note_failure(self, failure: BaseException) -> None:
        with self.changed:
            self.failures.append(failure)
            self.changed.notify_all()

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        with self.changed:
            self.changed.wait_for(lambda: bool(self.failures) or condition(), timeout=DEADLINE_S)
            if self.failures:
                raise AssertionError("a member failed") from self.failures[0]
            if not condition():
                raise AssertionError(f"{what} did not happen in {DEADLINE_S} s: {self.describe()}")

    def describe(self) -> str:
        return (
            f"{len(self.committed)} of {len(self.records)} committed, "
            f"assignments {self.assignments}, left with {self.left_with}"
        )


def run_group(
    records: Sequence[Sent], join: Join, produce: Callable[[Sequence[Sent]], None]
) -> Tally:
    """Three members in threads of their own; once they share the topic, it is filled."""
    tally = Tally(records)
    threads = [
        threading.Thread(target=run_member, args=(tally, index, join), daemon=True)
        for index in range(MEMBERS)
    ]
    for thread in threads:
        thread.start()
    tally.wait_for(tally.is_stable, "sharing the partitions")
    produce(records)
    tally.wait_for(tally.is_done, "reading all back")
    for thread in threads:
        thread.join(DEADLINE_S)
    return tally


def run_member(tally: Tally, index: int, join: Join) -> None:
    try:
        member = join(lambda assignment: tally.note_assignment(index, assignment))
        try:
            while not tally.is_done() and not tally.is_to_leave(index):
                batch = member.poll(POLL_S if tally.was_stable else JOIN_POLL_S)
                if batch and member.commit():
                    tally.note_committed(batch)
        finally:
            member.close()
        if index == 0:
            tally.note_left()
    except BaseException as failure:  # noqa: BLE001 - it is raised where the group is awaited
        tally.note_failure(failure)


def check(tally: Tally, end_offsets: dict[int, int], committed_offsets: dict[int, int]) -> None:
    """Everything the scenario promises, once its members are through."""
    assert tally.left_with is not None, "no member left"
    assert LEAVE_AFTER <= tally.left_with < len(tally.records), "the member left in no middle"
    check_records(tally.records, tally.committed)
    counts = dict.fromkeys(range(PARTITIONS), 0)
    for read in tally.committed:
        counts[read.partition] += 1
    assert end_offsets == counts
    assert committed_offsets == counts


def check_records(sent: Sequence[Sent], read: Iterable[Read]) -> None:
    by_timestamp = {record.timestamp_ms: record for record in sent}
    partition_of_key: dict[bytes, int] = {}
    last: dict[int, tuple[int, int]] = {}
    seen: set[int] = set()
    for got in sorted(read):
        want = by_timestamp[got.timestamp_ms]
        assert (got.key, got.value, got.headers) == (want.key, want.value, want.headers)
        assert got.timestamp_ms not in seen, f"doubled: {got}"
        seen.add(got.timestamp_ms)
        assert partition_of_key.setdefault(want.key, got.partition) == got.partition
        offset, timestamp_ms = last.get(got.partition, (-1, -1))
        assert got.offset == offset + 1, f"a gap before {got}"
        assert got.timestamp_ms > timestamp_ms, f"out of order: {got}"
        last[got.partition] = (got.offset, got.timestamp_ms)
    assert len(seen) == len(by_timestamp), f"lost: {len(by_timestamp) - len(seen)}"
    assert len(last) == PARTITIONS, "a partition stayed empty"
