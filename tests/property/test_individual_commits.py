"""Commits of single offsets on three brokers, against a plain set of offsets.

Whatever order commits, positions, crashes and moves of the coordinator come in: what was answered
is told by whoever coordinates next, and nothing else. Ten thousand runs take a quarter of an hour:

    INDIVIDUAL_COMMIT_RUNS=10000 pytest --timeout 0 tests/property/test_individual_commits.py
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker.coop.commit_tags import commit_fields
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
from tests.support.cluster_core import ClusterCore
from tests.support.range_group import COMMIT_VERSION, ON, Committed, RangeGroup, fill, told

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNS = int(os.environ.get("INDIVIDUAL_COMMIT_RUNS", "25"))
LOG_END = 40
CONFIG = {
    **ON,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "log.retention.ms": "-1",
}


class Commit(NamedTuple):
    """Of ranges."""

    ranges: tuple[tuple[int, int], ...]


class Position(NamedTuple):
    """A reset by one who is no member."""

    offset: int


class Crash(NamedTuple):
    """Of the coordinator, which comes back when another has taken over."""


class Move(NamedTuple):
    """Of the coordinator, by hand."""


RANGE = st.tuples(st.integers(0, LOG_END - 1), st.integers(0, 4)).map(
    lambda one: (one[0], min(sum(one), LOG_END - 1))
)
STEP = st.one_of(
    st.lists(RANGE, min_size=1, max_size=4).map(lambda ranges: Commit(tuple(ranges))),
    st.lists(RANGE, min_size=1, max_size=4).map(lambda ranges: Commit(tuple(ranges))),
    st.integers(0, LOG_END).map(Position),
    st.builds(Crash),
    st.builds(Move),
)


class World:
    """Three brokers, and what a group must have committed."""

    def __init__(self) -> None:
        self.core = ClusterCore(topics={"t": 1}, config=CONFIG)
        fill(self.core.client(node=self.core.state("t").leader), LOG_END)
        self.core.controls.coordinator("g")
        self.core.advance(10)
        self.done: set[int] = set()
        """Offsets at the stable one or behind that are committed."""
        self.stable = 0
        self._connect()
        assert self._send(-1, commit_fields([], 0)).error == ErrorCode.NONE

    def _connect(self) -> None:
        self.group = RangeGroup(self.core.client(node=self.core.controls.coordinator("g")))

    def _send(self, offset: int, fields: Mapping[int, bytes] | None) -> Committed:
        self.group.client.send(self.group.asking(offset, fields), COMMIT_VERSION)
        self.core.advance(1000)
        answer = self.group.client.receive(OffsetCommitResponse)
        return told(answer.topics[0].partitions[0])

    def take(self, step: Commit | Position | Crash | Move) -> None:
        """Do it, here and in the set."""
        if isinstance(step, Commit):
            answer = self._send(-1, commit_fields(step.ranges))
            if any(first < self.stable for first, _ in step.ranges):
                assert answer[:3] == (ErrorCode.INVALID_COMMIT_OFFSET_SIZE, 91, self.stable)
                return
            for first, last in step.ranges:
                self.done.update(range(first, last + 1))
            self._settle()
            assert answer[:3] == (ErrorCode.NONE, None, self.stable)
        elif isinstance(step, Position):
            assert self._send(step.offset, None) == Committed(ErrorCode.NONE)
            self.stable, self.done = step.offset, set()
        else:
            self._change_coordinator(crashes=isinstance(step, Crash))

    def _settle(self) -> None:
        while self.stable in self.done:
            self.done.remove(self.stable)
            self.stable += 1

    def _change_coordinator(self, *, crashes: bool) -> None:
        before = self.core.controls.coordinator("g")
        if crashes:
            self.core.cluster.controls.kill(before)
            self.core.advance(15_000)
            self._connect()
            self.check()
            self.core.cluster.controls.revive(before)
            self.core.advance(15_000)
        else:
            self.core.controls.move_coordinator("g", before % 3 + 1)
            self.core.advance(1000)
        self._connect()

    def check(self) -> None:
        """What is told is what is committed, as few ranges."""
        ranges: list[tuple[int, int]] = []
        for offset in sorted(self.done):
            if ranges and ranges[-1][1] == offset - 1:
                ranges[-1] = ranges[-1][0], offset
            else:
                ranges.append((offset, offset))
        assert self.group.fetch() == (self.stable, ranges, [], ErrorCode.NONE)


@settings(max_examples=RUNS)
@given(st.lists(STEP, max_size=12))
def test_what_was_answered_is_told_by_whoever_coordinates(
    steps: list[Commit | Position | Crash | Move],
) -> None:
    world = World()
    for step in steps:
        world.take(step)
        world.check()
