"""What the extension costs a broker that has it and does not use it."""

from __future__ import annotations

from mockbroker.coop.extension import extension_of
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from tests.support.core import Core
from tests.support.range_group import ON, Committed, RangeGroup, fill


def test_nothing_is_made_before_ranges_are_committed() -> None:
    core = Core(topics={"t": 1}, config=ON)
    extension = extension_of(core.broker.services)
    group = RangeGroup(core.client())
    fill(group.client, 100)
    assert group.plain(7) == Committed(0)
    assert not extension.coordinators[INDIVIDUAL_COMMITS_TOPIC].in_use
    assert set(extension.metrics().values()) == {0}
    group.commit((9, 9))
    assert extension.metrics()["mockbroker:type=CooperativeMetrics,name=ic.ranges"] == 1


def test_without_the_extension_there_is_none() -> None:
    assert Core().broker.services.extension is None
