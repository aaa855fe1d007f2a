"""Metadata, DescribeCluster and DescribeTopicPartitions: brokers, topics and who leads what.

Clients find every other broker through these; topics carry ids from Metadata v10 on (KIP-516).
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.messages.metadata_classes import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    by_hand,
    int8,
    int16,
    int32,
    message,
    struct,
    uuid,
)

__all__ = (
    "DescribeClusterBroker",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "DescribeTopicPartitionsResponsePartition",
    "DescribeTopicPartitionsResponseTopic",
    "MetadataRequest",
    "MetadataRequestTopic",
    "MetadataResponse",
    "MetadataResponseBroker",
    "MetadataResponsePartition",
    "MetadataResponseTopic",
    "PageCursor",
    "TopicRequest",
)


@message(api_key=60)
class DescribeClusterRequest:
    """Ask for cluster id, controller and brokers (KIP-700)."""

    include_cluster_authorized_operations: boolean = False
    endpoint_type: Annotated[int8, V(since=1)] = 1
    include_fenced_brokers: Annotated[boolean, V(since=2)] = False


@message(api_key=60)
class DescribeClusterResponse:
    """Cluster id, controller and the endpoints asked for."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    endpoint_type: Annotated[int8, V(since=1)] = 1
    cluster_id: str = ""
    controller_id: int32 = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: int32 = -(2**31)


@struct
class DescribeClusterBroker:
    """One node of the cluster as its endpoint type shows it."""

    broker_id: int32 = 0
    host: str = ""
    port: int32 = 0
    rack: Annotated[str | None, V(nullable=0)] = None
    is_fenced: Annotated[boolean, V(since=2)] = False


@message(api_key=75)
class DescribeTopicPartitionsRequest:
    """Ask for topics page by page (KIP-966)."""

    topics: list[TopicRequest] = []
    response_partition_limit: int32 = 2000
    cursor: Annotated[PageCursor | None, V(nullable=0)] = None


@struct
class TopicRequest:
    """A topic by name."""

    name: str = ""


@struct
class PageCursor:
    """Where a page begins."""

    topic_name: str = ""
    partition_index: int32 = 0


@message(api_key=75)
class DescribeTopicPartitionsResponse:
    """A page of topics, and where the next one starts."""

    throttle_time_ms: int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Annotated[PageCursor | None, V(nullable=0)] = None


@struct
class DescribeTopicPartitionsResponseTopic:
    """A topic with the partitions that fit this page."""

    error_code: int16 = 0
    name: Annotated[str | None, V(nullable=0)] = ""
    topic_id: uuid = ZERO_UUID
    is_internal: boolean = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: int32 = -(2**31)


@struct
class DescribeTopicPartitionsResponsePartition:
    """A partition with its eligible leader replicas."""

    error_code: int16 = 0
    partition_index: int32 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = -1
    replica_nodes: list[int32] = []
    isr_nodes: list[int32] = []
    eligible_leader_replicas: Annotated[list[int32] | None, V(nullable=0)] = None
    last_known_elr: Annotated[list[int32] | None, V(nullable=0)] = None
    offline_replicas: list[int32] = []


by_hand(
    MetadataRequest,
    3,
    topics=Annotated[list[MetadataRequestTopic] | None, V(nullable=1)],
    allow_auto_topic_creation=Annotated[boolean, V(since=4)],
    include_cluster_authorized_operations=Annotated[boolean, V(since=8, until=10)],
    include_topic_authorized_operations=Annotated[boolean, V(since=8)],
)
by_hand(
    MetadataRequestTopic,
    topic_id=Annotated[uuid, V(since=10, ignorable=True)],
    name=Annotated[str | None, V(nullable=10)],
)
by_hand(
    MetadataResponse,
    3,
    throttle_time_ms=Annotated[int32, V(since=3, ignorable=True)],
    brokers=list[MetadataResponseBroker],
    cluster_id=Annotated[str | None, V(since=2, nullable=2, ignorable=True)],
    controller_id=Annotated[int32, V(since=1, ignorable=True)],
    topics=list[MetadataResponseTopic],
    cluster_authorized_operations=Annotated[int32, V(since=8, until=10)],
    error_code=Annotated[int16, V(since=13, ignorable=True)],
)
by_hand(
    MetadataResponseBroker,
    node_id=int32,
    host=str,
    port=int32,
    rack=Annotated[str | None, V(since=1, nullable=1, ignorable=True)],
)
by_hand(
    MetadataResponseTopic,
    error_code=int16,
    name=Annotated[str | None, V(nullable=12)],
    topic_id=Annotated[uuid, V(since=10, ignorable=True)],
    is_internal=Annotated[boolean, V(since=1, ignorable=True)],
    partitions=list[MetadataResponsePartition],
    topic_authorized_operations=Annotated[int32, V(since=8)],
)
by_hand(
    MetadataResponsePartition,
    error_code=int16,
    partition_index=int32,
    leader_id=int32,
    leader_epoch=Annotated[int32, V(since=7, ignorable=True)],
    replica_nodes=list[int32],
    isr_nodes=list[int32],
    offline_replicas=Annotated[list[int32], V(since=5, ignorable=True)],
)
