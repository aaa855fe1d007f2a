"""The classes of Metadata, written out: one of each is made for every topic and partition.

`metadata` declares their layout, and is what to import. Compiled they are native.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    Tags = dict[int, bytes] | None

_NOT_ASKED: Final = -(2**31)


class MetadataRequestTopic:
    """A topic by name or, from v10 on, by id with a null name."""

    __slots__ = ("name", "topic_id", "unknown_tags")

    def __init__(
        self, topic_id: bytes = ZERO_UUID, name: str | None = "", unknown_tags: Tags = None
    ) -> None:
        self.topic_id = topic_id
        self.name = name
        self.unknown_tags = unknown_tags


_NONE_GIVEN: Final[list[MetadataRequestTopic]] = []


class MetadataRequest:
    """Which topics to tell about: None is all (v1+), [] is none (v1+) or all (v0)."""

    __slots__ = (
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
        "topics",
        "unknown_tags",
    )

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = _NONE_GIVEN,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
        unknown_tags: Tags = None,
    ) -> None:
        if topics is _NONE_GIVEN:
            topics = []
        self.topics = topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
        self.unknown_tags = unknown_tags


class MetadataResponse:
    """Live brokers, the controller and the topics asked for."""

    __slots__ = (
        "brokers",
        "cluster_authorized_operations",
        "cluster_id",
        "controller_id",
        "error_code",
        "throttle_time_ms",
        "topics",
        "unknown_tags",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] | None = None,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] | None = None,
        cluster_authorized_operations: int = _NOT_ASKED,
        error_code: int = 0,
        unknown_tags: Tags = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is None else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is None else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
        self.unknown_tags = unknown_tags


class MetadataResponseBroker:
    """A broker as reached through the listener that was asked."""

    __slots__ = ("host", "node_id", "port", "rack", "unknown_tags")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.unknown_tags = unknown_tags


class MetadataResponseTopic:
    """A topic, or the error met when looking for it."""

    __slots__ = (
        "error_code",
        "is_internal",
        "name",
        "partitions",
        "topic_authorized_operations",
        "topic_id",
        "unknown_tags",
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] | None = None,
        topic_authorized_operations: int = _NOT_ASKED,
        unknown_tags: Tags = None,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is None else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tags = unknown_tags


class MetadataResponsePartition:
    """Leader, replicas and in-sync replicas of a partition."""

    __slots__ = (
        "error_code",
        "isr_nodes",
        "leader_epoch",
        "leader_id",
        "offline_replicas",
        "partition_index",
        "replica_nodes",
        "unknown_tags",
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] | None = None,
        isr_nodes: list[int] | None = None,
        offline_replicas: list[int] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is None else replica_nodes
        self.isr_nodes = [] if isr_nodes is None else isr_nodes
        self.offline_replicas = [] if offline_replicas is None else offline_replicas
        self.unknown_tags = unknown_tags
