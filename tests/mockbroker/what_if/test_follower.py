"""A follower keeps up with a simulated leader, and hears of its high watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.changes import PartitionState
from mockbroker.what_if.broker import SimulatedBroker
from mockbroker.what_if.costs import Costs, Histogram
from mockbroker.what_if.delays import Moves
from mockbroker.what_if.follower import Follower
from mockbroker.what_if.simulate import batch_of

if TYPE_CHECKING:
    from mockbroker.replica.partition import Partition

TOPIC_ID = (7).to_bytes(16, "big")


@pytest.mark.parametrize(("tells", "most_ms"), [(True, 3.0), (False, 550.0)])
def test_kip_1166_lets_a_follower_know_at_once(*, tells: bool, most_ms: float) -> None:
    leader = SimulatedBroker(1, {}, counts_idle=True, travel_ms=1.0)
    leader.create_topic("orders", TOPIC_ID, [PartitionState(1, [1, 2], [1, 2])])
    costs, records, marks = Costs(), Histogram(), Histogram()
    ends_and_marks = Moves(), Moves()
    partition = leader.partition("orders", 0)

    def moved(_: Partition) -> None:
        log = partition.open_log()
        ends_and_marks[0].note(log.log_end_offset, leader.clock.now_ms)
        ends_and_marks[1].note(log.high_watermark, leader.clock.now_ms)

    def append() -> None:
        partition.append_batch(batch_of(100), AppendOrigin.CLIENT)

    partition.high_watermark_listener = moved
    follower = Follower(leader, 2, costs, tells_high_watermark=tells)
    follower.measure({(TOPIC_ID, 0): ends_and_marks}, records, marks)
    leader.at(0.0, follower.start)
    leader.at(1234.0, append)
    leader.run(3000.0)
    assert partition.high_watermark == 1
    (told_ms,) = marks.quantiles((1.0,))
    assert told_ms is not None
    assert told_ms <= most_ms
    assert tells or told_ms > 400
    assert records.count == 1
    assert costs.records_bytes == len(batch_of(100))
