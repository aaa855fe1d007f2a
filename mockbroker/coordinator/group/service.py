"""What the handlers of the group APIs call, through `GroupCoordinator.service`.

It finds the shard that owns a group, refuses what no shard need see (GroupCoordinatorService), and
hands the rest to `join`, `sync`, `sessions`, `offsets`, `views` and `expiry`. Methods with an
`on_complete` call it exactly once, in the same step or later; the others return their answer.

State of a group is the replay of its partition of `__consumer_offsets`, which is created when the
first record is written. `hooks` is the seam for extensions of the protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.expiry import Expiry
from mockbroker.coordinator.group.join import JoinHandler
from mockbroker.coordinator.group.offsets import (
    FetchedOffset,
    OffsetHandler,
    TopicPartitions,
    commit_error_response,
)
from mockbroker.coordinator.group.rebalance import Rebalancer
from mockbroker.coordinator.group.sessions import SessionHandler
from mockbroker.coordinator.group.shard import GroupShard, ShardListener
from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.group.sync import SyncHandler
from mockbroker.coordinator.group.transactional_offsets import (
    TransactionalOffsetHandler,
    txn_commit_error_response,
)
from mockbroker.coordinator.group.views import delete_group, describe_group, list_groups
from mockbroker.coordinator.runtime import CoordinatorRuntime
from mockbroker.metadata.changes import TopicDeleted
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
from mockbroker_protocol.messages.group_offsets import OffsetDeleteResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.coordinator import ConsumerGroups
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.heartbeat import HeartbeatCallback
    from mockbroker.coordinator.group.hooks import GroupHooks
    from mockbroker.coordinator.group.members import ClientIdentity, JoinCallback, SyncCallback
    from mockbroker.coordinator.group.rebalance import Asker
    from mockbroker.coordinator.log_port import TransactionalLog
    from mockbroker.coordinator.runtime import AppendPort, EndOfTransaction, Replication
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
    from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribedGroup, ListedGroup
    from mockbroker_protocol.messages.group_membership import (
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        SyncGroupRequest,
    )
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitResponse,
        OffsetDeleteRequest,
    )
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )

_FIRST_LEAVE_VERSION_WITH_MEMBERS = 3
_NOT_HERE = ErrorCode.NOT_COORDINATOR


class GroupCoordinatorService(ShardListener):
    """All groups whose partition of `__consumer_offsets` this node owns.

    `append` writes to one partition of the topic, `transactions` as part of a transaction; member
    ids come from `rng`.
    """

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
        controller: Controller,
        append: AppendPort,
        rng: Random,
        transactions: TransactionalLog | None = None,
    ) -> None:
        self._clock = clock
        self._config = config
        self._metadata = metadata
        self._controller = controller
        self._append = append
        self._transactions = transactions
        self._rng = rng
        self._consumers: ConsumerGroups | None = None
        self._fixed_count: int | None = None
        self._runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            self._append_to_topic, self._partition_count, self._make_shard
        )
        self._rebalancer = Rebalancer(clock, timer, config)
        self._joins = JoinHandler(self._rebalancer, rng)
        self._syncs = SyncHandler(self._rebalancer)
        self._sessions = SessionHandler(self._rebalancer)
        self._offsets = OffsetHandler(self._rebalancer)
        self._transactional_offsets = TransactionalOffsetHandler(clock, config)
        self._expiry = Expiry(clock, timer, config)
        metadata.subscribe(self._metadata_changed)

    # -- membership ------------------------------------------------------------------------

    def join(
        self, request: JoinGroupRequest, client: ClientIdentity, on_complete: JoinCallback
    ) -> None:
        """JoinGroup: waits while the group rebalances."""
        shard = self._runtime.shard_for(request.group_id)
        error = self._refuse_join(request)
        if error is ErrorCode.NONE and shard is not None:
            group = shard.consumer_groups.get(request.group_id)
            if group is None or group.is_empty:
                self._joins.join(shard, request, client, on_complete)
            else:
                self.consumers.mixed.join(shard, group, request, client, on_complete)
            return
        if error is ErrorCode.NONE:
            error = _NOT_HERE
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
        shard, error = self._shard_of(request.group_id)
        group = None if shard is None else shard.consumer_groups.get(request.group_id)
        if shard is None:
            on_complete(SyncGroupResponse(error_code=error))
        elif group is None:
            self._syncs.sync(shard, request, on_complete)
        else:
            self.consumers.mixed.sync(shard, group, request, on_complete)

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Heartbeat."""
        shard, error = self._shard_of(request.group_id)
        group = None if shard is None else shard.consumer_groups.get(request.group_id)
        if shard is not None and group is None:
            error = self._sessions.heartbeat(shard, request)
        elif shard is not None and group is not None:
            error = self.consumers.mixed.heartbeat(shard, group, request)
        return HeartbeatResponse(error_code=error)

    def leave(
        self,
        request: LeaveGroupRequest,
        api_version: int,
        on_complete: Callable[[LeaveGroupResponse], None],
    ) -> None:
        """LeaveGroup: of one member up to v2, of many from v3 on."""
        shard, error = self._shard_of(request.group_id)
        if shard is None:
            on_complete(LeaveGroupResponse(error_code=error))
            return
        identities = request.members
        answer = on_complete
        if api_version < _FIRST_LEAVE_VERSION_WITH_MEMBERS:
            identities = [MemberIdentity(member_id=request.member_id)]

            def answer(response: LeaveGroupResponse) -> None:
                error = response.error_code or response.members[0].error_code
                on_complete(LeaveGroupResponse(error_code=error))

        group = shard.consumer_groups.get(request.group_id)
        if group is None:
            answer(self._sessions.leave(shard, request.group_id, identities))
        else:
            self.consumers.mixed.leave(shard, group, identities, answer)

    def force_rebalance(self, group_id: str) -> bool:
        """Make the members of a group join again; False when there is nothing to rebalance."""
        shard = self._runtime.shard_for(group_id)
        group = None if shard is None else shard.groups.get(group_id)
        if shard is None or group is None:
            return False
        if group.state not in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            return False
        self._rebalancer.prepare(shard, group)
        return True

    # -- offsets ---------------------------------------------------------------------------

    def commit_offsets(
        self,
        request: OffsetCommitRequest,
        api_version: int,
        on_complete: Callable[[OffsetCommitResponse], None],
    ) -> None:
        """OffsetCommit; the caller has taken out partitions that do not exist."""
        shard = self._runtime.shard_for(request.group_id)
        if shard is None:
            on_complete(commit_error_response(request.topics, _NOT_HERE))
        else:
            self._offsets.commit(shard, request, api_version, on_complete)

    def commit_transactional_offsets(
        self,
        request: TxnOffsetCommitRequest,
        on_complete: Callable[[TxnOffsetCommitResponse], None],
    ) -> None:
        """TxnOffsetCommit; the caller knows that partitions exist and the transaction is open."""
        shard, error = self._shard_of(request.group_id)
        log = self._transactions
        if shard is None or log is None:
            on_complete(txn_commit_error_response(request.topics, error or _NOT_HERE))
            return
        index = shard.partition_index
        producer_id, producer_epoch = request.producer_id, request.producer_epoch
        self._transactional_offsets.commit(
            shard,
            request,
            lambda records, done: self._runtime.write_transactional(
                index, producer_id, producer_epoch, records, log.append_transactional, done
            ),
            on_complete,
        )

    def complete_transaction(self, partition_index: int, marker: TransactionMarker) -> ErrorCode:
        """A transaction ends: its marker goes into the log, its offsets count or are gone."""
        log = self._transactions
        if log is None or not self._runtime.is_owned(partition_index):
            return _NOT_HERE
        error = log.append_marker(partition_index, marker)
        shard = self._runtime.shard_at(partition_index)
        if error is ErrorCode.NONE and shard is not None:
            shard.end_transaction(marker.producer_id, commit=marker.commit)
        return error

    def fetch_offsets(
        self,
        group_id: str,
        topics: list[TopicPartitions] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> tuple[ErrorCode, list[tuple[TopicPartitions, list[FetchedOffset]]]]:
        """OffsetFetch of one group: the positions topic by topic; None asks for all topics.

        What was never committed is -1 and no error, even where there is no such group.
        """
        shard = self._runtime.shard_for(group_id)
        if shard is None:
            return _NOT_HERE, []
        group = shard.consumer_groups.get(group_id)
        if group is not None:
            from mockbroker.coordinator.group.consumer.offset_rules import validate_fetch

            error = validate_fetch(group, member_id, member_epoch)
            if error is not ErrorCode.NONE:
                return error, []
        if topics is None:
            topics = self._offsets.all_partitions(shard, group_id)
        fetched = self._offsets.fetch(shard, group_id, topics, require_stable)
        return ErrorCode.NONE, list(zip(topics, fetched, strict=True))

    def delete_offsets(
        self, request: OffsetDeleteRequest, on_complete: Callable[[OffsetDeleteResponse], None]
    ) -> None:
        """OffsetDelete; the caller has taken out partitions that do not exist."""
        shard, error = self._shard_of(request.group_id)
        if shard is None:
            on_complete(OffsetDeleteResponse(error_code=error))
        else:
            self._offsets.delete(shard, request, on_complete)

    # -- groups from outside ---------------------------------------------------------------

    def list_groups(self, states_filter: list[str], types_filter: list[str]) -> list[ListedGroup]:
        """ListGroups: of this node."""
        return list_groups(self._runtime.shards(), states_filter, types_filter)

    def describe_group(self, group_id: str, api_version: int) -> DescribedGroup:
        """DescribeGroups, of one group."""
        shard = self._runtime.shard_for(group_id)
        if shard is None:
            return DescribedGroup(group_id=group_id, error_code=_NOT_HERE)
        return describe_group(shard, group_id, api_version)

    def delete_group(self, group_id: str, on_complete: Callable[[ErrorCode], None]) -> None:
        """DeleteGroups, of one group."""
        shard = self._runtime.shard_for(group_id)
        if shard is None:
            on_complete(_NOT_HERE)
        else:
            delete_group(shard, group_id, on_complete)

    # -- groups of KIP-848 -----------------------------------------------------------------

    @property
    def consumers(self) -> ConsumerGroups:
        """The other protocol, made when the first client speaks it."""
        if self._consumers is None:
            from mockbroker.coordinator.group.consumer.coordinator import ConsumerGroups

            self._consumers = ConsumerGroups(
                self._rebalancer, self._metadata, self._group_config, self._rng
            )
        return self._consumers

    def consumer_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: ClientIdentity,
        on_complete: HeartbeatCallback,
    ) -> None:
        """ConsumerGroupHeartbeat: join, stay, leave."""
        self.consumers.heartbeat(request, client, self._runtime.shard_for, on_complete)

    def describe_consumer_group(self, group_id: str) -> ConsumerGroupDescribedGroup:
        """ConsumerGroupDescribe, of one group."""
        return self.consumers.describe(self._runtime.shard_for(group_id), group_id)

    # -- ownership -------------------------------------------------------------------------

    @property
    def hooks(self) -> GroupHooks:
        """What an extension put here."""
        return self._rebalancer.hooks

    @hooks.setter
    def hooks(self, hooks: GroupHooks) -> None:
        self._rebalancer.hooks = hooks

    def announce(self, group_id: str, asker: Asker) -> None:
        """Somebody asked for the group's coordinator, and may join soon."""
        self._rebalancer.announce(group_id, asker)

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group's state is in."""
        return self._runtime.partition_for(group_id)

    def shard_for(self, group_id: str) -> GroupShard | None:
        """The shard that has a group's state; None when another node owns it."""
        return self._runtime.shard_for(group_id)

    def shards(self) -> list[GroupShard]:
        """The shards in use, by partition."""
        return self._runtime.shards()

    def replicate(self, replication: Replication) -> None:
        """Own only what this node leads, and answer for what is replicated only."""
        self._runtime.replication = replication

    def load(
        self,
        partition_index: int,
        records: Iterable[tuple[int, int, bytes | None, bytes | None] | EndOfTransaction],
    ) -> None:
        """Own a partition, with the state of its records; see `CoordinatorRuntime.load`."""
        self._runtime.load(partition_index, records)

    def unload(self, partition_index: int) -> None:
        """Another node owns the partition from now on."""
        self._runtime.unload(partition_index)

    def release_parked(self) -> None:
        """The node shuts down: every parked answer goes out now, as COORDINATOR_NOT_AVAILABLE."""
        for shard in self._runtime.shards():
            for group in shard.groups.values():
                self._rebalancer.release(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _shard_of(self, group_id: str) -> tuple[GroupShard | None, ErrorCode]:
        if not group_id:
            return None, ErrorCode.INVALID_GROUP_ID
        shard = self._runtime.shard_for(group_id)
        return shard, ErrorCode.NONE if shard is not None else _NOT_HERE

    def _make_shard(self, partition_index: int) -> GroupShard:
        return GroupShard(partition_index, self._runtime.write, self)

    def _group_config(self, group_id: str, name: str) -> int:
        return self._metadata.group_config(group_id).int(name)

    def _partition_count(self) -> int:
        # Fixed once used, as Kafka's is at start: groups must not move when the topic grows.
        if self._fixed_count is None:
            topic = self._metadata.topics.get(GROUP_METADATA_TOPIC)
            if topic is None:
                return self._config.int("offsets.topic.num.partitions")
            self._fixed_count = len(topic.partitions)
        return self._fixed_count

    def _append_to_topic(
        self, partition_index: int, records: list[tuple[bytes, bytes | None]]
    ) -> tuple[ErrorCode, int]:
        if GROUP_METADATA_TOPIC not in self._metadata.topics:
            refusal = self._controller.ensure_internal_topic(GROUP_METADATA_TOPIC)
            if refusal.error is not ErrorCode.NONE:
                return ErrorCode.COORDINATOR_NOT_AVAILABLE, -1
        return self._append(partition_index, records)

    def _metadata_changed(self, change: Change) -> None:
        if self._consumers is not None:
            self._consumers.metadata_changed(change, self._runtime.shards())
        if not isinstance(change, TopicDeleted):
            return
        if change.name == GROUP_METADATA_TOPIC:
            self._runtime.reset()
            self._fixed_count = None
            return
        for shard in self._runtime.shards():
            self._expiry.topic_deleted(shard, change.name)

    # -- what shards tell ------------------------------------------------------------------

    def on_loaded(self, shard: GroupShard) -> None:
        """GroupMetadataManager.onLoaded: every member gets a whole session."""
        max_size = self._config.int("group.max.size")
        for group in list(shard.groups.values()):
            for member in group.members.values():
                self._rebalancer.touch_session(shard, group, member)
            if len(group.members) > max_size:
                self._rebalancer.prepare(shard, group)
        for consumers in shard.consumer_groups.values():
            self.consumers.loaded(shard, consumers)

    def on_unloaded(self, shard: GroupShard, error: ErrorCode) -> None:
        """GroupMetadataManager.onUnloaded."""
        self._expiry.forget(shard)
        for group in shard.groups.values():
            self._rebalancer.kill(group, error)
        for consumers in shard.consumer_groups.values():
            self.consumers.unloaded(consumers)

    def on_first_group(self, shard: GroupShard) -> None:
        """Offsets and groups may expire from now on."""
        self._expiry.watch(shard)

    def on_group_removed(self, group: ClassicGroup) -> None:
        """Its pending ids and time-outs go with it."""
        self._rebalancer.kill(group, ErrorCode.UNKNOWN_MEMBER_ID)
        self.hooks.on_group_deleted(group.group_id)

    def on_consumer_group_removed(self, group: ConsumerGroup) -> None:
        """The clocks of its members go with it."""
        self.consumers.unloaded(group)
        self.hooks.on_group_deleted(group.group_id)

    def on_offset_removed(self, group_id: str, topic: str, partition_index: int) -> None:
        """Extensions may keep more about the partition."""
        self.hooks.on_offsets_removed(group_id, topic, partition_index)
