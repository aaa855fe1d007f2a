"""Members of one group in a simulated cluster without faults."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from simulation.cluster.crews import CrewSetting
from simulation.cluster.group_plan import GroupPlan
from simulation.cluster.groups import Group
from simulation.cluster.operators import ClusterOperator
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from simulation.cluster.group_members import GroupMember
    from simulation.cluster.world import ClusterWorld


class SimulatedGroup:
    """A group whose members have begun; topic `t0` has one partition."""

    def __init__(self, protocol: str, members: int, **habits: bool) -> None:
        simulated = self.simulated = SimulatedCluster()
        self.world: ClusterWorld = simulated.world
        plan = self.plan = GroupPlan(Random(0), (protocol,))
        plan.members, plan.admin = members, habits.pop("admin", False)
        plan.cooperative = protocol == "cooperative"
        plan.on = {habit: habits.get(habit, False) for habit in plan.on}
        plan.session_timeout_ms, plan.rebalance_timeout_ms, plan.pause_ms = 800, 400, 40.0
        for kind in ("dawdlers", "restarts"):
            simulated.plan.on[kind] = habits.get(kind, False)
        operator = ClusterOperator(self.world, Random(0), simulated.plan)
        setting = CrewSetting(
            self.world,
            simulated.truth,
            simulated.plan,
            operator,
            lambda purpose: Random(f"1/{purpose}"),
        )
        self.group = Group(setting, "g", plan)
        self.book = self.group.book
        for one in self.group.actors:
            one.start()

    def member(self, number: int) -> GroupMember:
        return self.group.members[number]

    def settle(self) -> None:
        """Let it become stable."""
        self.group.calm_down()
        settled = self.world.run_until(lambda: not self.group.unsettled(), 20_000)
        assert settled, self.group.unsettled()
        assert not self.world.violations, self.world.violations
