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
    from collections.abc import Mapping

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.quorum.metadata_log import MetadataLog
    from mockbroker.quorum.registrations import Registration

_NONE = ErrorCode.NONE


class Heartbeat(NamedTuple):
    """The answer to a heartbeat."""

    error: ErrorCode
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


class RemoteBrokers:
    """Registrations and sessions of the brokers outside this process.

    `log` is the metadata log, `logged` the registrations of all brokers as it has them.
    """

    __slots__ = (
        "_clock",
        "_controller",
        "_log",
        "_logged",
        "_session_ms",
        "_sessions",
        "_store",
        "_timer",
        "registered",
    )

    def __init__(
        self,
        store: MetadataStore,
        controller: Controller,
        clock: Clock,
        timer: Timer,
        log: MetadataLog,
        logged: Mapping[int, Registration],
    ) -> None:
        self._store = store
        self._controller = controller
        self._clock = clock
        self._timer = timer
        self._log = log
        self._logged = logged
        self.registered: dict[int, Registration] = {}
        """As they asked to be, by node id."""
        self._session_ms = store.config.int("broker.session.timeout.ms")
        self._sessions: dict[int, TimerTask] = {}

    # -- registration ------------------------------------------------------------------------

    def register(self, cluster_id: str, asked: Registration) -> tuple[ErrorCode, int]:
        """A broker starts: (error, broker epoch). It is fenced until it has caught up."""
        node_id = asked.node_id
        refused = self._refuse(cluster_id, asked)
        if refused is not _NONE:
            return refused, -1
        known = self._logged.get(node_id)
        if known is None or known.incarnation_id != asked.incarnation_id:
            if known is not None:
                self._fence(node_id)
            self.registered[node_id] = asked
            self._register(asked)
        self._touch(node_id)
        return _NONE, self._logged[node_id].epoch

    def _refuse(self, cluster_id: str, asked: Registration) -> ErrorCode:
        if cluster_id != self._store.cluster_id:
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if asked.node_id in self._store.brokers:
            known = self.registered.get(asked.node_id)
            if known is None:
                return ErrorCode.DUPLICATE_BROKER_REGISTRATION
            if asked.node_id in self._sessions and known.incarnation_id != asked.incarnation_id:
                return ErrorCode.DUPLICATE_BROKER_REGISTRATION
        if not asked.log_dirs or len(set(asked.log_dirs)) != len(asked.log_dirs):
            return ErrorCode.INVALID_REGISTRATION
        for name, level in self._store.features.items():
            lowest, highest = asked.features.get(name, (0, 0))
            if level and not lowest <= level <= highest:
                return ErrorCode.UNSUPPORTED_VERSION
        return _NONE

    def _register(self, registration: Registration) -> None:
        endpoints = {one.name: Endpoint(one.host, one.port) for one in registration.listeners}
        info = BrokerInfo(
            registration.node_id,
            endpoints,
            registration.rack,
            fenced=True,
            epoch=self._log.log_end_offset,
        )
        self._store.apply(BrokerChanged(info))

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
        """Keep its session; whether it may serve, or stop (Kafka: calculateNextBrokerState)."""
        error = self.check_epoch(node_id, epoch)
        if error is not _NONE:
            return Heartbeat(error)
        caught_up = metadata_offset >= epoch
        fenced = self._store.brokers[node_id].fenced
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
        registration = self._logged.get(node_id)
        if registration is None or node_id not in self.registered:
            return ErrorCode.BROKER_ID_NOT_REGISTERED
        return _NONE if registration.epoch == epoch else ErrorCode.STALE_BROKER_EPOCH

    def forget(self, node_id: int) -> None:
        """It was unregistered: its heartbeats are refused until it registers anew."""
        self._end_session(node_id)
        self.registered.pop(node_id, None)

    def _touch(self, node_id: int) -> None:
        self._end_session(node_id)
        self._sessions[node_id] = self._timer.schedule(
            self._clock.now_ms + self._session_ms, partial(self._fence, node_id)
        )

    def _end_session(self, node_id: int) -> None:
        session = self._sessions.pop(node_id, None)
        if session is not None:
            session.cancel()

    def _fence(self, node_id: int) -> None:
        """It fell silent, or leaves: others lead its partitions from now on."""
        self._end_session(node_id)
        self._controller.replication.fence(node_id)
