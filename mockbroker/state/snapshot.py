"""All that a cluster keeps, as a value, and the way back to it.

`take` copies topics with their logs and configs, the coordinators' topics among them, the configs
of brokers, client quotas and ACLs; groups' offsets, transactional ids and producers are what their
logs say, so they are in it. `restore` makes a cluster hold exactly that again; `snapshot_file` has
it as a file.
Connections live on, and their clients are told what a real cluster would tell them:

- a topic that goes, or comes, is deleted or created; a topic keeps its id;
- a log that differs is replaced under a new leader epoch, so a consumer that had read further
  learns where the logs part (KIP-320), or that its offset is out of range;
- a coordinator whose log differs is loaded again: who waits gets NOT_COORDINATOR, and groups
  come back without members, which learn that they are unknown and join again.

What did not change since is not touched. Producer ids are never given out twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.log.unified_log import UnifiedLog
from mockbroker.metadata.acl_control import replace_acls
from mockbroker.metadata.changes import (
    ConfigsChanged,
    LeaderChanged,
    PartitionsAdded,
    PartitionState,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.client_quotas import replace_client_quotas
from mockbroker.metadata.delegation_token_control import replace_delegation_tokens
from mockbroker.metadata.scram_control import replace_scram_credentials
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_TOPIC
from mockbroker.state.metadata_marks import broker_configs
from mockbroker.state.partitions import leading_partition
from mockbroker.state.reloading import reload_coordinators
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.acls import Acl
    from mockbroker.metadata.changes import Entity, ScramUser
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.metadata.scram import ScramCredential
    from mockbroker.metadata.store import Topic


class LogImage(NamedTuple):
    """One partition's log: its batches as stored, and its offsets."""

    batches: tuple[bytes, ...]
    log_start_offset: int
    high_watermark: int
    log_end_offset: int


EMPTY_LOG = LogImage((), 0, 0, 0)


class PartitionImage(NamedTuple):
    """One partition: who has it, and its log."""

    replicas: tuple[int, ...]
    leader_epoch: int
    log: LogImage


class TopicImage(NamedTuple):
    """One topic; `topic_id` is 16 raw bytes."""

    name: str
    topic_id: bytes
    configs: Mapping[str, str]
    partitions: tuple[PartitionImage, ...]


class Snapshot(NamedTuple):
    """A cluster at one moment. `broker_configs` are the dynamic ones by node, "" for all nodes.

    `version` counts the changes that the cluster's metadata had seen.
    """

    topics: tuple[TopicImage, ...]
    broker_configs: Mapping[str, Mapping[str, str]]
    next_producer_id: int
    version: int
    client_quotas: Mapping[Entity, Mapping[str, float]]
    acls: tuple[Acl, ...]
    scram_credentials: Mapping[ScramUser, ScramCredential] = {}
    delegation_tokens: Mapping[str, DelegationToken] = {}

    def __repr__(self) -> str:
        names = ", ".join(topic.name for topic in self.topics)
        return f"<Snapshot of {len(self.topics)} topics: {names}>"


def take(cluster: Cluster) -> Snapshot:
    """Copy what the cluster keeps. Batches are copied once; later appends change nothing here."""
    store = cluster.metadata
    return Snapshot(
        tuple(_take_topic(cluster, topic) for topic in store.topics.values()),
        broker_configs(cluster),
        cluster.producer_id_blocks.next_producer_id,
        store.version,
        dict(store.client_quotas),
        tuple(store.acls),
        dict(store.scram_credentials),
        dict(store.delegation_tokens),
    )


def restore(cluster: Cluster, snapshot: Snapshot) -> None:
    """Make the cluster hold what `snapshot` has, and nothing else."""
    cluster.register_all()
    blocks = cluster.producer_id_blocks
    blocks.next_producer_id = max(blocks.next_producer_id, snapshot.next_producer_id)
    _restore_broker_configs(cluster, snapshot)
    none: dict[Entity, dict[str, float]] = {each: {} for each in cluster.metadata.client_quotas}
    replace_client_quotas(cluster.metadata, {**none, **snapshot.client_quotas})
    replace_acls(cluster.metadata, snapshot.acls)
    nobody = dict.fromkeys(cluster.metadata.scram_credentials)
    replace_scram_credentials(cluster.metadata, {**nobody, **snapshot.scram_credentials})
    no_tokens: dict[str, DelegationToken | None] = dict.fromkeys(cluster.metadata.delegation_tokens)
    replace_delegation_tokens(cluster.metadata, {**no_tokens, **snapshot.delegation_tokens})
    _delete_others(cluster, snapshot)
    changed = [
        (topic, _restore_metadata(cluster, topic, snapshot.version)) for topic in snapshot.topics
    ]
    if cluster.peers is not None:
        cluster.interconnect.drain()  # brokers have the topics whose logs they are given
    for topic, indexes in changed:
        for index in indexes:
            _begin_epoch(cluster, topic, index)
            _replace_log(cluster, topic, index)
        reload_coordinators(cluster, topic.name, indexes, keep_members=False)


# -- taking ---------------------------------------------------------------------------------


