"""The cluster's metadata as one node sees it (Kafka: MetadataCache over a MetadataImage).

Topics, ids, leaders, epochs, brokers and configs live here and change only in `apply`, with a
change value that the controller decided. Handlers read the dicts directly. Rooms that follow the
metadata (replicas, groups) `subscribe` and are told of each change after it was applied.

Invariants: `topics` and `topics_by_id` hold the same topics; a topic has at least one partition;
a topic id is never used for another topic; `version` counts the changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.topic import TopicConfig
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
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.names import is_internal, unified_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.group import GroupConfig
    from mockbroker.metadata.acl_index import AclIndex
    from mockbroker.metadata.acls import Acl, AclFilter
    from mockbroker.metadata.brokers import BrokerInfo
    from mockbroker.metadata.changes import Change, Entity, PartitionState, ScramUser
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.metadata.scram import ScramCredential

RESOURCE_TOPIC: Final = 2
RESOURCE_BROKER: Final = 4
RESOURCE_BROKER_LOGGER: Final = 8
RESOURCE_CLIENT_METRICS: Final = 16
RESOURCE_GROUP: Final = 32

ROOT_LOGGER: Final = "root"

# The features of a fresh cluster; `metadata.features` says more of them.
FEATURES_AT_FORMAT: Final = {
    "group.version": 1,
    "metadata.version": 33,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}


class Topic:
    """One topic. Only the store mutates it; `config` is its effective configs."""

    __slots__ = ("config", "configs", "id", "internal", "name", "partitions")

    def __init__(
        self,
        name: str,
        topic_id: bytes,
        partitions: Sequence[PartitionState],
        configs: dict[str, str],
        config: TopicConfig,
    ) -> None:
        self.name = name
        self.id = topic_id
        self.partitions = list(partitions)
        self.configs = configs
        self.config = config
        self.internal = is_internal(name, config.broker)


class MetadataStore:
    """Brokers by id, topics by name and by id. `config` is this node's broker configs."""

    __slots__ = (
        "_acl_index",
        "_colliding",
        "_group_configs",
        "_listeners",
        "_listeners_before",
        "acls",
        "brokers",
        "client_quotas",
        "cluster_id",
        "config",
        "delegation_tokens",
        "features",
        "log_levels",
        "resource_configs",
        "scram_credentials",
        "topics",
        "topics_by_id",
        "version",
    )

    def __init__(self, cluster_id: str, config: BrokerConfig) -> None:
        self.cluster_id = cluster_id
        self.config = config
        self.brokers: dict[int, BrokerInfo] = {}
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.version = 0
        self.resource_configs: dict[int, dict[str, Mapping[str, str]]] = {
            RESOURCE_CLIENT_METRICS: {},
            RESOURCE_GROUP: {},
        }
        """The configs set on subscriptions to clients' metrics and on groups, by type and name."""
        self.client_quotas: dict[Entity, Mapping[str, float]] = {}
        """The quotas of each entity that has some."""
        self.acls: dict[Acl, None] = {}
        """The access control lists, in the order of their creation."""
        self.scram_credentials: dict[ScramUser, ScramCredential] = {}
        """What proves who a client is, by user and mechanism."""
        self.delegation_tokens: dict[str, DelegationToken] = {}
        """By their ids, in the order in which they were made."""
        self.features: dict[str, int] = dict(FEATURES_AT_FORMAT)
        """The finalized level of each feature that has one."""
        self.log_levels: Mapping[str, str] = {ROOT_LOGGER: "INFO"}
        """This node's loggers and their levels."""
        self._acl_index: AclIndex | None = None
        """None: it is made when somebody asks."""
        self._group_configs: dict[str, GroupConfig] = {}
        self._colliding: dict[str, list[str]] = {}
        self._listeners: list[Callable[[Change], None]] = []
        self._listeners_before: list[Callable[[Change], None]] = []

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name behind a topic id, for those who only look; None: there is no such topic."""
        topic = self.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` after each change from now on, in the order of subscription."""
        self._listeners.append(listener)

    def watch_before(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` from now on before each change, so that it sees what is changed."""
        self._listeners_before.append(listener)

    def unwatch_before(self, listener: Callable[[Change], None]) -> None:
        """Call it no more."""
        self._listeners_before.remove(listener)

    def apply(self, change: Change) -> None:
        """Carry out a change that was decided, then tell the listeners."""
        for listener in self._listeners_before:
            listener(change)
        if isinstance(change, BrokerChanged):
            self.brokers[change.broker.node_id] = change.broker
        elif isinstance(change, BrokerUnregistered):
            del self.brokers[change.node_id]
        elif isinstance(change, ConfigsChanged):
            self._configure(change)
        elif isinstance(
            change,
            FeatureChanged
            | ClientQuotasChanged
            | ScramCredentialChanged
            | DelegationTokenChanged
            | AclsChanged,
        ):
            self._change_cluster(change)
        else:
            self._change_topics(change)
        self.version += 1
        assert len(self.topics) == len(self.topics_by_id)
        for listener in self._listeners:
            listener(change)

    def group_config(self, group_id: str) -> GroupConfig:
        """The effective configs of a group, known or not; keep it no longer than a step."""
        config = self._group_configs.get(group_id)
        if config is None:
            from mockbroker.config.group import GroupConfig

            overrides = self.resource_configs[RESOURCE_GROUP].get(group_id, {})
            config = GroupConfig(overrides, self.config)
            self._group_configs[group_id] = config
        return config

    @property
    def acl_index(self) -> AclIndex:
        """The ACLs by what they are about and whom they concern."""
        index = self._acl_index
        if index is None:
            from mockbroker.metadata.acl_index import AclIndex

            index = self._acl_index = AclIndex(self.acls)
        return index

    def acls_near(self, wanted: AclFilter) -> list[Acl]:
        """Those among which all are that a filter means: one at most where nothing is open."""
        exactly = wanted.only
        if exactly is None:
            return self.acl_index.candidates(wanted)
        return [exactly] if exactly in self.acls else []

    def alive_brokers(self) -> list[BrokerInfo]:
        """The brokers that a client may use, by ascending id."""
        return [broker for _, broker in sorted(self.brokers.items()) if not broker.fenced]

    def colliding_topic(self, name: str) -> str | None:
        """A topic whose name differs from this one in '.' and '_' only, itself included."""
        if "." not in name and "_" not in name:
            return None
        names = self._colliding.get(unified_name(name))
        return names[0] if names else None

    def _change_topics(
        self, change: TopicCreated | TopicDeleted | PartitionsAdded | LeaderChanged
    ) -> None:
        if isinstance(change, LeaderChanged):
            self.topics_by_id[change.topic_id].partitions[change.index] = change.state
        elif isinstance(change, TopicCreated):
            self._create(change)
        elif isinstance(change, TopicDeleted):
            self._delete(change)
        else:
            topic = self.topics_by_id[change.topic_id]
            assert change.first_index == len(topic.partitions)
            topic.partitions.extend(change.partitions)

    def _change_cluster(
        self,
        change: FeatureChanged
        | ClientQuotasChanged
        | ScramCredentialChanged
        | DelegationTokenChanged
        | AclsChanged,
    ) -> None:
        if isinstance(change, FeatureChanged):
            self.features[change.name] = change.level
            if not change.level:
                del self.features[change.name]
        elif isinstance(change, ClientQuotasChanged):
            self.client_quotas[change.entity] = change.values
            if not change.values:
                del self.client_quotas[change.entity]
        elif isinstance(change, ScramCredentialChanged):
            if change.credential is None:
                self.scram_credentials.pop(change.user, None)
            else:
                self.scram_credentials[change.user] = change.credential
        elif isinstance(change, DelegationTokenChanged):
            if change.token is None:
                self.delegation_tokens.pop(change.token_id, None)
            else:
                self.delegation_tokens[change.token_id] = change.token
        else:
            self._change_acls(change)

    def _change_acls(self, change: AclsChanged) -> None:
        index = self._acl_index
        for acl in change.added:
            self.acls[acl] = None
            if index is not None:
                index.add(acl)
        for acl in change.removed:
            del self.acls[acl]
            if index is not None:
                index.remove(acl)

    def _create(self, change: TopicCreated) -> None:
        assert change.name not in self.topics
        assert change.topic_id not in self.topics_by_id
        assert change.partitions
        configs = dict(change.configs)
        topic = Topic(
            change.name,
            change.topic_id,
            change.partitions,
            configs,
            TopicConfig(configs, self.config),
        )
        self.topics[topic.name] = topic
        self.topics_by_id[topic.id] = topic
        if "." in topic.name or "_" in topic.name:
            self._colliding.setdefault(unified_name(topic.name), []).append(topic.name)

    def _delete(self, change: TopicDeleted) -> None:
        topic = self.topics_by_id.pop(change.topic_id)
        del self.topics[topic.name]
        key = unified_name(topic.name)
        names = self._colliding.get(key)
        if names is not None:
            names.remove(topic.name)
            if not names:
                del self._colliding[key]

    def _configure(self, change: ConfigsChanged) -> None:
        if change.resource_type == RESOURCE_TOPIC:
            topic = self.topics[change.name]
            topic.configs = dict(change.configs)
            topic.config = TopicConfig(topic.configs, self.config)
        elif change.resource_type in self.resource_configs:
            if change.configs:
                self.resource_configs[change.resource_type][change.name] = dict(change.configs)
            else:
                self.resource_configs[change.resource_type].pop(change.name, None)
            self._group_configs.pop(change.name, None)
        elif change.resource_type == RESOURCE_BROKER_LOGGER:
            self.log_levels = dict(change.configs)
        elif change.name in ("", str(self.config.node_id)):
            self._group_configs.clear()
            self.config.replace_dynamic(change.configs, cluster_default=not change.name)
            # What topics inherit has changed with it.
            for topic in self.topics.values():
                topic.config = TopicConfig(topic.configs, self.config)
