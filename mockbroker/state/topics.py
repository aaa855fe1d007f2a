"""Topics as values: what each holds, how far its partitions are, and changing it. For `admin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.store import RESOURCE_TOPIC
from mockbroker.metadata.topic_requests import ConfigAlteration, NewPartitions
from mockbroker.state.partitions import leading_partition
from mockbroker.state.writing import TopicError
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.primitives import uuid_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.topic_requests import Refusal

_SET, _DELETE = 0, 1


class TopicSummary(NamedTuple):
    """One topic; `records` counts the offsets between log start and high watermark."""

    name: str
    topic_id: str
    internal: bool
    partitions: int
    replication_factor: int
    records: int


class PartitionSummary(NamedTuple):
    """One partition; the offsets are its leader's, None while it has no leader."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    high_watermark: int | None = None
    log_end_offset: int | None = None
    size_bytes: int | None = None


def names(cluster: Cluster, *, internal: bool) -> list[str]:
    """Topics by name, those of the coordinators too when `internal`."""
    topics = cluster.metadata.topics
    return sorted(name for name, topic in topics.items() if internal or not topic.internal)


def describe(cluster: Cluster, name: str) -> TopicSummary:
    """One topic that exists."""
    topic = cluster.metadata.topics[name]
    records = 0
    for index in range(len(topic.partitions)):
        partition = leading_partition(cluster, name, index)
        if partition is not None and partition.log is not None:
            records += partition.log.high_watermark - partition.log.log_start_offset
    return TopicSummary(
        name,
        uuid_text(topic.id),
        topic.internal,
        len(topic.partitions),
        len(topic.partitions[0].replicas),
        records,
    )


def partitions(cluster: Cluster, name: str) -> list[PartitionSummary]:
    """The partitions of a topic that exists."""
    found = []
    for index, state in enumerate(cluster.metadata.topics[name].partitions):
        summary = PartitionSummary(
            index, state.leader, state.leader_epoch, list(state.replicas), list(state.isr)
        )
        partition = leading_partition(cluster, name, index)
        log = None if partition is None else partition.log
        if log is None and state.leader >= 0:
            # Nothing was ever written to it.
            summary = PartitionSummary(*summary[:5], 0, 0, 0, 0, 0)
        elif log is not None:
            summary = summary._replace(
                log_start_offset=log.log_start_offset,
                last_stable_offset=log.last_stable_offset,
                high_watermark=log.high_watermark,
                log_end_offset=log.log_end_offset,
                size_bytes=log.size_bytes,
            )
        found.append(summary)
    return found


def alter(
    cluster: Cluster, name: str, count: int | None, configs: Mapping[str, str | None]
) -> None:
    """Let a topic grow to `count` partitions, and set its configs; None takes one back.

    All of it or nothing. Raises TopicError.
    """
    controller = cluster.controller
    changes = [
        (key, _DELETE if value is None else _SET, value) for key, value in sorted(configs.items())
    ]
    alterations = [ConfigAlteration(RESOURCE_TOPIC, name, changes)] if changes else []
    growth = [] if count is None else [NewPartitions(name, count)]
    for dry in (True, False):
        refusals: list[Refusal] = controller.alter_configs(alterations, validate_only=dry)
        refusals += [
            refusal for _, refusal in controller.create_partitions(growth, validate_only=dry)
        ]
        for refusal in refusals:
            if refusal.error is not ErrorCode.NONE:
                raise TopicError(f"topic {name}: {refusal.message or refusal.error.name}")
