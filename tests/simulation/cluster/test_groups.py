"""A group that does not become stable is told of."""

from __future__ import annotations

import pytest

from simulation.cluster import simulation
from simulation.cluster.groups import GroupCrew
from simulation.cluster.simulation import ClusterRun
from tests.support.simulated_groups import SimulatedGroup

pytestmark = pytest.mark.sim


def test_why_a_group_is_not_stable() -> None:
    group = SimulatedGroup("eager", 2)
    assert "is not in" in group.group.unsettled()
    group.settle()
    owner = next(member for member in group.group.members if member.owned)
    owner.give_up(list(owner.owned))
    assert "members have [] of [('t0', 0)]" in group.group.unsettled()


def crew_of(run: ClusterRun) -> GroupCrew:
    return next(crew for crew in run.crews if isinstance(crew, GroupCrew))


def run_with_groups() -> tuple[ClusterRun, GroupCrew]:
    """The first run that has both kinds."""
    for seed in range(100):
        run = ClusterRun(seed)
        crew = crew_of(run)
        if len(crew.groups) == 2:
            return run, crew
    raise AssertionError


def test_a_run_tells_of_groups_that_stay_unstable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "SETTLING_MS", 2_000.0)
    run, crew = run_with_groups()
    member = crew.groups[0].members[0]
    member.start = lambda: None  # type: ignore[method-assign]
    run.live()
    assert f"{member.name} is not in" in run.world.violations[0]


def test_a_run_counts_what_its_groups_did() -> None:
    run, crew = run_with_groups()
    run.live()
    assert not run.world.violations
    assert run.counts()["group offsets"] > 0
    assert run.counts()["generations"] > 0
    assert not any(one.busy for one in crew.clients)


def test_a_shrunk_run_does_without_some_members() -> None:
    run, crew = run_with_groups()
    names = [one.name for one in crew.clients]
    plan = run.plan
    plan.change({"without": names[1:]})
    smaller = ClusterRun(run.seed, plan)
    assert [one.name for one in crew_of(smaller).clients] == names[:1]
