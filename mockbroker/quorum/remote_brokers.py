"""Brokers that register from outside: real ones, that follow the metadata log and serve clients.

The handlers of BrokerRegistration and BrokerHeartbeat ask here; what is decided goes through
`MetadataStore.apply`, so clients of ours are told of such a broker and topics may be placed on it.
What becomes of its partitions `ReplicationControl` decides, as for brokers of this process. Kafka:
ClusterControlManager, BrokerHeartbeatManager.

Invariants: a broker outside has an id that no broker of this process has; its session's timer runs
exactly while it is not fenced; its epoch is the offset of its record in the log.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.brokers import BrokerInfo, Endpoint
from mockbroker.metadata.changes import BrokerChanged
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.clock import TimerTask
    from mockbroker.metadata.controller import Controller
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker.quorum.registrations import Registration

_NONE = ErrorCode.NONE


class Heartbeat(NamedTuple):
    """The answer to a heartbeat."""

    error: ErrorCode
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


class RemoteBrokers:
    """Registrations and sessions of the brokers outside this process."""

    __slots__ = ("_controller", "_quorum", "_session_ms", "_sessions")

    def __init__(self, quorum: MetadataQuorum, controller: Controller) -> None:
        self._quorum = quorum
        self._controller = controller
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
            if known is not None:
                self._fence(node_id)
            quorum.external[node_id] = asked
            self._register(asked)
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

    def _register(self, registration: Registration) -> None:
        quorum = self._quorum
        endpoints = {one.name: Endpoint(one.host, one.port) for one in registration.listeners}
        info = BrokerInfo(
            registration.node_id,
            endpoints,
            registration.rack,
            fenced=True,
            remote=True,
            epoch=quorum.log.log_end_offset,
        )
        quorum.store.apply(BrokerChanged(info))

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
        error = self.check_epoch(node_id, epoch)
        if error is not _NONE:
            return Heartbeat(error)
        caught_up = metadata_offset >= epoch
        fenced = self._quorum.store.brokers[node_id].fenced
        if want_shut_down or (want_fence and not fenced):
            self._fence(node_id)
            return Heartbeat(_NONE, caught_up, True, want_shut_down)
        self._touch(node_id)
        if fenced and not want_fence and caught_up:
            self._controller.replication.unfence(node_id)
            fenced = False
        return Heartbeat(_NONE, caught_up, fenced)

    def check_epoch(self, node_id: int, epoch: int) -> ErrorCode:
        """Kafka: ClusterControlManager.checkBrokerEpoch."""
        registration = self._quorum.translation.registrations.get(node_id)
        if registration is None or node_id not in self._quorum.external:
            return ErrorCode.BROKER_ID_NOT_REGISTERED
        return _NONE if registration.epoch == epoch else ErrorCode.STALE_BROKER_EPOCH

    def forget(self, node_id: int) -> None:
        """It was unregistered: its heartbeats are refused until it registers anew."""
        self._end_session(node_id)
        self._quorum.external.pop(node_id, None)

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
        self._controller.replication.fence(node_id)
