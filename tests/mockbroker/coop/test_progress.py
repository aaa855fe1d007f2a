"""How far a group is, as what it is dealt depends on it."""

from __future__ import annotations

from mockbroker.coop.handouts import Shared
from mockbroker.coop.progress import progress_of
from mockbroker.log.offsets import FetchIsolation
from tests.mockbroker.coop.test_cooperative_fetch import core_of
from tests.support.range_group import RangeGroup

HERE = Shared("g", "t", 0)


def test_before_and_after_commits() -> None:
    core = core_of(individual_commit_max_ranges_per_group="2")
    services = core.broker.services
    partition = services.replicas.partition("t", 0)
    assert partition is not None
    log = partition.open_log()

    def now() -> tuple[int, str, bool]:
        found = progress_of(services, HERE, log, FetchIsolation.HIGH_WATERMARK)
        return found.stable, repr(found.done), found.is_full

    assert now() == (0, "{}", False)
    group = RangeGroup(core.client())
    group.commit((3, 4), initial=2)
    assert now() == (2, "{3-4}", False)
    group.commit((6, 7))
    assert now() == (2, "{3-4,6-7}", True)
    group.commit((2, 2))
    assert now()[0] == 5
    found = progress_of(services, Shared("other", "t", 0), log, FetchIsolation.HIGH_WATERMARK)
    assert (found.stable, list(found.done)) == (0, [])
