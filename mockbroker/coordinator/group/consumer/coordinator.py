"""All that one coordinator does for consumer groups; `service` and the handlers call it.

It makes the parts, and hands each request to the one that decides it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.deferred_writes import ignore_error
from mockbroker.coordinator.group.consumer.describe import described
from mockbroker.coordinator.group.consumer.fencing import Fencing
from mockbroker.coordinator.group.consumer.heartbeat import (
    HeartbeatHandler,
    check_request,
    refused,
)
from mockbroker.coordinator.group.consumer.member import MemberState
from mockbroker.coordinator.group.consumer.member_update import MemberUpdater
from mockbroker.coordinator.group.consumer.migration import Migration
from mockbroker.coordinator.group.consumer.mixed import MixedHandler
from mockbroker.coordinator.group.consumer.refusal import Refusal
from mockbroker.coordinator.group.consumer.settings import ConsumerSettings
from mockbroker.coordinator.group.consumer.subscriptions import Subscriptions
from mockbroker.coordinator.group.consumer.topic_view import TopicView
from mockbroker.coordinator.group.shard import find_shard
from mockbroker.metadata.changes import (
    AclsChanged,
    BrokerChanged,
    BrokerUnregistered,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    FeatureChanged,
    ScramCredentialChanged,
    TopicCreated,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribedGroup

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from mockbroker.coordinator.group.consumer.assignment import Assignor
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.heartbeat import HeartbeatCallback
    from mockbroker.coordinator.group.members import ClientIdentity
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.runtime import CoordinatorRuntime
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore
    from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest


class ConsumerGroups:
    """The consumer groups of one coordinator; `mixed` serves their classic members."""

    def __init__(
        self,
        rebalancer: Rebalancer,
        runtime: CoordinatorRuntime[GroupShard],
        metadata: MetadataStore,
        rng: Random,
        extra_assignors: Mapping[str, Assignor],
    ) -> None:
        clock = rebalancer.clock
        self._runtime = runtime
        self._view = TopicView(metadata)
        self._settings = ConsumerSettings(
            clock,
            rebalancer.config,
            lambda group_id, name: metadata.group_config(group_id).int(name),
            extra_assignors,
        )
        self._subscriptions = Subscriptions(clock, self._settings, self._view)
        migration = Migration(self._settings, self._view, rebalancer)
        self._fencing = Fencing(clock, rebalancer.timer, self._subscriptions, migration)
        migration.timeouts = self._fencing.timeouts
        updater = MemberUpdater(clock, self._settings, self._subscriptions)
        self._heartbeats = HeartbeatHandler(
            self._settings, self._subscriptions, updater, self._fencing, migration, rng
        )
        self.mixed = MixedHandler(
            self._settings, self._subscriptions, updater, self._fencing, migration, rng
        )

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: ClientIdentity,
        on_complete: HeartbeatCallback,
        extra_assignor: str | None = None,
    ) -> None:
        """ConsumerGroupHeartbeat; where there is no shard, another node owns the group.

        `extra_assignor`: one of an extension's that this member may ask for.
        """
        assignors = self._settings.assignors()
        if extra_assignor is not None:
            assignors = (*assignors, extra_assignor)
        refusal = check_request(request, client.api_version, assignors)
        if refusal is not None:
            on_complete(refused(refusal))
            return
        shard = self._runtime.shard_for(request.group_id)
        if shard is None:
            error = self._runtime.missing_error(request.group_id)
            on_complete(refused(Refusal(error)))
        else:
            self._heartbeats.heartbeat(shard, request, client, on_complete)

    def describe(self, group_id: str) -> ConsumerGroupDescribedGroup:
        """ConsumerGroupDescribe, of one group."""
        shard, error = find_shard(self._runtime, group_id)
        shard = shard and self._runtime.committed_for(group_id)
        if shard is None:
            return ConsumerGroupDescribedGroup(error_code=error, group_id=group_id)
        group = shard.consumer_groups.get(group_id)
        if group is not None:
            return described(group, self._view, self._settings.default_assignor())
        missing = "is not a consumer group" if group_id in shard.groups else "not found"
        return ConsumerGroupDescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {missing}.",
            group_id=group_id,
        )

    # -- what happens to groups ------------------------------------------------------------

    def loaded(self, shard: GroupShard, group: ConsumerGroup) -> None:
        """Every member gets a whole session, and its time to revoke (onLoaded)."""
        timeouts = self._fencing.timeouts
        timeout_ms = self._settings.session_timeout_ms(group.group_id)
        for member_id, member in group.members.items():
            timeouts.schedule_session_timeout(shard, group, member_id, timeout_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                timeouts.schedule_rebalance_timeout(shard, group, member_id)

    def expel(self, shard: GroupShard, group: ConsumerGroup) -> None:
        """Every member goes, as if their sessions had ended."""
        self._fencing.fence(shard, group, list(group.members.values()), ignore_error)

    def unloaded(self, group: ConsumerGroup) -> None:
        """The group is gone from here."""
        self._fencing.timeouts.forget_all(group)

    def metadata_changed(self, change: Change) -> None:
        """Groups that read a topic which came, grew or went look at it in their next heartbeat."""
        if isinstance(
            change,
            AclsChanged
            | BrokerChanged
            | BrokerUnregistered
            | ConfigsChanged
            | ClientQuotasChanged
            | FeatureChanged
            | ScramCredentialChanged
            | DelegationTokenChanged,
        ):
            return
        if isinstance(change, TopicCreated):
            self._subscriptions.topic_created()
        for shard in self._runtime.shards():
            for group in shard.consumer_groups.values():
                if group.is_subscribed_to(change.name):
                    group.request_metadata_refresh()