def _take_topic(cluster: Cluster, topic: Topic) -> TopicImage:
    partitions = tuple(
        PartitionImage(
            tuple(state.replicas), state.leader_epoch, _take_log(cluster, topic.name, index)
        )
        for index, state in enumerate(topic.partitions)
    )
    return TopicImage(topic.name, topic.id, dict(topic.configs), partitions)


def _take_log(cluster: Cluster, topic: str, index: int) -> LogImage:
    log = _longest_log(cluster, topic, index)
    if log is None:
        return EMPTY_LOG
    return LogImage(
        tuple(bytes(batch) for _, batch in log.iterate_batches(log.log_start_offset)),
        log.log_start_offset,
        log.high_watermark,
        log.log_end_offset,
    )


def _longest_log(cluster: Cluster, topic: str, index: int) -> UnifiedLog | None:
    """The leader's log, or, without a leader, that of the replica that has most."""
    partition = leading_partition(cluster, topic, index)
    if partition is not None:
        return partition.log
    hosted = (broker.services.replicas.partition(topic, index) for broker in cluster.brokers)
    logs = [one.log for one in hosted if one is not None and one.log is not None]
    return max(logs, key=lambda log: log.log_end_offset, default=None)


# -- going back -----------------------------------------------------------------------------


def _restore_broker_configs(cluster: Cluster, snapshot: Snapshot) -> None:
    for name, current in broker_configs(cluster).items():
        wanted = snapshot.broker_configs.get(name, {})
        if current != wanted:
            cluster.metadata.apply(ConfigsChanged(RESOURCE_BROKER, name, wanted))
    for node in cluster.nodes:
        if node.broker is None:  # it hears of nothing, and comes back with the configs it has
            own = snapshot.broker_configs.get(str(node.node_id), {})
            node.config.replace_dynamic(own, cluster_default=False)


def _delete_others(cluster: Cluster, snapshot: Snapshot) -> None:
    """Delete what is not in the snapshot, and what would have to shrink."""
    wanted = {(topic.name, topic.topic_id): topic for topic in snapshot.topics}
    for live in list(cluster.metadata.topics.values()):
        image = wanted.get((live.name, live.id))
        if image is None or len(live.partitions) > len(image.partitions):
            cluster.metadata.apply(TopicDeleted(live.name, live.id))


def _restore_metadata(cluster: Cluster, image: TopicImage, version: int) -> list[int]:
    """Bring the topic back, but for its logs; which partitions need another one."""
    store = cluster.metadata
    live = store.topics.get(image.name)
    if live is None:
        # No client has seen a higher epoch: each rise is a change that `version` counts.
        rise = 1 + max(0, store.version - version)
        states = [_state(cluster, one, one.leader_epoch + rise) for one in image.partitions]
        store.apply(TopicCreated(image.name, image.topic_id, states, image.configs))
        changed = [index for index, one in enumerate(image.partitions) if one.log != EMPTY_LOG]
    else:
        if len(live.partitions) < len(image.partitions):
            first = len(live.partitions)
            states = [_state(cluster, one, one.leader_epoch) for one in image.partitions[first:]]
            store.apply(PartitionsAdded(image.name, image.topic_id, first, states))
        if live.configs != image.configs:
            store.apply(ConfigsChanged(RESOURCE_TOPIC, image.name, image.configs))
        changed = [
            index
            for index, one in enumerate(image.partitions)
            if _take_log(cluster, image.name, index) != one.log
        ]
    return changed


def _state(cluster: Cluster, image: PartitionImage, leader_epoch: int) -> PartitionState:
    """The partition's replicas as far as this cluster has such nodes, else its first node."""
    nodes = [broker.services.broker_id for broker in cluster.brokers]
    replicas = [node for node in image.replicas if node in nodes] or nodes[:1]
    return PartitionState(replicas[0], replicas, list(replicas), leader_epoch)


def _begin_epoch(cluster: Cluster, topic: TopicImage, index: int) -> None:
    """Let clients and followers find out that the log is another one."""
    current = cluster.metadata.topics[topic.name].partitions[index]
    state = PartitionState(
        current.leader,
        current.replicas,
        current.isr,
        current.leader_epoch + 1,
        current.partition_epoch + 1,
    )
    cluster.metadata.apply(LeaderChanged(topic.name, topic.topic_id, index, state))


def _replace_log(cluster: Cluster, topic: TopicImage, index: int) -> None:
    for broker in cluster.brokers:
        partition = broker.services.replicas.partition(topic.name, index)
        if partition is not None:
            log = UnifiedLog(
                topic.name, index, cluster.metadata.topics[topic.name].config.log_config
            )
            fill(log, topic.partitions[index].log, cluster.clock.wall_ms())
            partition.replace_log(log)


def fill(log: UnifiedLog, image: LogImage, now_wall_ms: int) -> None:
    """Make an empty log hold what the image has; producers and epochs follow from its batches."""
    from mockbroker_protocol.records.batch import read_batch_header

    start = image.log_start_offset
    first = read_batch_header(image.batches[0]).base_offset if image.batches else start
    log.truncate_fully_and_start_at(min(first, start))
    for batch in image.batches:
        appended = log.append_as_follower(batch, now_wall_ms)
        assert appended.error is ErrorCode.NONE, appended
    log.set_high_watermark(image.high_watermark)
    log.advance_log_start(start)
