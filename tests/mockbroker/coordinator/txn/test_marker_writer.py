"""Markers on the leader's side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn.marker_writer import MarkerWriter
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode
from tests.support.fetch_world import World

if TYPE_CHECKING:
    from collections.abc import Callable

MARKER = TransactionMarker(7, 0, 0, commit=True, transaction_version=0)


class Bench:
    def __init__(self) -> None:
        self.world = World()
        self.world.create_topic("t", 2)
        self.world.create_topic("__consumer_offsets", 1)
        self.group_error = ErrorCode.NONE
        self.told: list[int] = []
        self.answers: list[dict[tuple[str, int], ErrorCode]] = []
        self.writer = MarkerWriter(self.world.replicas, self.world.config, self.complete)
        self.holds = False
        self.held: list[Callable[[ErrorCode], None]] = []

    def complete(
        self, index: int, marker: TransactionMarker, done: Callable[[ErrorCode], None]
    ) -> None:
        assert marker is MARKER
        self.told.append(index)
        if self.holds:
            self.held.append(done)
        else:
            done(self.group_error)

    def write(self, *partitions: tuple[str, int]) -> dict[tuple[str, int], int]:
        self.writer.write(MARKER, partitions, self.answers.append)
        return {name: int(error) for name, error in self.answers[-1].items()}


def test_each_partition_gets_its_marker() -> None:
    bench = Bench()
    assert bench.write(("t", 0), ("t", 1)) == {("t", 0): 0, ("t", 1): 0}
    for index in (0, 1):
        log = bench.world.partition("t", index).log
        assert log is not None
        ((header, _),) = log.iterate_batches(0)
        assert (header.is_control, header.is_transactional, header.producer_id) == (True, True, 7)


def test_what_is_not_here_is_unknown() -> None:
    assert Bench().write(("t", 9), ("u", 0)) == {("t", 9): 3, ("u", 0): 3}


@pytest.mark.parametrize(("error", "answer"), [(0, 0), (14, 6), (15, 6), (16, 6), (19, 19)])
def test_the_offsets_topic_is_the_group_coordinators(error: int, answer: int) -> None:
    bench = Bench()
    bench.group_error = ErrorCode(error)
    assert bench.write(("__consumer_offsets", 0)) == {("__consumer_offsets", 0): answer}
    assert bench.told == [0]
    assert bench.world.partition("__consumer_offsets").log is None


def test_the_answer_waits_for_the_in_sync_replicas() -> None:
    bench = Bench()
    bench.world.create_topic("r", replicas=(1, 2))
    bench.writer.write(MARKER, [("r", 0)], bench.answers.append)
    assert bench.answers == []
    bench.world.change_leader("r", 0, 1, 0, (1, 2), isr=(1,))
    assert bench.answers == [{("r", 0): ErrorCode.NONE}]


def test_no_partitions_are_answered_at_once() -> None:
    assert Bench().write() == {}


def test_the_answer_waits_for_the_markers_of_groups() -> None:
    bench = Bench()
    bench.holds = True
    partitions = [("__consumer_offsets", 0), ("t", 0), ("__consumer_offsets", 0)]
    bench.writer.write(MARKER, partitions, bench.answers.append)
    bench.held[0](ErrorCode.NONE)
    assert bench.answers == []
    bench.held[1](ErrorCode.REQUEST_TIMED_OUT)
    assert bench.answers == [{("t", 0): 0, ("__consumer_offsets", 0): 7}]
