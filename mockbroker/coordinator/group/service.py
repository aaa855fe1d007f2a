"""What the handlers of the group APIs call (Kafka: GroupCoordinatorService).

It finds the shard that owns a group, refuses what no shard need see, and lets `join`, `sync`,
`sessions`, `consumer` and `views` decide the rest; `offsets` is called by the handlers directly.
Methods with an `on_complete` call it exactly once, in the same step or later; the others return
their answer.

State of a group is the replay of its partition of `__consumer_offsets`, which is created when the
first record is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.expiry import Expiry
from mockbroker.coordinator.group.join import JoinHandler
from mockbroker.coordinator.group.offsets import OffsetMetadataManager
from mockbroker.coordinator.group.rebalance import Rebalancer
from mockbroker.coordinator.group.sessions import SessionHandler
from mockbroker.coordinator.group.shard import GroupShard, ShardListener, find_shard
from mockbroker.coordinator.group.sync import SyncHandler
from mockbroker.coordinator.group.views import delete_group, describe_group, list_groups
from mockbroker.coordinator.runtime import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    CoordinatorRuntime,
    InternalTopic,
)
from mockbroker.metadata.changes import TopicCreated, TopicDeleted
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import DescribedGroup
from mockbroker_protocol.messages.group_membership import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupResponse,
)
from mockbroker_protocol.versions import JOIN_GROUP_REBALANCE_TIMEOUT, LEAVE_GROUP_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from random import Random

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.assignment import Assignor
    from mockbroker.coordinator.group.consumer.coordinator import ConsumerGroups
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.members import ClientIdentity, JoinCallback, SyncCallback
    from mockbroker.coordinator.group.shard import Companion
    from mockbroker.coordinator.log_port import GroupLog
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.store import MetadataStore
    from mockbroker_protocol.messages.group_admin import ListedGroup
    from mockbroker_protocol.messages.group_membership import (
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        SyncGroupRequest,
    )


class GroupCoordinatorService(ShardListener):
    """All groups whose partition of `__consumer_offsets` this node owns.

    `log` is its topic's; member ids come from `rng`.
    """

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
        controller: Controller,
        log: GroupLog,
        rng: Random,
        companion: Companion | None = None,
    ) -> None:
        self._clock = clock
        self._config = config
        self._metadata = metadata
        self._controller = controller
        self._log = log
        self._rng = rng
        self._companion = companion
        self._consumers: ConsumerGroups | None = None
        self.extra_assignors: Mapping[str, Assignor] = (
            {} if companion is None else companion.assignors
        )
        """What an extension brings for groups of KIP-848, by name."""
        self._topic = InternalTopic(
            GROUP_METADATA_TOPIC, metadata, config.int("offsets.topic.num.partitions")
        )
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            self._topic,
            self._append_to_topic,
            self._make_shard,
            make_committed=self._make_committed_shard,
        )
        """Which shard has a group's state, and the way in which that changes."""
        self.rebalancer = Rebalancer(clock, timer, config, metadata.topics)
        """When classic groups move on; FindCoordinator announces members to it."""
        self._joins = JoinHandler(self.rebalancer, rng)
        self._syncs = SyncHandler(self.rebalancer)
        self._sessions = SessionHandler(self.rebalancer)
        self.offsets = OffsetMetadataManager(self.runtime, self.rebalancer, log, companion)
        """Commits, fetches and deletes offsets."""
        self._expiry = Expiry(clock, timer, config)
        metadata.subscribe(self._metadata_changed)

    # -- membership ------------------------------------------------------------------------

    def join(
        self, request: JoinGroupRequest, client: ClientIdentity, on_complete: JoinCallback
    ) -> None:
        """JoinGroup: waits while the group rebalances."""
        if client.api_version < JOIN_GROUP_REBALANCE_TIMEOUT:
            request.rebalance_timeout_ms = request.session_timeout_ms
        shard = self.runtime.shard_for(request.group_id)
        error = self._refuse_join(request)
        if error is ErrorCode.NONE and shard is not None:
            group = shard.consumer_groups.get(request.group_id)
            if group is None or group.is_empty:
                self._joins.join(shard, request, client, on_complete)
            else:
                self.consumers.mixed.join(shard, group, request, client, on_complete)
            return
        if error is ErrorCode.NONE:
            error = self.runtime.missing_error(request.group_id)
        on_complete(JoinGroupResponse(error_code=error, member_id=request.member_id))

    def _refuse_join(self, request: JoinGroupRequest) -> ErrorCode:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        least = self._config.int("group.min.session.timeout.ms")
        most = self._config.int("group.max.session.timeout.ms")
        if not least <= request.session_timeout_ms <= most:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def sync(self, request: SyncGroupRequest, on_complete: SyncCallback) -> None:
        """SyncGroup: waits for the leader's assignments."""
        shard, error = find_shard(self.runtime, request.group_id)
        group = None if shard is None else shard.consumer_groups.get(request.group_id)
        if shard is None:
            on_complete(SyncGroupResponse(error_code=error))
        elif group is None:
            self._syncs.sync(shard, request, on_complete)
        else:
            self.consumers.mixed.sync(shard, group, request, on_complete)

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Heartbeat; 0 and 27 are answered once what the shard knows is replicated."""
        shard, error = find_shard(self.runtime, request.group_id)
        group = None if shard is None else shard.consumer_groups.get(request.group_id)
        if shard is not None and group is None:
            error = self._sessions.heartbeat(shard, request)
        elif shard is not None and group is not None:
            error = self.consumers.mixed.heartbeat(shard, group, request)
        elif error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            error = ErrorCode.NONE  # GroupCoordinatorService.heartbeat: it could not tell better
        return HeartbeatResponse(error_code=error)

    def leave(
        self,
        request: LeaveGroupRequest,
        api_version: int,
        on_complete: Callable[[LeaveGroupResponse], None],
    ) -> None:
        """LeaveGroup: of one member up to v2, of many from v3 on."""
        shard, error = find_shard(self.runtime, request.group_id)
        if shard is None:
            on_complete(LeaveGroupResponse(error_code=error))
            return
        identities = request.members
        answer = on_complete
        if api_version < LEAVE_GROUP_MEMBERS:
            identities = [MemberIdentity(member_id=request.member_id)]

            def answer(response: LeaveGroupResponse) -> None:
                error = response.error_code or response.members[0].error_code
                on_complete(LeaveGroupResponse(error_code=error))

        group = shard.consumer_groups.get(request.group_id)
        if group is None:
            left = self._sessions.leave(shard, request.group_id, identities)

            def committed(error: ErrorCode) -> None:
                answer(LeaveGroupResponse(error_code=error) if error else left)

            shard.write([], committed)
        else:
            self.consumers.mixed.leave(shard, group, identities, answer)

    # -- groups from outside ---------------------------------------------------------------

    def list_groups(
        self, states_filter: list[str], types_filter: list[str]
    ) -> Iterator[ListedGroup]:
        """ListGroups: of this node, made as they are taken."""
        return list_groups(self.runtime.committed_shards(), states_filter, types_filter)

    def describe_group(self, group_id: str, api_version: int) -> DescribedGroup:
        """DescribeGroups, of one group."""
        shard = self.runtime.committed_for(group_id)
        if shard is None:
            error = self.runtime.missing_error(group_id)
            return DescribedGroup(group_id=group_id, error_code=error)
        return describe_group(shard, group_id, api_version)

    def delete_group(self, group_id: str, on_complete: Callable[[ErrorCode], None]) -> None:
        """DeleteGroups, of one group."""
        shard = self.runtime.shard_for(group_id)
        if shard is None:
            on_complete(self.runtime.missing_error(group_id))
        else:
            delete_group(shard, group_id, on_complete)

    # -- groups of KIP-848 -----------------------------------------------------------------

    @property
    def consumers(self) -> ConsumerGroups:
        """Groups of KIP-848, which the handlers call too; made when the first client speaks it."""
        if self._consumers is None:
            from mockbroker.coordinator.group.consumer.coordinator import ConsumerGroups

            self._consumers = ConsumerGroups(
                self.rebalancer, self.runtime, self._metadata, self._rng, self.extra_assignors
            )
        return self._consumers

    # -- shutdown, and what the metadata says ----------------------------------------------

    def release_parked(self) -> None:
        """The node shuts down: every parked answer goes out now, as COORDINATOR_NOT_AVAILABLE."""
        self.runtime.release_deferred()
        for shard in self.runtime.shards():
            for group in shard.groups.values():
                self.rebalancer.release(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _make_shard(self, partition_index: int) -> GroupShard:
        return GroupShard(partition_index, self.runtime, self, companion=self._companion)

    def _make_committed_shard(self, partition_index: int, live: GroupShard) -> GroupShard:
        return GroupShard(partition_index, self.runtime, ShardListener(), live=live)

    def _append_to_topic(
        self,
        partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> tuple[ErrorCode, int]:
        if not self._topic.exists:
            refusal = self._controller.ensure_internal_topic(GROUP_METADATA_TOPIC)
            if refusal.error is not ErrorCode.NONE:
                return ErrorCode.COORDINATOR_NOT_AVAILABLE, -1
        return self._log.append(partition_index, records, producer_id, producer_epoch)

    def _metadata_changed(self, change: Change) -> None:
        if self._consumers is not None:
            self._consumers.metadata_changed(change)
        if isinstance(change, TopicCreated):
            self.rebalancer.topic_created(change.name)
        if not isinstance(change, TopicDeleted):
            return
        if change.name == GROUP_METADATA_TOPIC:
            self.runtime.reset()
            return
        for shard in self.runtime.shards():
            self._expiry.topic_deleted(shard, change.name)

    # -- what shards tell ------------------------------------------------------------------

    def on_loaded(self, shard: GroupShard) -> None:
        """GroupMetadataManager.onLoaded: every member gets a whole session."""
        max_size = self._config.int("group.max.size")
        for group in list(shard.groups.values()):
            for member in group.members.values():
                self.rebalancer.touch_session(shard, group, member)
            if len(group.members) > max_size:
                self.rebalancer.prepare(shard, group)
        for consumers in shard.consumer_groups.values():
            self.consumers.loaded(shard, consumers)

    def on_unloaded(self, shard: GroupShard, error: ErrorCode) -> None:
        """GroupMetadataManager.onUnloaded."""
        self._expiry.forget(shard)
        for group in shard.groups.values():
            self.rebalancer.kill(group, error)
        for consumers in shard.consumer_groups.values():
            self.consumers.unloaded(consumers)

    def on_first_group(self, shard: GroupShard) -> None:
        """Offsets and groups may expire from now on."""
        self._expiry.watch(shard)

    def on_group_removed(self, group: ClassicGroup) -> None:
        """Its pending ids and time-outs go with it."""
        self.rebalancer.kill(group, ErrorCode.UNKNOWN_MEMBER_ID)

    def on_consumer_group_removed(self, group: ConsumerGroup) -> None:
        """The clocks of its members go with it."""
        self.consumers.unloaded(group)
