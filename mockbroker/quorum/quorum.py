"""The quorum of one voter that leads `__cluster_metadata`: epoch, high watermark, who waits.

`cluster` makes one when a controller's listener is wanted; handlers of that listener read it. Each
change that `MetadataStore` applies is handed in by `peers`, and appended as records. A quorum of
one commits what it appends at once; `mockbroker.quorum.commit.delay.ms` and `hold` let the high
watermark trail the log end as it does while other voters replicate, so that its advance is an event
of its own (KIP-1166).

Kafka: KafkaRaftClient and LeaderState for the log, QuorumController for what is in it.

Invariants: the high watermark is None or beyond the start of the leader's epoch; it never moves
back; a parked fetch is completed or given up once; completions run at the end of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from mockbroker.metadata.changes import BrokerUnregistered, FeatureChanged
from mockbroker.metadata.names import random_uuid
from mockbroker.quorum.metadata_log import MetadataLog
from mockbroker.quorum.observers import Observers
from mockbroker.quorum.registrations import ListenerAddress, Registration
from mockbroker.quorum.remote_brokers import RemoteBrokers
from mockbroker.quorum.translation import Translation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata_records import (
    FeatureLevelRecord,
    NoOpRecord,
    RegisterControllerRecord,
    RegisteredEndpoint,
    RegisteredFeature,
)
from mockbroker_protocol.messages.raft_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    Voter,
    VoterEndpoint,
    VoterKRaftVersions,
    VotersRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from random import Random

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.metadata.brokers import BrokerInfo
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.features import Feature
    from mockbroker.metadata.store import MetadataStore

METADATA_VERSION: Final = 27
"""4.1-IV1, which every Apache Kafka from 4.1 on can follow (Kafka: MetadataVersion)."""
HIGHEST_LEVELS: Final = {"share.version": 1}
"""Levels that Apache Kafka 4.4 brought; a broker that does not know one could not register."""
SUPPORTED_FEATURES: Final = {"kraft.version": (0, 1), "metadata.version": (7, METADATA_VERSION)}
_KRAFT_VERSION: Final = 1
_RELEASES_ON_ADVANCE: Final = 18


@dataclass(slots=True, eq=False)
class ParkedFetch:
    """A Fetch of the metadata log that waits, as in the ThresholdPurgatory of KafkaRaftClient.

    `answer(False)` makes the answer anew; `answer(True)`, at the deadline, sends the one that was
    made when the fetch arrived.
    """

    fetch_offset: int
    answer: Callable[[bool], None]
    timer_task: TimerTask | None = None


def _finalize(store: MetadataStore, features: Mapping[str, int]) -> None:
    """Finalize what this log can tell, and nothing else: brokers that are up already hear of it."""
    levels = {name: min(level, HIGHEST_LEVELS.get(name, level)) for name, level in features.items()}
    levels["metadata.version"] = METADATA_VERSION
    for name in {**store.features, **levels}:
        level = levels.get(name, 0)
        if store.features.get(name, 0) != level:
            store.apply(FeatureChanged(name, level))


class MetadataQuorum:
    """The active controller's view. `defer` runs an action at the end of the step.

    `features` are finalized beside metadata.version. Call `start` once the listener is bound.
    """

    def __init__(
        self,
        store: MetadataStore,
        clock: Clock,
        timer: Timer,
        rng: Random,
        *,
        controller: Controller,
        features: Mapping[str, int],
        allocate_producer_ids: Callable[[], range],
        defer: Callable[[Callable[[], None]], None],
    ) -> None:
        config = store.config
        self.store = store
        self.clock = clock
        self.leader_id = config.node_id
        self.epoch = 0
        self.is_leader = False
        _finalize(store, features)
        self._supported = {name: (0, level) for name, level in features.items()}
        self._supported.update(SUPPORTED_FEATURES)
        self.log = MetadataLog()
        self.high_watermark: int | None = None
        self.observers = Observers(clock)
        self.directory_id = random_uuid(rng)
        self.listeners: tuple[ListenerAddress, ...] = ()
        self.translation = Translation(self._register, partial(random_uuid, rng))
        self._broker_listeners: dict[int, tuple[ListenerAddress, ...]] = {}
        self.allocate_producer_ids = allocate_producer_ids
        self._timer = timer
        self.remote_brokers = RemoteBrokers(
            store, controller, clock, timer, self.log, self.translation.registrations
        )
        self._rng = rng
        self._defer = defer
        self._commit_delay_ms = config.int("mockbroker.quorum.commit.delay.ms")
        self._idle_ms = config.int("metadata.max.idle.interval.ms")
        self._advance_wakes = (
            config.int("mockbroker.controller.fetch.max.version") >= _RELEASES_ON_ADVANCE
        )
        self.commits_held = False
        """Whether the high watermark stands still, by a test's wish."""
        self._epoch_start = 0
        self._parked: dict[ParkedFetch, None] = {}
        self._waking = False
        self._advanced = False
        self._no_op_task: TimerTask | None = None

    # -- epochs --------------------------------------------------------------------------------

    def start(
        self,
        listener: ListenerAddress,
        broker_listeners: Mapping[int, Sequence[ListenerAddress]],
    ) -> None:
        """Lead from now on; `listener` is the controller's, the others are the brokers' by id."""
        self.listeners = (listener,)
        self._broker_listeners = {
            node_id: tuple(listeners) for node_id, listeners in broker_listeners.items()
        }
        self._begin_epoch()
        self.append(
            [
                *(FeatureLevelRecord(name, level) for name, level in self.store.features.items()),
                self._controller_registration(),
            ]
        )
        self.append(self.translation.image(self.store, self.log.log_end_offset))
        self._schedule_no_op()

    def begin_epoch(self) -> None:
        """Resign and be elected again: whoever waits is answered 6, and the epoch is another."""
        self.high_watermark = None
        self.observers.clear()
        self.is_leader = False
        for fetch in list(self._parked):
            self._take(fetch)
            fetch.answer(False)
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Kafka: LeaderState.appendStartOfEpochControlRecords."""
        self.epoch += 1
        self.is_leader = True
        self._epoch_start = self.log.log_end_offset
        voter = LeaderChangeVoter(self.leader_id)
        records: list[object] = [LeaderChangeMessage(0, self.leader_id, [voter], [voter])]
        if self._epoch_start == 0:
            records += [KRaftVersionRecord(0, _KRAFT_VERSION), self._voters()]
        self.log.append_control(records, self.epoch, self.clock.wall_ms())
        self._appended()

    def _voters(self) -> VotersRecord:
        endpoints = [VoterEndpoint(one.name, one.host, one.port) for one in self.listeners]
        versions = VoterKRaftVersions(*SUPPORTED_FEATURES["kraft.version"])
        return VotersRecord(0, [Voter(self.leader_id, self.directory_id, endpoints, versions)])

    def _controller_registration(self) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            self.leader_id,
            random_uuid(self._rng),
            end_points=[RegisteredEndpoint(*listener) for listener in self.listeners],
            features=[RegisteredFeature(name, *levels) for name, levels in self._supported.items()],
        )

    @property
    def named_leader(self) -> int:
        """The leader's id, -1 between two epochs."""
        return self.leader_id if self.is_leader else -1

    def supported(self, features: Iterable[Feature]) -> list[Feature]:
        """These with the levels alone that this log can tell and each broker knows.

        Kafka: FeatureControlManager.updateFeature asks controllers and registered brokers.
        """
        registered = (each.features for each in self.translation.registrations.values())
        ranges = [self._supported, *registered]
        narrowed = []
        for feature in features:
            known = [(feature.min_version, feature.max_version)]
            known += [levels.get(feature.name, (0, 0)) for levels in ranges]
            lowest, highest = max(low for low, _ in known), min(high for _, high in known)
            narrowed.append(feature._replace(min_version=lowest, max_version=highest))
        return narrowed

    def leader_error(self, epoch: int) -> ErrorCode:
        """Why a request with that epoch is none for us (validateLeaderOnlyRequest)."""
        if epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # -- what goes into the log --------------------------------------------------------------

    def append_no_op(self) -> int:
        """Write a record that says nothing; returns its offset."""
        return self.append([NoOpRecord()])

    def publish(self, change: Change) -> None:
        """The store has applied a change: write what it means."""
        if isinstance(change, BrokerUnregistered):
            self.remote_brokers.forget(change.node_id)
        self.append(self.translation.records(change, self.log.log_end_offset))

    def append(self, records: Sequence[object]) -> int:
        """Write metadata records; the offset of the first."""
        offset = self.log.log_end_offset
        if records:
            self.log.append(records, self.epoch, self.clock.wall_ms())
            self._appended()
        return offset

    def _register(self, broker: BrokerInfo, offset: int) -> Registration:
        """A broker of this process registers anew when it starts, or its addresses change."""
        remote = self.remote_brokers.registered.get(broker.node_id)
        if remote is not None:
            return remote._replace(epoch=offset)
        known = self.translation.registrations.get(broker.node_id)
        listeners = tuple(
            ListenerAddress(bound.name, endpoint.host or bound.host, endpoint.port or bound.port)
            for bound in self._broker_listeners.get(broker.node_id, ())
            if (endpoint := broker.endpoints.get(bound.name)) is not None
        )
        started = known is None or known.epoch != broker.epoch
        return Registration(
            broker.node_id,
            random_uuid(self._rng) if started or known is None else known.incarnation_id,
            listeners,
            self._supported,
            (random_uuid(self._rng),) if known is None else known.log_dirs,
            broker.rack,
            broker.epoch,
        )

    def _schedule_no_op(self) -> None:
        if self._idle_ms > 0:
            self._no_op_task = self._timer.schedule(
                self.clock.now_ms + self._idle_ms, self._write_no_op
            )

    def _write_no_op(self) -> None:
        self.append_no_op()
        self._schedule_no_op()

    # -- the high watermark ------------------------------------------------------------------

    def hold(self) -> None:
        """Commit nothing until `release`: the voters have stopped replicating."""
        self.commits_held = True

    def release(self) -> None:
        """Commit everything, and from now on as before `hold`."""
        self.commits_held = False
        self._commit(self.log.log_end_offset)

    def _appended(self) -> None:
        end = self.log.log_end_offset
        if self._commit_delay_ms > 0:
            due_ms = self.clock.now_ms + self._commit_delay_ms
            self._timer.schedule(due_ms, partial(self._commit, end))
        else:
            self._commit(end)
        self._wake()

    def _commit(self, offset: int) -> None:
        """A majority has everything below `offset`; it counts once it has one of this epoch."""
        if self.commits_held or offset <= self._epoch_start:
            return
        if self.high_watermark is not None and offset <= self.high_watermark:
            return
        self.high_watermark = offset
        self.log.advance_high_watermark(offset)
        self._advanced = True
        self._wake()

    # -- parked fetches ----------------------------------------------------------------------

    @property
    def has_waiting_observer(self) -> bool:
        """Whether a fetch waits that has everything so far."""
        end = self.log.log_end_offset
        return any(fetch.fetch_offset == end for fetch in self._parked)

    def park(self, fetch: ParkedFetch, deadline_ms: float) -> None:
        """Keep `fetch` until there is news for it or its time is over."""
        self._parked[fetch] = None
        fetch.timer_task = self._timer.schedule(deadline_ms, partial(self._expire, fetch))

    def give_up(self, fetch: ParkedFetch) -> None:
        """Its client has gone."""
        if fetch in self._parked:
            self._take(fetch)

    def release_parked(self) -> None:
        """Answer everybody with what there is, and write no more no-ops (a clean shutdown)."""
        for fetch in list(self._parked):
            self._expire(fetch)
        if self._no_op_task is not None:
            self._no_op_task.cancel()

    def _take(self, fetch: ParkedFetch) -> None:
        del self._parked[fetch]
        if fetch.timer_task is not None:
            fetch.timer_task.cancel()

    def _expire(self, fetch: ParkedFetch) -> None:
        self._take(fetch)
        fetch.answer(True)

    def _wake(self) -> None:
        if not self._parked:
            self._advanced = False
        elif not self._waking:
            self._waking = True
            self._defer(self._complete)

    def _complete(self) -> None:
        """Kafka: onUpdateLeaderHighWatermark releases everybody; before 4.1 (Fetch v17) nobody."""
        self._waking = False
        everybody = self._advanced and self._advance_wakes
        self._advanced = False
        end = self.log.log_end_offset
        for fetch in list(self._parked):
            if everybody or fetch.fetch_offset < end:
                self._take(fetch)
                fetch.answer(False)
