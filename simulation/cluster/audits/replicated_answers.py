"""What coordinators of groups answer counts: it is replicated, with all that it follows from.

A heartbeat that says that all is well, who has left, what is deleted or is not there to be deleted:
each is told once the in-sync replicas have what the coordinator had written when it was asked
(CoordinatorRuntime: an event without records waits for those before it). A deletion is refused for
what was written when that was decided, which is when all from before is replicated.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatResponse
from mockbroker_protocol.messages.group_membership import (
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from simulation.stage import Observer

if TYPE_CHECKING:
    from random import Random

    from mockbroker.cluster.nodes import Node
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition
    from simulation.cluster.truth import ReplicaState, Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.stage import Wire

ASKS = 0.2
"""How often somebody deletes what there is not, while writes are under way."""
NOBODY = "of-nobody"
LEAVE_VERSION = 5


class Lead(NamedTuple):
    """What a broker that leads the partition of groups had at the end of a step."""

    partition: Partition
    epoch: int
    end: int
    high_watermark: int

    @property
    def is_in_force(self) -> bool:
        """Whether the broker leads still, in the same epoch."""
        partition = self.partition
        return (
            partition.is_leader and partition.leader_epoch == self.epoch and not partition.deleted
        )


class _Deletion:
    """One that must be refused: `end` is where the log ended at least, when it was decided."""

    def __init__(self, lead: Lead) -> None:
        self.asked = lead
        self.end: int | None = None


class ReplicatedAnswers(Observer):
    """Watches all wires; `judge` is given each answer that a client took."""

    def __init__(self, world: ClusterWorld, truth: Truth, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self._leads: dict[int, Lead] = {}
        self._asked: dict[int, Lead] = {}
        """By wire, what the broker had when a request came, if that was not replicated."""
        self._told: dict[int, tuple[int, int]] = {}
        """What an answer had to wait for, and what was replicated when it left."""
        self._deletions: dict[_Deletion, int] = {}
        self.judged = 0
        world.observers.append(self)
        world.on_answer.append(self.judge)
        truth.on_replica.append(self._on_replica)

    def _on_replica(self, at: Node, partition: Partition, _before: ReplicaState | None) -> None:
        if partition.topic != GROUP_METADATA_TOPIC or partition.index:
            return
        before = self._leads.pop(at.node_id, None)
        if partition.log is None or not partition.is_leader:
            return
        epoch, mark = partition.leader_epoch, partition.high_watermark
        lead = Lead(partition, epoch, partition.log.log_end_offset, mark)
        for deletion, node in self._deletions.items():
            if node == at.node_id and before is not None:
                _decide(deletion, before, mark)
        self._leads[at.node_id] = lead

    # -- wires -------------------------------------------------------------------------------

    def bytes_arrived(self, wire: Wire, _count: int) -> None:
        self._told.pop(wire.id, None)
        lead = self._leads.get(wire.node)
        if lead is not None and lead.end > lead.high_watermark:
            self._asked[wire.id] = lead
        else:
            self._asked.pop(wire.id, None)

    def bytes_emitted(self, wire: Wire, data: bytes) -> None:
        asked = self._asked.pop(wire.id, None) if data else None
        if asked is not None and asked.is_in_force:
            self._told[wire.id] = asked.end, asked.partition.high_watermark

    def hung_up(self, wire: Wire) -> None:
        self._asked.pop(wire.id, None)

    def judge(self, who: str, wire: Wire, _request: object, answer: object) -> None:
        """A client took the answer to a request; one at a time is under way on its wire."""
        wanted, replicated = self._told.pop(wire.id, (0, 0))
        if not wanted or not _follows_from_writes(answer):
            return
        self.judged += 1
        if replicated < wanted:
            self._world.violate(
                f"{who}: {type(answer).__name__} of {wire.node} is told at {replicated}, and "
                f"{wanted} were written before"
            )

    # -- deletions ---------------------------------------------------------------------------

    def ask(self, broker: Broker) -> None:
        """Have a broker delete what there is not, or have nobody leave, perhaps, while it has
        writes under way.
        """
        lead = self._leads.get(broker.broker_id)
        if lead is None or lead.end <= lead.high_watermark or self._rng.random() >= ASKS:
            return
        groups = broker.services.groups.service
        if self._rng.random() < 0.5:
            request = LeaveGroupRequest(NOBODY, members=[MemberIdentity(NOBODY)])
            groups.leave(request, LEAVE_VERSION, partial(self._left, broker.broker_id, lead))
            return
        deletion = _Deletion(lead)
        self._deletions[deletion] = broker.broker_id
        groups.delete_group(NOBODY, partial(self._deleted, broker.broker_id, deletion))

    def _left(self, node: int, asked: Lead, answer: LeaveGroupResponse) -> None:
        if answer.error_code or not asked.is_in_force:
            return
        mark = asked.partition.high_watermark
        self.judged += 1
        if mark < asked.end:
            self._world.violate(
                f"broker {node} answers a LeaveGroup at {mark}, and {asked.end} were written before"
            )

    def _deleted(self, node: int, deletion: _Deletion, error: ErrorCode) -> None:
        del self._deletions[deletion]
        asked, lead = deletion.asked, self._leads.get(node)
        if error is not ErrorCode.GROUP_ID_NOT_FOUND or lead is None or not asked.is_in_force:
            return
        mark = asked.partition.high_watermark
        _decide(deletion, lead, mark)
        self.judged += 1
        if deletion.end is None or mark < deletion.end:
            self._world.violate(
                f"broker {node} refuses a deletion at {mark}, and {deletion.end} were written "
                "when that was decided"
            )


def _decide(deletion: _Deletion, before: Lead, mark: int) -> None:
    """Once its high watermark has passed what was written before, it is decided.

    By then all is written that was at the end of the step `before`.
    """
    if deletion.end is None and mark >= deletion.asked.end:
        deletion.end = max(before.end, deletion.asked.end)


def _follows_from_writes(answer: object) -> bool:
    if isinstance(answer, ConsumerGroupHeartbeatResponse):
        return not answer.error_code
    if isinstance(answer, HeartbeatResponse):
        return answer.error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
    if isinstance(answer, LeaveGroupResponse):
        return not answer.error_code and not any(one.error_code for one in answer.members)
    return False
