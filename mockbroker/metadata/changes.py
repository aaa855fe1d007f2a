"""What can happen to the cluster's metadata, as values (Kafka: the records of the metadata log).

The controller decides them, `MetadataStore.apply` alone carries them out, and whoever subscribed
to the store is then told. Topic ids are 16 raw bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.metadata.acls import Acl
    from mockbroker.metadata.brokers import BrokerInfo


class PartitionState:
    """Leadership and replicas of one partition (Kafka: PartitionRegistration). Never mutated.

    `leader` is -1 when no replica may lead. `adding` and `removing` are a reassignment under way.
    `elr` are replicas out of the in-sync set that still have all that was acknowledged (KIP-966),
    `last_known_leader` who led before nobody did, or -1.
    """

    __slots__ = (
        "adding",
        "elr",
        "isr",
        "last_known_leader",
        "leader",
        "leader_epoch",
        "partition_epoch",
        "removing",
        "replicas",
    )

    def __init__(
        self,
        leader: int,
        replicas: list[int],
        isr: list[int],
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        *,
        adding: Sequence[int] = (),
        removing: Sequence[int] = (),
        elr: Sequence[int] = (),
        last_known_leader: int = -1,
    ) -> None:
        self.leader = leader
        self.replicas = replicas
        self.isr = isr
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.adding = adding
        self.removing = removing
        self.elr = elr
        self.last_known_leader = last_known_leader


class BrokerChanged:
    """A broker joined, moved, or was fenced or unfenced."""

    __slots__ = ("broker",)

    def __init__(self, broker: BrokerInfo) -> None:
        self.broker = broker


class BrokerUnregistered:
    """A broker is taken off the books: nobody knows it until it registers anew."""

    __slots__ = ("node_id",)

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id


class TopicCreated:
    """A topic with its partitions and configs came to be."""

    __slots__ = ("configs", "name", "partitions", "topic_id")

    def __init__(
        self,
        name: str,
        topic_id: bytes,
        partitions: Sequence[PartitionState],
        configs: Mapping[str, str],
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.configs = configs


class TopicDeleted:
    """A topic is gone; its id comes back only when a snapshot that has it is restored."""

    __slots__ = ("name", "topic_id")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id


class PartitionsAdded:
    """A topic grew: `partitions` follow `first_index`."""

    __slots__ = ("first_index", "name", "partitions", "topic_id")

    def __init__(
        self, name: str, topic_id: bytes, first_index: int, partitions: Sequence[PartitionState]
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.first_index = first_index
        self.partitions = partitions


class LeaderChanged:
    """A partition has another leader, in-sync set or replicas."""

    __slots__ = ("index", "name", "state", "topic_id")

    def __init__(self, name: str, topic_id: bytes, index: int, state: PartitionState) -> None:
        self.name = name
        self.topic_id = topic_id
        self.index = index
        self.state = state


class ConfigsChanged:
    """The configs set on a topic, a broker or (empty name) all brokers are now `configs`.

    `resource_type` is Kafka's ConfigResource.Type: 2 topic, 4 broker, 8 a broker's loggers (then
    all levels), 16 client metrics, 32 group.
    """

    __slots__ = ("configs", "name", "resource_type")

    def __init__(self, resource_type: int, name: str, configs: Mapping[str, str]) -> None:
        self.resource_type = resource_type
        self.name = name
        self.configs = configs


class FeatureChanged:
    """A feature of the cluster was finalized at another level; 0: at none."""

    __slots__ = ("level", "name")

    def __init__(self, name: str, level: int) -> None:
        self.name = name
        self.level = level


class ClientQuotasChanged:
    """The quotas of an entity are now `values`; none: it has no quotas any more.

    An entity is (type, name) pairs; see `metadata.client_quotas`.
    """

    __slots__ = ("entity", "values")

    def __init__(
        self, entity: tuple[tuple[str, str | None], ...], values: Mapping[str, float]
    ) -> None:
        self.entity = entity
        self.values = values


class AclsChanged:
    """Some ACLs came to be and others are gone."""

    __slots__ = ("added", "removed")

    def __init__(self, added: Sequence[Acl], removed: Sequence[Acl]) -> None:
        self.added = added
        self.removed = removed


Change: TypeAlias = (
    BrokerChanged
    | BrokerUnregistered
    | TopicCreated
    | TopicDeleted
    | PartitionsAdded
    | LeaderChanged
    | ConfigsChanged
    | FeatureChanged
    | ClientQuotasChanged
    | AclsChanged
)
