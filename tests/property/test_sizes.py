"""What only the full size shows: as much of something as a broker allows."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING

from mockbroker.coop.extension import extension_of
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from mockbroker_protocol.errors import ErrorCode
from tests.support.core import Core
from tests.support.range_group import ON, Committed, RangeGroup, fill

if TYPE_CHECKING:
    from types import FrameType

MANY = 60_000
"""Ranges of one group."""


def test_sixty_thousand_ranges_are_read_again_soon() -> None:
    """As many as a group may have: what is read of their log is small, and read quickly."""
    core = Core(topics={"t": 1}, config=ON)
    group = RangeGroup(core.client())
    fill(group.client, 2 * MANY + 10)
    assert group.commit(*[(at, at) for at in range(1, 2 * MANY, 2)])[0] == 0
    assert group.commit((2 * MANY + 5, 2 * MANY + 5))[:2] == (14, 92)
    assert group.commit((50_000, 50_000)) == Committed(0, None, 0, MANY - 1)
    services = core.broker.services
    log = InternalLog(INDIVIDUAL_COMMITS_TOPIC, services.replicas, services.clock)
    started = perf_counter()
    shard = extension_of(services).commits.runtime.load(0, log.read(0))
    took = perf_counter() - started
    part = shard.of("g", "t", 0)
    assert part is not None
    assert part.keys.size_bytes < 100 * MANY
    assert len(part.keys) == MANY - 1
    assert took < 5, f"{took:.2f} s"  # a busy machine's; some tenths on one that is not


def test_a_request_holds_as_many_ranges_as_a_mebibyte_does() -> None:
    """IC-15: the default."""
    group = RangeGroup(Core(topics={"t": 1}, config=ON).client())
    fill(group.client, 100)
    assert group.commit(initial=0).error == 0
    assert group.commit(*[(2, 2)] * 65_537)[0] == ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert group.commit(*[(2, 2)] * 65_536)[0] == 0


def test_sixty_thousand_ranges_take_less_than_a_hundred_bytes_each() -> None:
    made = IntervalSet((2 * at, 2 * at) for at in range(MANY))
    assert len(made) == MANY
    assert made.size_bytes < 40 * MANY


def _functions_of_a_commit(ranges: int) -> int:
    """How many are entered for a commit that fills a gap among so many ranges of a group."""
    group = RangeGroup(Core(topics={"t": 1}, config=ON).client())
    fill(group.client, 2 * ranges + 10)
    group.commit(*[(at, at) for at in range(1, 2 * ranges, 2)])
    entered = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        found = group.commit((ranges, ranges))
    finally:
        sys.setprofile(None)
    assert found[2:] == (0, ranges - 1)
    return entered


def test_a_commit_does_as_much_among_ten_times_as_many_ranges() -> None:
    few, many = _functions_of_a_commit(600), _functions_of_a_commit(6_000)
    assert many <= few + 10


class _Counted(int):
    """An offset that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        _Counted.compared += 1
        return int(self) < other


def test_a_change_among_sixty_thousand_looks_at_few_of_them() -> None:
    made = IntervalSet((2 * at, 2 * at) for at in range(MANY))
    _Counted.compared = 0
    made.add(_Counted(MANY + 1), _Counted(MANY + 1))
    assert _Counted.compared <= 200
    assert made.covers(MANY, MANY + 2)
