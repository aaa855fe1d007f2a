"""Runs of the simulated cluster in which nothing befalls the groups that share a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.sharing import SharingCrew
from simulation.cluster.simulation import ClusterRun, plan_of

if TYPE_CHECKING:
    import pytest

    from simulation.cluster.sharing_plan import SharingPlan

HABITS = ("crash", "leave", "slow", "opted_out", "sessions", "positions")


def sharing_run(
    monkeypatch: pytest.MonkeyPatch,
    *kinds: str,
    protocol: str = "classic",
    by_leases: bool = False,
    habits: tuple[str, ...] = (),
) -> ClusterRun:
    """One group of three members, which nobody disturbs but for what `kinds` and `habits` say."""
    plan = plan_of(4)
    plan.on = {kind: kind in ("coop", *kinds) for kind in plan.on}
    plan.transactors = plan.processors = plan.committers = 0
    plan.topics, plan.active_ms, plan.sharing.groups = {"t0": 1}, 1_000.0, 1
    plan.min_isr = 2
    plan.sharing.most_ranges = 60_000

    def as_asked(self: SharingPlan, _rng: object) -> None:
        self.protocol, self.by_leases, self.members = protocol, by_leases, 3
        self.on = {habit: habit in habits for habit in HABITS}
        self.read_committed, self.processors, self.pause_ms = True, 1, 20.0
        self.session_timeout_ms, self.rebalance_timeout_ms = 800, 400

    monkeypatch.setattr("simulation.cluster.sharing_plan.SharingPlan.__init__", as_asked)
    return ClusterRun(4, plan)


def crew_of(run: ClusterRun) -> SharingCrew:
    """Its members."""
    (crew,) = (crew for crew in run.crews if isinstance(crew, SharingCrew))
    return crew
