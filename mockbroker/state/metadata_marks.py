"""The cluster's metadata as they were when a scope began, of what changed since, and the way back.

The store calls `before` with each change that it is about to carry out; what the change is about is
noted then, once a scope. Going back is made of changes too, so that every broker hears of them.

Not taken back are the numbers that only grow: leader and partition epochs, brokers' epochs, the
store's version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.changes import (
    AclsChanged,
    BrokerChanged,
    BrokerUnregistered,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    FeatureChanged,
    LeaderChanged,
    PartitionsAdded,
    PartitionState,
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_BROKER_LOGGER, RESOURCE_TOPIC
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.acls import Acl
    from mockbroker.metadata.brokers import BrokerInfo
    from mockbroker.metadata.changes import Change, Entity, ScramUser
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.metadata.scram import ScramCredential
    from mockbroker.metadata.store import Topic


class TopicMark(NamedTuple):
    """A topic as it was."""

    name: str
    configs: Mapping[str, str]
    partitions: tuple[PartitionState, ...]


class MetadataMarks:
    """What changed of a cluster's metadata since `start_anew`, as it was then."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.metadata
        self.start_anew()

    def start_anew(self) -> None:
        """Note what changes from now on."""
        self._version = self._store.version
        self._born: set[bytes] = set()
        self._topics: dict[bytes, TopicMark] = {}
        self._configs: dict[tuple[int, str], Mapping[str, str]] = {}
        self._features: dict[str, int] = {}
        self._quotas: dict[Entity, Mapping[str, float]] = {}
        self._scram: dict[ScramUser, ScramCredential | None] = {}
        self._tokens: dict[str, DelegationToken | None] = {}
        self._acls: tuple[Acl, ...] | None = None
        self._brokers: dict[int, BrokerInfo | None] = {}

    def existed(self, topic_id: bytes) -> bool:
        """Whether there was such a topic."""
        return topic_id in self._topics or (
            topic_id not in self._born and topic_id in self._store.topics_by_id
        )

    # -- noting --------------------------------------------------------------------------------

    def before(self, change: Change) -> None:
        """The store is about to carry out `change`."""
        store = self._store
        if isinstance(change, TopicCreated):
            if change.topic_id not in self._topics:
                self._born.add(change.topic_id)
        elif isinstance(change, TopicDeleted):
            if change.topic_id in self._born:
                self._born.discard(change.topic_id)
            else:
                self._note_topic(store.topics_by_id[change.topic_id])
        elif isinstance(change, PartitionsAdded | LeaderChanged):
            self._note_topic(store.topics_by_id[change.topic_id])
        elif isinstance(change, ConfigsChanged):
            self._note_configs(change)
        elif isinstance(change, FeatureChanged):
            self._features.setdefault(change.name, store.features.get(change.name, 0))
        elif isinstance(change, ClientQuotasChanged):
            self._quotas.setdefault(change.entity, store.client_quotas.get(change.entity, {}))
        elif isinstance(change, ScramCredentialChanged | DelegationTokenChanged):
            self._note_login(change)
        elif isinstance(change, AclsChanged):
            if self._acls is None:
                self._acls = tuple(store.acls)
        else:
            self._note_broker(change)

    def _note_topic(self, topic: Topic) -> None:
        if topic.id not in self._born and topic.id not in self._topics:
            mark = TopicMark(topic.name, topic.configs, tuple(topic.partitions))
            self._topics[topic.id] = mark

    def _note_configs(self, change: ConfigsChanged) -> None:
        store, kind, name = self._store, change.resource_type, change.name
        if kind == RESOURCE_TOPIC:
            self._note_topic(store.topics[name])
        elif (kind, name) not in self._configs:
            if kind == RESOURCE_BROKER:
                configs = broker_configs(self._cluster).get(name, {})
            elif kind == RESOURCE_BROKER_LOGGER:
                configs = dict(store.log_levels)
            else:
                configs = dict(store.resource_configs[kind].get(name, {}))
            self._configs[kind, name] = configs

    def _note_login(self, change: ScramCredentialChanged | DelegationTokenChanged) -> None:
        store = self._store
        if isinstance(change, ScramCredentialChanged):
            self._scram.setdefault(change.user, store.scram_credentials.get(change.user))
        else:
            self._tokens.setdefault(change.token_id, store.delegation_tokens.get(change.token_id))

    def _note_broker(self, change: BrokerChanged | BrokerUnregistered) -> None:
        node_id = change.broker.node_id if isinstance(change, BrokerChanged) else change.node_id
        self._brokers.setdefault(node_id, self._store.brokers.get(node_id))

    # -- going back ----------------------------------------------------------------------------

    def restore(self) -> None:
        """Change back what changed. Call it once the brokers are up that were up."""
        self._restore_brokers()
        self._restore_topics()
        self._restore_configs()
        store = self._store
        for feature, level in self._features.items():
            if store.features.get(feature, 0) != level:
                store.apply(FeatureChanged(feature, level))
        if self._quotas:
            from mockbroker.metadata.client_quotas import replace_client_quotas

            replace_client_quotas(store, self._quotas)
        if self._scram:
            from mockbroker.metadata.scram_control import replace_scram_credentials

            replace_scram_credentials(store, self._scram)
        if self._tokens:
            from mockbroker.metadata.delegation_token_control import replace_delegation_tokens

            replace_delegation_tokens(store, self._tokens)
        if self._acls is not None:
            from mockbroker.metadata.acl_control import replace_acls

            replace_acls(store, self._acls)

    def _restore_configs(self) -> None:
        for (kind, name), configs in self._configs.items():
            self._store.apply(ConfigsChanged(kind, name, configs))
            for node in self._cluster.nodes if kind == RESOURCE_BROKER else ():
                if node.broker is None and name == str(node.node_id):
                    # It hears of nothing, and comes back with the configs that it has.
                    node.config.replace_dynamic(configs, cluster_default=False)

    def _restore_brokers(self) -> None:
        """Registrations as they were; who is fenced among several is `ClusterMarks`' to say."""
        store = self._store
        for node_id, before in self._brokers.items():
            now = store.brokers.get(node_id)
            if before is None:
                if now is not None:
                    self._cluster.controller.replication.unregister(node_id)
            elif now is None:
                store.apply(BrokerChanged(before))
            else:
                wanted = before._replace(epoch=now.epoch, fenced=now.fenced, leaving=now.leaving)
                if wanted != now:
                    store.apply(BrokerChanged(wanted))

    def _restore_topics(self) -> None:
        store = self._store
        for topic_id in list(self._born):
            store.apply(TopicDeleted(store.topics_by_id[topic_id].name, topic_id))
        for topic_id, mark in self._topics.items():
            live = store.topics_by_id.get(topic_id)
            if live is not None and len(live.partitions) > len(mark.partitions):
                store.apply(TopicDeleted(live.name, topic_id))
                live = None
            if live is None:
                # No client has seen a higher epoch: each rise is a change that `version` counts.
                rise = 1 + store.version - self._version
                states = [_later(state, state, rise) for state in mark.partitions]
                store.apply(TopicCreated(mark.name, topic_id, states, mark.configs))
                continue
            if live.configs != mark.configs:
                store.apply(ConfigsChanged(RESOURCE_TOPIC, mark.name, mark.configs))
            for index, state in enumerate(mark.partitions):
                now = live.partitions[index]
                if _later(state, now) != _later(now, now):
                    change = LeaderChanged(mark.name, topic_id, index, _later(state, now))
                    store.apply(change)

    def begin_epochs(self, partitions: Iterable[tuple[bytes, int]]) -> None:
        """Begin a leader epoch in each of these, given by topic id and index.

        Their logs are others than before: clients that had read further learn that so (KIP-320).
        """
        store = self._store
        for topic_id, index in partitions:
            topic = store.topics_by_id[topic_id]
            now = topic.partitions[index]
            store.apply(LeaderChanged(topic.name, topic_id, index, _later(now, now)))


def broker_configs(cluster: Cluster) -> dict[str, dict[str, str]]:
    """The dynamic configs by node, "" for all nodes; also of nodes that are down."""
    found = {"": dict(cluster.metadata.config.dynamic(cluster_default=True))}
    for node in cluster.nodes:
        found[str(node.node_id)] = dict(node.config.dynamic(cluster_default=False))
    return found


def _later(state: PartitionState, now: PartitionState, rise: int = 1) -> PartitionState:
    """`state` in an epoch after that of `now`."""
    return state._replace(
        leader_epoch=now.leader_epoch + rise, partition_epoch=now.partition_epoch + rise
    )
