"""The crew of admins, and the metadata of every broker at rest: images of the controller's store.

The admin works where a seed draws "admin"; the images are compared in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.cluster_admins import ClusterAdmin
from simulation.cluster.crews import Crew
from simulation.cluster.metadata_history import MetadataHistory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulation.cluster.crews import CrewSetting


class AdminCrew(Crew):
    """At most one admin: nobody else changes what it changes."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.history = MetadataHistory(self.world)
        self.admins = [
            ClusterAdmin(
                self.world, name, setting.stream(name), self.truth, self.plan, self.history
            )
            for name in setting.names("admin", int(self.plan.on["admin"]))
        ]
        self.clients = [*self.admins]

    def counts(self) -> Mapping[str, int]:
        return {
            "changes": sum(admin.made for admin in self.admins),
            "refusals": sum(admin.refused for admin in self.admins),
            "looks": sum(admin.looks for admin in self.admins),
        }

    def behind(self) -> str:
        """A broker that what was decided over a slow link has not reached yet."""
        for node, incarnation in self.world.peers.running.items():
            if incarnation.feed.behind:
                return f"broker {node} with {incarnation.feed.behind} changes of the metadata"
        return ""

    def check(self) -> None:
        for difference in self.history.differences():
            self.world.violate(difference)
