"""Taking away what a test made: topics, groups, transactional ids, faults that were not there.

`MockBroker.scope` notes what there is, and has the rest deleted at its end. Clients that are still
connected are told what Kafka tells them: that a topic, a member or a producer id is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.topic_requests import TopicReference
from mockbroker.state.groups import group_ids, owning_shard
from mockbroker.state.transactions import every_transaction, transactional_ids
from mockbroker.state.writing import create_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.faults import Fault
    from mockbroker.state.preparation import Preparation
    from mockbroker_protocol.errors import ErrorCode


class InitialState(Protocol):
    """What a cluster was started with, as `server.settings` has it.

    `topics` are partitions by name (None: `num.partitions`), `config` the static broker configs.
    """

    config: dict[str, str]
    topics: dict[str, int | None]
    preparation: Preparation | None
    faults: list[Fault | Mapping[str, object]]


class Holdings(NamedTuple):
    """What a cluster holds: topics by id, group ids, transactional ids, ids of fault rules."""

    topic_ids: frozenset[bytes]
    groups: frozenset[str]
    transactional_ids: frozenset[str]
    faults: frozenset[str] = frozenset()


def holdings(cluster: Cluster) -> Holdings:
    """What there is now. The coordinators' own topics do not count."""
    return Holdings(
        frozenset(topic.id for topic in cluster.metadata.topics.values() if not topic.internal),
        frozenset(group_ids(cluster)),
        frozenset(transactional_ids(cluster)),
        frozenset(_fault_ids(cluster)),
    )


def delete_since(cluster: Cluster, before: Holdings) -> None:
    """Delete what was not there `before`; open transactions among it are aborted first."""
    for fault_id in _fault_ids(cluster):
        if fault_id not in before.faults:
            cluster.faults.remove(fault_id)
    for service, metadata in list(every_transaction(cluster)):
        if metadata.transactional_id not in before.transactional_ids:
            service.forget(metadata.transactional_id)
    for group_id in group_ids(cluster, written=True):
        if group_id not in before.groups:
            delete_group(cluster, group_id)
    doomed = [
        TopicReference(None, topic.id)
        for topic in cluster.metadata.topics.values()
        if not topic.internal and topic.id not in before.topic_ids
    ]
    if doomed:
        cluster.controller.delete_topics(doomed)


def reset(cluster: Cluster, settings: InitialState) -> None:
    """Keep nothing but what the cluster was started with: topics, configs, faults."""
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.state.snapshot import Snapshot, restore

    cluster.journal.take_refusals()
    cluster.journal.began_ms = cluster.clock.now_ms
    if cluster.has_faults:
        cluster.faults.reset()
    store = cluster.metadata
    for resource_type, by_name in store.resource_configs.items():
        for name in list(by_name):
            store.apply(ConfigsChanged(resource_type, name, {}))
    config = BrokerConfig(settings.config)
    broker_configs = {
        "": dict(config.dynamic(cluster_default=True)),
        str(cluster.metadata.config.node_id): {},
    }
    restore(cluster, Snapshot((), broker_configs, 0, 0))
    for name, partitions in settings.topics.items():
        create_topic(cluster, name, partitions)
    if settings.preparation is not None:
        settings.preparation.apply(cluster)
    if settings.faults:
        cluster.faults.add(settings.faults)


def delete_group(cluster: Cluster, group_id: str) -> None:
    """Delete a group with its offsets, members or not; nothing happens when there is none."""
    shard = owning_shard(cluster, group_id)
    if shard is not None and (group_id in shard.groups or group_id in shard.consumer_groups):
        shard.write(shard.tombstones(group_id), _ignore)


def _fault_ids(cluster: Cluster) -> list[str]:
    return [armed.id for armed in cluster.faults.list()] if cluster.has_faults else []


def _ignore(_error: ErrorCode) -> None:
    """A coordinator without its topic has nothing to forget."""
