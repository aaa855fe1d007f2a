"""The controller's half of replication: who leads, who is in sync, where replicas are.

`cluster` and the controller's requests call it (Kafka: ReplicationControlManager). Each event turns
into changes of partitions, decided by `elections.changed` and applied to the authoritative store.

Invariant: a partition's epoch grows with each of its changes, its leader epoch with each leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.brokers import UNKNOWN_EPOCH
from mockbroker.metadata.changes import (
    BrokerChanged,
    BrokerUnregistered,
    ConfigsChanged,
    LeaderChanged,
)
from mockbroker.metadata.elections import NO_LEADER, Election, changed
from mockbroker.metadata.names import BESIDE_GROUPS, GROUP_METADATA_TOPIC
from mockbroker.metadata.placement import invalid_assignment
from mockbroker.metadata.store import RESOURCE_TOPIC
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.metadata.store import MetadataStore, Topic

_TOGETHER: Final = frozenset({GROUP_METADATA_TOPIC, *BESIDE_GROUPS})
_UNCLEAN_CONFIG: Final = "unclean.leader.election.enable"
_UNKNOWN: Final = Refusal(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
)


class ReplicationControl:
    """Decides over the partitions of `store`."""

    __slots__ = ("_balance_check", "_balanced_version", "_store")

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._balance_check: tuple[TimerTask, int] | None = None
        self._balanced_version = -1
        """What was the last version of `store` when it was last balanced."""

    # -- brokers come and go ---------------------------------------------------------------

    def fence(self, node_id: int) -> None:
        """The broker is not heard of: it leads nothing and is in no in-sync set any more."""
        broker = self._store.brokers.get(node_id)
        if broker is not None and not broker.fenced:
            self._store.apply(BrokerChanged(broker._replace(fenced=True, leaving=False)))
            self._withdraw(node_id)

    def unfence(self, node_id: int) -> None:
        """The broker is there (again): it may lead what waits for a leader."""
        broker = self._store.brokers.get(node_id)
        if broker is None:
            return  # it was unregistered, and must register anew
        if broker.fenced or broker.leaving:
            self._store.apply(BrokerChanged(broker._replace(fenced=False, leaving=False)))
        self.elect_leaderless()

    def forget_eligible(self, node_id: int) -> None:
        """A fenced broker may lack what it had: it may not lead without having caught up."""
        for topic, index, state in self._partitions():
            if node_id in state.elr:
                left = state._replace(elr=[node for node in state.elr if node != node_id])
                made = changed(left, self._is_active, self._min_isr(topic, state))
                if made is None:
                    made = left._replace(partition_epoch=state.partition_epoch + 1)
                self._store.apply(LeaderChanged(topic.name, topic.id, index, made))

    def begin_shutdown(self, node_id: int) -> None:
        """The broker wants to stop: its leaders move where they can, and it leaves in-sync sets."""
        broker = self._store.brokers.get(node_id)
        if broker is not None and broker.active:
            self._store.apply(BrokerChanged(broker._replace(leaving=True)))
            self._withdraw(node_id)

    def unregister(self, node_id: int) -> Refusal:
        """Take a broker off the books (Kafka: unregisterBroker); replicas it has stay assigned.

        It leads nothing from then on and is in no in-sync set.
        """
        if node_id not in self._store.brokers:
            return Refusal(
                ErrorCode.BROKER_ID_NOT_REGISTERED,
                f"Broker ID {node_id} is not currently registered",
            )
        self.fence(node_id)
        self._store.apply(BrokerUnregistered(node_id))
        return ACCEPTED

    def elect_leaderless(self) -> None:
        """Give a leader to each partition that has none, if somebody may lead it."""
        for topic, index, state in self._partitions():
            if state.leader == NO_LEADER:
                self._change(topic, index, state)

    def balance(self) -> None:
        """Give the lead back to preferred replicas that are in sync (auto.leader.rebalance)."""
        for topic, index, state in self._partitions():
            if state.leader != state.replicas[0] and state.replicas[0] in state.isr:
                self._change(topic, index, state, election=Election.PREFERRED)

    def supervise(self, clock: Clock, timer: Timer, config: BrokerConfig) -> None:
        """Do from now on what no broker asks for: `review_eligible` and, if wanted, `balance`."""
        self._store.subscribe(
            lambda change: (
                self.review_eligible(change) if isinstance(change, ConfigsChanged) else None
            )
        )
        interval_ms = config.int("leader.imbalance.check.interval.seconds") * 1000

        def balance() -> None:
            self.balance()
            self._balanced_version = self._store.version
            balance_later()

        def balance_later() -> None:
            task = timer.schedule(clock.now_ms + interval_ms, balance)
            self._balance_check = task, interval_ms

        if config.bool("auto.leader.rebalance.enable"):
            balance_later()

    def idle_balance(self) -> tuple[TimerTask, int] | None:
        """The next `balance` and its interval, if nothing was decided since the last; else None."""
        return self._balance_check if self._balanced_version == self._store.version else None

    def review_eligible(self, change: ConfigsChanged) -> None:
        """Configs changed: where the in-sync set is large enough by now, nobody else is eligible.

        A leader that may go on alone leaves eligible replicas behind (KIP-966; Kafka:
        getPartitionElrUpdatesForConfigChanges).
        """
        topics: Iterable[Topic] = self._store.topics.values()
        if change.resource_type == RESOURCE_TOPIC:
            topics = (self._store.topics[change.name],)
        for topic in topics:
            for index, state in enumerate(topic.partitions):
                if state.elr and len(state.isr) >= self._min_isr(topic, state):
                    self._change(topic, index, state)

    def _withdraw(self, node_id: int) -> None:
        for topic, index, state in self._partitions():
            if state.leader == node_id or node_id in state.isr:
                isr = [node for node in state.isr if node != node_id]
                self._change(topic, index, state, isr=isr)

    # -- what leaders and operators ask ----------------------------------------------------

    def alter_partition(
        self,
        node_id: int,
        topic_id: bytes,
        index: int,
        leader_epoch: int,
        partition_epoch: int,
        isr: Sequence[int],
        broker_epochs: Sequence[int] = (),
    ) -> ErrorCode:
        """A leader proposes another in-sync set (Kafka: validateAlterPartitionData).

        `broker_epochs` are those of the set, -1 for unknown (KIP-903). 3 or 100 unknown, 74 or 42
        not the leader that it believes to be, 95 it missed a change, 107 someone in the set may not
        be there.
        """
        topic = self._store.topics_by_id.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if not 0 <= index < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        state = topic.partitions[index]
        if leader_epoch > state.leader_epoch or partition_epoch > state.partition_epoch:
            return ErrorCode.NOT_CONTROLLER
        if leader_epoch < state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if node_id != state.leader:
            return ErrorCode.INVALID_REQUEST
        if partition_epoch < state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        if node_id not in isr or not set(isr) <= set(state.replicas):
            return ErrorCode.INVALID_REQUEST
        if not all(self._is_active(node) for node in isr if node not in state.isr):
            return ErrorCode.INELIGIBLE_REPLICA
        told = zip(isr, broker_epochs, strict=False)
        if not all(self._is_registered(node, epoch) for node, epoch in told):
            return ErrorCode.INELIGIBLE_REPLICA
        self._change(topic, index, state, isr=isr)
        return ErrorCode.NONE

    def elect(self, name: str, index: int, election: Election) -> Refusal:
        """ElectLeaders, of one partition (Kafka: electLeader)."""
        topic = self._store.topics.get(name)
        if topic is None:
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
        if not 0 <= index < len(topic.partitions):
            return Refusal(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
            )
        state = topic.partitions[index]
        preferred = election is Election.PREFERRED
        if state.leader == state.replicas[0] if preferred else state.leader != NO_LEADER:
            return Refusal(
                ErrorCode.ELECTION_NOT_NEEDED,
                "Leader election not needed for topic partition.",
            )
        self._change(topic, index, state, election=election)
        after = topic.partitions[index]
        if preferred and after.leader != after.replicas[0]:
            message = "The preferred leader was not available."
            return Refusal(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, message)
        if after.leader == NO_LEADER:
            return Refusal(
                ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
                "Eligible topic partition leaders are not available.",
            )
        return ACCEPTED

    def move_leader(self, name: str, index: int, to: int) -> str | None:
        """Make an in-sync replica the leader; why not, or None when it leads."""
        state = self._state(name, index)
        if isinstance(state, str):
            return state
        if state.leader == to:
            return None
        able = [node for node in state.isr if self._is_active(node)]
        if to not in able:
            return f"broker {to} cannot lead {name}-{index}: in sync and alive are {able}"
        topic = self._store.topics[name]
        made = changed(
            state, lambda node: node == to, self._min_isr(topic, state), election=Election.ONLINE
        )
        assert made is not None
        self._apply(topic, index, made)
        return None

    def shrink_isr(self, name: str, index: int, without: int) -> str | None:
        """Take a follower out of the in-sync set; why not, or None when it is out."""
        state = self._state(name, index)
        if isinstance(state, str):
            return state
        if without == state.leader:
            return f"broker {without} leads {name}-{index}: a leader is always in sync"
        if without not in state.isr:
            return f"broker {without} is not in the in-sync set {list(state.isr)} of {name}-{index}"
        isr = [node for node in state.isr if node != without]
        self._change(self._store.topics[name], index, state, isr=isr)
        return None

    # -- reassignments ---------------------------------------------------------------------

    def reassign(
        self, name: str, index: int, target: Sequence[int] | None, *, may_change_factor: bool = True
    ) -> Refusal:
        """AlterPartitionReassignments, of one partition; a target of None cancels."""
        topic = self._store.topics.get(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            return _UNKNOWN
        state = topic.partitions[index]
        if target is None:
            return self._cancel(topic, index, state)
        refused = self._refuse_target(state, target, may_change_factor=may_change_factor)
        if refused is not None:
            return refused
        settled = [node for node in state.replicas if node not in state.adding]
        adding = [node for node in target if node not in settled]
        # Also who was being added by a reassignment before: it may be in sync, and lead.
        removing = [node for node in state.replicas if node not in target]
        replicas = [*target, *removing]
        self._change(topic, index, state, replicas=replicas, adding=adding, removing=removing)
        return ACCEPTED

    def _refuse_target(
        self, state: PartitionState, target: Sequence[int], *, may_change_factor: bool
    ) -> Refusal | None:
        invalid = invalid_assignment(self._store.brokers, target, None)
        if invalid is not None:
            return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, invalid)
        factor = len(state.replicas) - len(state.adding)
        if not may_change_factor and len(target) != factor:
            return Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"The replication factor is changed from {factor} to {len(target)}",
            )
        return None

    def _cancel(self, topic: Topic, index: int, state: PartitionState) -> Refusal:
        if not state.adding and not state.removing:
            return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        replicas = [node for node in state.replicas if node not in state.adding]
        isr = [node for node in state.isr if node not in state.adding]
        if not isr and not self._is_unclean(topic):
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "Reverting would leave no in-sync replica",
            )
        self._change(topic, index, state, isr=isr, replicas=replicas, adding=(), removing=())
        return ACCEPTED

    def reassignments(
        self, wanted: Iterable[tuple[str, Sequence[int]]] | None
    ) -> list[tuple[str, int, PartitionState]]:
        """The reassignments under way, all of them or those of the partitions `wanted`."""
        asked = None if wanted is None else {name: set(indexes) for name, indexes in wanted}
        return [
            (topic.name, index, state)
            for topic, index, state in self._partitions()
            if (state.adding or state.removing)
            and (asked is None or index in asked.get(topic.name, ()))
        ]

    # -- shared ----------------------------------------------------------------------------

    def _state(self, name: str, index: int) -> PartitionState | str:
        topic = self._store.topics.get(name)
        if topic is None:
            return f"there is no topic {name!r}"
        if not 0 <= index < len(topic.partitions):
            return f"topic {name!r} has partitions 0 to {len(topic.partitions) - 1}, not {index}"
        return topic.partitions[index]

    def _partitions(self) -> Iterator[tuple[Topic, int, PartitionState]]:
        """Each as it is when its turn comes: one that was changed may have changed another."""
        for topic in list(self._store.topics.values()):
            for index in range(len(topic.partitions)):
                yield topic, index, topic.partitions[index]

    def _is_active(self, node_id: int) -> bool:
        broker = self._store.brokers.get(node_id)
        return broker is not None and broker.active

    def _is_registered(self, node_id: int, epoch: int) -> bool:
        """Whether its present registration has this epoch (Kafka: ineligibleReplicasForIsr)."""
        broker = self._store.brokers.get(node_id)
        return broker is not None and epoch in (UNKNOWN_EPOCH, broker.epoch)

    def _is_unclean(self, topic: Topic) -> bool:
        return topic.config.bool(_UNCLEAN_CONFIG)

    def _min_isr(self, topic: Topic, state: PartitionState) -> int:
        return min(topic.config.int("min.insync.replicas"), len(state.replicas))

    def _change(
        self,
        topic: Topic,
        index: int,
        state: PartitionState,
        *,
        election: Election | None = None,
        isr: Sequence[int] | None = None,
        replicas: Sequence[int] | None = None,
        adding: Sequence[int] | None = None,
        removing: Sequence[int] | None = None,
    ) -> None:
        if election is None:
            election = Election.UNCLEAN if self._is_unclean(topic) else Election.ONLINE
        made = changed(
            state,
            self._is_active,
            self._min_isr(topic, state),
            election=election,
            isr=isr,
            replicas=replicas,
            adding=adding,
            removing=removing,
        )
        if made is not None:
            self._apply(topic, index, made)

    def _apply(self, topic: Topic, index: int, made: PartitionState) -> None:
        self._store.apply(LeaderChanged(topic.name, topic.id, index, made))
        if topic.name in _TOGETHER:
            self.lead_together(index)

    def lead_together(self, index: int) -> None:
        """Let who leads a partition of the groups' topic lead those that belong to it.

        A broker that lacks some of one does not: it leads that when it is in sync.
        """
        groups = self._store.topics.get(GROUP_METADATA_TOPIC)
        if groups is None or index >= len(groups.partitions):
            return
        leader = groups.partitions[index].leader
        for name in BESIDE_GROUPS:
            beside = self._store.topics.get(name)
            if beside is not None and beside.internal and index < len(beside.partitions):
                state = beside.partitions[index]
                if state.leader != leader and leader in state.isr and self._is_active(leader):
                    self.move_leader(name, index, leader)
