"""The groups of a cluster's run: their members and admins, from the first join to the last.

Once the cluster is healed each group must become stable: every member is in, what they have is
what they want, each partition of one of them, and their offsets go through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.classic_members import ClassicMember
from simulation.cluster.consumer_members import ConsumerMember
from simulation.cluster.crews import Crew, CrewSetting
from simulation.cluster.group_admins import GroupAdmin
from simulation.cluster.group_book import GroupBook
from simulation.cluster.group_members import Setting
from simulation.cluster.group_plan import GROUP_KINDS, GroupPlan
from simulation.cluster.hasty_joins import HastyJoins

if TYPE_CHECKING:
    from simulation.cluster.group_members import GroupMember

OFFSETS_PARTITIONS = 1


class Group:
    """One group."""

    def __init__(self, crew: CrewSetting, name: str, group: GroupPlan) -> None:
        self.name = name
        self.book = GroupBook(crew.world, crew.truth, name, OFFSETS_PARTITIONS)
        hasty = None
        if crew.plan.on["hasty"]:
            hasty = HastyJoins(self.book, crew.stream(f"{name}/hasty"))
        restarts = crew.stream(f"{name}/restarts") if crew.plan.on["restarts"] else None
        setting = Setting(self.book, crew.truth, crew.plan, group, hasty, restarts)
        self.members: list[GroupMember] = []
        for member_name in crew.names(f"{name}m", group.members):
            speaks_classic = group.speaks_classic(crew.stream(f"{member_name}/protocol"))
            kind = ClassicMember if speaks_classic else ConsumerMember
            self.members.append(kind(setting, member_name, crew.stream(member_name)))
        instances = [one.instance_id for one in self.members if one.instance_id is not None]
        self.admins = [
            GroupAdmin(setting, admin_name, crew.stream(admin_name), instances)
            for admin_name in crew.names(f"{name}admin", int(group.admin))
        ]
        self._stopped = False

    @property
    def actors(self) -> list[GroupMember]:
        """Its members and admins."""
        return [*self.members, *self.admins]

    def calm_down(self) -> None:
        """All behave from now on."""
        for one in self.actors:
            one.calm_down()

    def busy(self) -> str:
        """Why it is not stable yet, or who has not stopped since it is; empty: all have."""
        if not self._stopped:
            reason = self.unsettled()
            if reason:
                return reason
            self._stopped = True
            for one in self.actors:
                one.stop()
        return next((f"{one.name} has no answer" for one in self.actors if one.busy), "")

    def unsettled(self) -> str:
        """Why it is not stable; empty: it is."""
        for one in self.actors:
            if not one.settled:
                return f"{self.name}: {one.name} is not in, or its offsets do not go through"
        wanted = set[tuple[str, int]]().union(*(member.wanted() for member in self.members))
        had = [part for member in self.members for part in member.owned]
        if sorted(had) != sorted(wanted):
            return f"{self.name}: its members have {sorted(had)} of {sorted(wanted)}"
        return ""


class GroupCrew(Crew):
    """All groups of a run."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.groups: list[Group] = []
        for kind, protocols in GROUP_KINDS.items():
            if self.plan.on[kind]:
                name = kind.replace("_group", "")
                group = GroupPlan(setting.stream(name), protocols)
                group.members = min(group.members, self.plan.group_times.max_size)
                self.groups.append(Group(setting, name, group))
                self.world.note(name, str(group))
        self.clients = [one for group in self.groups for one in group.actors]

    def counts(self) -> dict[str, int]:
        return {
            "group offsets": sum(group.book.checks for group in self.groups),
            "generations": sum(group.book.generations for group in self.groups),
        }

    def stop(self) -> None:
        """All behave from now on."""
        for group in self.groups:
            group.calm_down()

    def finish(self) -> None:
        """Once more: they may have been well before the cluster was."""
        self.stop()

    def is_busy(self) -> bool:
        return bool(self.busy())

    def busy(self) -> list[str]:
        """Why groups are not stable; each stops once it is."""
        return [told for told in (group.busy() for group in self.groups) if told]
