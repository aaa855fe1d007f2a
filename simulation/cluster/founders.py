"""Founders of groups, by both protocols at once, where a seed draws "founders".

A JoinGroup makes a group, and waits until that is replicated. Meanwhile a member of KIP-848 comes,
so that the group, which is empty, is one of the new protocol by then. Who joined is told that there
is no coordinator, and tries again (GroupMetadataManager.classicGroupJoinNewMember), or is let in,
and then under an id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from simulation.cluster.classic_assignor import EAGER, subscription_bytes
from simulation.cluster.clients import ClusterClient, NodeChannel
from simulation.cluster.crews import Crew
from simulation.cluster.hasty_joins import hold_replication

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

FIND, JOIN, HEARTBEAT = 3, 9, 1
JOINS, LEAVES = 0, -1
COMES_AFTER_MS = (0.0, 1.0, 5.0, 60.0)
REPLICATED_AFTER_MS = 30.0
PAUSE_MS = 300.0


class Founder(ClusterClient):
    """Founds one group after the other."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.founded = 0

    def begin(self) -> None:
        def found(answer: FindCoordinatorResponse | None) -> None:
            if answer is None or answer.error_code:
                self.later()
            else:
                self._found(answer.node_id)

        request = FindCoordinatorRequest(key=self.name)
        self.ask(self.any_node(), request, FIND, FindCoordinatorResponse, found)

    def _found(self, node: int) -> None:
        self.founded += 1
        group = f"{self.name}-{self.founded}"
        if not self.stopped:
            hold_replication(self.world, REPLICATED_AFTER_MS)
        protocol = JoinGroupRequestProtocol(EAGER, subscription_bytes(self.topics, [], -1))
        request = JoinGroupRequest(group, 300, 300, "", None, "consumer", [protocol])
        self.note(f"founds {group} at {node}")

        def joined(answer: JoinGroupResponse | None) -> None:
            error = -1 if answer is None else answer.error_code
            self.note(f"join: {error}")
            if answer is not None and error == ErrorCode.NONE and not answer.member_id:
                self.world.violate(f"{self.name}: is let into {group}, and is told no id")
            self.later(self.rng.random() * PAUSE_MS)

        self.ask(node, request, JOIN, JoinGroupResponse, joined)
        self.world.at(self.rng.choice(COMES_AFTER_MS), lambda: self._come(node, group))

    def _come(self, node: int, group: str) -> None:
        """The member of KIP-848, which goes as soon as it is in."""
        channel = NodeChannel(self.world, self.name, node)

        def gone(_answer: object | None) -> None:
            if channel.wire is not None:
                channel.wire.close()

        def is_in(answer: object | None) -> None:
            if answer is not None:
                request = ConsumerGroupHeartbeatRequest(group, group, LEAVES)
                channel.call(request, HEARTBEAT, gone)

        request = ConsumerGroupHeartbeatRequest(
            group,
            group,
            JOINS,
            rebalance_timeout_ms=300,
            subscribed_topic_names=list(self.topics),
            topic_partitions=[],
        )
        channel.call(request, HEARTBEAT, is_in)


class FounderCrew(Crew):
    """One of them, where a seed draws "founders"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.founders = setting.hire(Founder, "founder", int(self.plan.on["founders"]))
        self.clients = [*self.founders]

    def counts(self) -> dict[str, int]:
        return {"founded": sum(each.founded for each in self.founders)}
