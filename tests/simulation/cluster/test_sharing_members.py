"""Members get into their group and are dealt ranges, by either protocol."""

from __future__ import annotations

import pytest

from mockbroker.coop import assignor, krange
from simulation.cluster import sharing_members
from tests.support.simulated_sharing import crew_of, sharing_run

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("by_leases", [False, True])
def test_a_group_shares_its_partition(
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    by_leases: bool,
) -> None:
    habits = ("crash", "leave")
    run = sharing_run(monkeypatch, protocol=protocol, by_leases=by_leases, habits=habits)
    told: list[str] = []
    monkeypatch.setattr(run.world, "note", lambda _, what: told.append(what))
    run.live()
    assert not run.world.violations
    assert any("KeyRange(" in text for text in told)
    assert crew_of(run).counts()["dealt" if by_leases else "shared records"] > 10


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_ranges_that_overlap_are_noticed(monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    def whole(count: int) -> list[assignor.Ranges]:
        return [assignor.cut(2)[0]] * count

    monkeypatch.setattr(krange, "cut", whole)
    monkeypatch.setattr(
        sharing_members,
        "assign",
        lambda members, _: {each.id: {"s0": {0: assignor.cut(2)[0]}} for each in members},
    )
    run = sharing_run(monkeypatch, protocol=protocol)
    run._create_topics()
    for crew in run.crews:
        crew.start()
    run.world.run_for(2_000.0)
    assert any(" read b'k" in text for text in run.world.violations)
