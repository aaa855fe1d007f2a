"""What can happen to the cluster's metadata, as values (Kafka: the records of the metadata log).

The controller decides them, `MetadataStore.apply` alone carries them out, and whoever subscribed
to the store is then told. Topic ids are 16 raw bytes. The smallest are plain classes: a named tuple
takes a start of the broker ten times as long to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.metadata.acls import Acl
    from mockbroker.metadata.brokers import BrokerInfo
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.metadata.scram import ScramCredential


Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Whom quotas are for, as (type, name) pairs; see `metadata.client_quotas`."""


ScramUser: TypeAlias = tuple[str, int]
"""A user and a mechanism, by its code; see `metadata.scram`."""


class PartitionState(NamedTuple):
    """Leadership and replicas of one partition (Kafka: PartitionRegistration). Never mutated.

    `leader` is -1 when no replica may lead. `adding` and `removing` are a reassignment under way.
    `elr` are replicas out of the in-sync set that still have all that was acknowledged (KIP-966),
    `last_known_leader` who led before nobody did, or -1.
    """

    leader: int
    replicas: list[int]
    isr: list[int]
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()
    elr: Sequence[int] = ()
    last_known_leader: int = -1


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


class TopicCreated(NamedTuple):
    """A topic with its partitions and configs came to be."""

    name: str
    topic_id: bytes
    partitions: Sequence[PartitionState]
    configs: Mapping[str, str]


class TopicDeleted:
    """A topic is gone; its id comes back only when a snapshot that has it is restored."""

    __slots__ = ("name", "topic_id")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id


class PartitionsAdded(NamedTuple):
    """A topic grew: `partitions` follow `first_index`."""

    name: str
    topic_id: bytes
    first_index: int
    partitions: Sequence[PartitionState]


class LeaderChanged:
    """A partition has another leader, in-sync set or replicas."""

    __slots__ = ("index", "name", "state", "topic_id")

    def __init__(self, name: str, topic_id: bytes, index: int, state: PartitionState) -> None:
        self.name = name
        self.topic_id = topic_id
        self.index = index
        self.state = state


class ConfigsChanged(NamedTuple):
    """The configs set on a topic, a broker or (empty name) all brokers are now `configs`.

    `resource_type` is Kafka's ConfigResource.Type: 2 topic, 4 broker, 8 a broker's loggers (then
    all levels), 16 client metrics, 32 group.
    """

    resource_type: int
    name: str
    configs: Mapping[str, str]


class FeatureChanged:
    """A feature of the cluster was finalized at another level; 0: at none."""

    __slots__ = ("level", "name")

    def __init__(self, name: str, level: int) -> None:
        self.name = name
        self.level = level


class ClientQuotasChanged:
    """The quotas of an entity are now `values`; none: it has no quotas any more."""

    __slots__ = ("entity", "values")

    def __init__(self, entity: Entity, values: Mapping[str, float]) -> None:
        self.entity = entity
        self.values = values


class ScramCredentialChanged:
    """The SCRAM credential of a user is now this one; None: it has none any more."""

    __slots__ = ("credential", "user")

    def __init__(self, user: ScramUser, credential: ScramCredential | None) -> None:
        self.user = user
        self.credential = credential


class DelegationTokenChanged:
    """A delegation token is now this one; None: there is none of that id any more."""

    __slots__ = ("token", "token_id")

    def __init__(self, token_id: str, token: DelegationToken | None) -> None:
        self.token_id = token_id
        self.token = token


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
    | ScramCredentialChanged
    | DelegationTokenChanged
    | AclsChanged
)
