"""Brokers that register from outside: real ones, that follow the metadata log and serve clients.

The handlers of BrokerRegistration, BrokerHeartbeat and AlterPartition ask here; what is decided
goes through `MetadataStore.apply`, so clients of ours are told of such a broker and topics may be
placed on it. Kafka: ClusterControlManager, BrokerHeartbeatManager, ReplicationControlManager.

Invariants: a broker outside has an id that no broker of this process has; its session's timer runs
exactly while it is not fenced; its epoch is the offset of its record in the log.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.brokers import BrokerInfo, Endpoint
from mockbroker.metadata.changes import BrokerChanged, LeaderChanged, PartitionState
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.clock import TimerTask
    from mockbroker.metadata.store import Topic
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker.quorum.registrations import Registration

NO_LEADER = -1
_NONE = ErrorCode.NONE


class Heartbeat(NamedTuple):
    """The answer to a heartbeat."""

    error: ErrorCode
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


class RemoteBrokers:
    """Registrations and sessions of the brokers outside this process."""

    __slots__ = ("_quorum", "_session_ms", "_sessions")

    def __init__(self, quorum: MetadataQuorum) -> None:
        self._quorum = quorum
        self._session_ms = quorum.store.config.int("broker.session.timeout.ms")
        self._sessions: dict[int, TimerTask] = {}

    # -- registration ------------------------------------------------------------------------

    def register(self, cluster_id: str, asked: Registration) -> tuple[ErrorCode, int]:
        """A broker starts: (error, broker epoch). It is fenced until it has caught up."""
        quorum = self._quorum
        node_id = asked.node_id
        refused = self._refuse(cluster_id, asked)
        if refused is not _NONE:
            return refused, -1
        known = quorum.translation.registrations.get(node_id)
        if known is None or known.incarnation_id != asked.incarnation_id:
            self._end_session(node_id)
            self._leave(node_id)
            quorum.external[node_id] = asked
            self._apply(asked, fenced=True)
        self._touch(node_id)
        return _NONE, quorum.translation.registrations[node_id].epoch

    def _refuse(self, cluster_id: str, asked: Registration) -> ErrorCode:
        quorum = self._quorum
        if cluster_id != quorum.store.cluster_id:
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        registered = quorum.store.brokers.get(asked.node_id)
        if registered is not None:
            known = quorum.external.get(asked.node_id)
            if known is None:
                return ErrorCode.DUPLICATE_BROKER_REGISTRATION
            if asked.node_id in self._sessions and known.incarnation_id != asked.incarnation_id:
                return ErrorCode.DUPLICATE_BROKER_REGISTRATION
        if not asked.log_dirs or len(set(asked.log_dirs)) != len(asked.log_dirs):
            return ErrorCode.INVALID_REGISTRATION
        for name, level in quorum.features.items():
            lowest, highest = asked.features.get(name, (0, 0))
            if level and not lowest <= level <= highest:
                return ErrorCode.UNSUPPORTED_VERSION
        return _NONE

    def _apply(self, registration: Registration, *, fenced: bool) -> None:
        endpoints = {one.name: Endpoint(one.host, one.port) for one in registration.listeners}
        info = BrokerInfo(registration.node_id, endpoints, registration.rack, fenced=fenced)
        self._quorum.store.apply(BrokerChanged(info))

    # -- sessions ----------------------------------------------------------------------------

    def heartbeat(
        self,
        node_id: int,
        epoch: int,
        metadata_offset: int,
        *,
        want_fence: bool,
        want_shut_down: bool,
    ) -> Heartbeat:
        """A broker lives; whether it may serve, and may go (calculateNextBrokerState)."""
        registration = self._quorum.external.get(node_id)
        error = self.check_epoch(node_id, epoch)
        if error is not _NONE or registration is None:
            return Heartbeat(error)
        caught_up = metadata_offset >= epoch
        fenced = self._quorum.store.brokers[node_id].fenced
        if want_shut_down or (want_fence and not fenced):
            self._fence(node_id)
            return Heartbeat(_NONE, caught_up, True, want_shut_down)
        self._touch(node_id)
        if fenced and not want_fence and caught_up:
            self._apply(registration, fenced=False)
            self._return(node_id)
            fenced = False
        return Heartbeat(_NONE, caught_up, fenced)

    def check_epoch(self, node_id: int, epoch: int) -> ErrorCode:
        """Kafka: ClusterControlManager.checkBrokerEpoch."""
        registration = self._quorum.translation.registrations.get(node_id)
        if registration is None or node_id not in self._quorum.external:
            return ErrorCode.BROKER_ID_NOT_REGISTERED
        return _NONE if registration.epoch == epoch else ErrorCode.STALE_BROKER_EPOCH

    def _touch(self, node_id: int) -> None:
        self._end_session(node_id)
        self._sessions[node_id] = self._quorum.timer.schedule(
            self._quorum.clock.now_ms + self._session_ms, partial(self._fence, node_id)
        )

    def _end_session(self, node_id: int) -> None:
        session = self._sessions.pop(node_id, None)
        if session is not None:
            session.cancel()

    def _fence(self, node_id: int) -> None:
        """It fell silent, or leaves: others lead its partitions from now on."""
        self._end_session(node_id)
        if not self._quorum.store.brokers[node_id].fenced:
            self._apply(self._quorum.external[node_id], fenced=True)
        self._leave(node_id)

    # -- partitions --------------------------------------------------------------------------

    def _leave(self, node_id: int) -> None:
        """Take a broker out of what it leads and of in-sync sets that have others."""
        brokers = self._quorum.store.brokers
        for topic, index, state in list(self._partitions()):
            if node_id not in state.isr:
                continue
            isr = [one for one in state.isr if one != node_id] or [node_id]
            leader = state.leader
            if leader == node_id:
                alive = (one for one in state.replicas if one in isr and one != node_id)
                leader = next((one for one in alive if not brokers[one].fenced), NO_LEADER)
            if (leader, isr) != (state.leader, state.isr):
                self._change(topic, index, state, leader, isr)

    def _return(self, node_id: int) -> None:
        """Let a broker lead again what has no leader and was in sync with it."""
        for topic, index, state in list(self._partitions()):
            if state.leader == NO_LEADER and node_id in state.isr:
                self._change(topic, index, state, node_id, state.isr)

    def alter_partition(
        self, node_id: int, topic_id: bytes, index: int, asked: PartitionState
    ) -> tuple[ErrorCode, PartitionState | None]:
        """A leader outside proposes the in-sync set of `asked`; what the partition is now.

        Kafka: ReplicationControlManager.validateAlterPartitionData.
        """
        store = self._quorum.store
        topic = store.topics_by_id.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID, None
        if not 0 <= index < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        state = topic.partitions[index]
        if asked.leader_epoch > state.leader_epoch or asked.partition_epoch > state.partition_epoch:
            return ErrorCode.NOT_CONTROLLER, None
        if asked.leader_epoch < state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH, None
        if state.leader != node_id:
            return ErrorCode.INVALID_REQUEST, None
        if asked.partition_epoch < state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION, None
        if node_id not in asked.isr or not set(asked.isr) <= set(state.replicas):
            return ErrorCode.INVALID_REQUEST, None
        if any(store.brokers[one].fenced for one in asked.isr if one not in state.isr):
            return ErrorCode.INELIGIBLE_REPLICA, None
        return _NONE, self._change(topic, index, state, state.leader, asked.isr)

    def _partitions(self) -> Iterator[tuple[Topic, int, PartitionState]]:
        for topic in self._quorum.store.topics.values():
            for index, state in enumerate(topic.partitions):
                yield topic, index, state

    def _change(
        self, topic: Topic, index: int, old: PartitionState, leader: int, isr: Sequence[int]
    ) -> PartitionState:
        state = PartitionState(
            leader,
            old.replicas,
            list(isr),
            old.leader_epoch + (leader != old.leader),
            old.partition_epoch + 1,
        )
        self._quorum.store.apply(LeaderChanged(topic.name, topic.id, index, state))
        return state
