"""What the cluster's metadata were, one after the other: what brokers may tell of them.

The controller's store is followed change by change. What a broker tells of a subject must be one of
its values, none from before what the same incarnation of the broker has told already; what was
acknowledged must have come to be since it was asked for. At rest all brokers hold the last one.

A partition that another broker leads, or that loses a replica, has a higher leader epoch
(PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from mockbroker.metadata.changes import (
    AclsChanged,
    ClientQuotasChanged,
    ConfigsChanged,
    FeatureChanged,
    LeaderChanged,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_TOPIC

if TYPE_CHECKING:
    from mockbroker.metadata.changes import Change, Entity, PartitionState
    from mockbroker.metadata.store import MetadataStore
    from simulation.cluster.world import ClusterWorld

Subject = tuple[object, ...]
"""A topic, an entity with quotas, a feature, the ACLs, a resource with configs."""
ACLS: Final = ("acls",)


def topic(name: str) -> Subject:
    """A topic: id, number of partitions and configs; None without it."""
    return "topic", name


def resource(resource_type: int, name: str) -> Subject:
    """A group, a subscription to metrics or, with no name, the default of all brokers."""
    return "configs", resource_type, name


def value_in(store: MetadataStore, subject: Subject) -> object:
    """What a store holds of it."""
    kind = subject[0]
    if kind == "topic":
        known = store.topics.get(str(subject[1]))
        return known and (known.id, len(known.partitions), dict(known.configs))
    if kind == "quota":
        return dict(store.client_quotas.get(cast("Entity", subject[1]), {}))
    if kind == "feature":
        return store.features.get(str(subject[1]), 0)
    if kind == "configs":
        if subject[1] == RESOURCE_BROKER:
            return dict(store.config.dynamic(cluster_default=True))
        assert isinstance(subject[1], int)
        return dict(store.resource_configs[subject[1]].get(str(subject[2]), {}))
    assert subject == ACLS
    return frozenset(store.acls)


def _subject_of(change: Change) -> Subject | None:
    if isinstance(change, TopicCreated | TopicDeleted | PartitionsAdded):
        return topic(change.name)
    if isinstance(change, ConfigsChanged):
        if change.resource_type == RESOURCE_TOPIC:
            return topic(change.name)
        if change.resource_type == RESOURCE_BROKER and change.name:
            return None
        return resource(change.resource_type, change.name)
    if isinstance(change, ClientQuotasChanged):
        return "quota", change.entity
    if isinstance(change, FeatureChanged):
        return "feature", change.name
    return ACLS if isinstance(change, AclsChanged) else None


class MetadataHistory:
    """Follows the store of a world's controller from now on."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._store = world.cluster.metadata
        self._values: dict[Subject, list[object]] = {}
        self._told: dict[tuple[int, int, Subject], int] = {}
        self._led: dict[tuple[bytes, int], PartitionState] = {}
        """What is known of the partitions that changed."""
        self._store.subscribe(self._on_change)

    def _on_change(self, change: Change) -> None:
        if isinstance(change, LeaderChanged):
            self._check_epoch(change)
        elif isinstance(change, TopicCreated | PartitionsAdded):
            # A topic that a scope put back has its id again, and partitions that came since anew.
            first = 0 if isinstance(change, TopicCreated) else change.first_index
            for index in range(first, first + len(change.partitions)):
                self._led.pop((change.topic_id, index), None)
        subject = _subject_of(change)
        if subject in self._values:
            self._values[subject].append(value_in(self._store, subject))

    def _check_epoch(self, change: LeaderChanged) -> None:
        now = change.state
        before = self._led.get((change.topic_id, change.index))
        self._led[change.topic_id, change.index] = now
        if before is None or now.leader_epoch > before.leader_epoch:
            return
        if now.leader != before.leader or not set(before.replicas) <= set(now.replicas):
            self._world.violate(
                f"{change.name}-{change.index} went from {before} to {now} in one leader epoch"
            )

    def values(self, subject: Subject) -> list[object]:
        """All so far, from when it was first asked for on."""
        known = self._values.get(subject)
        if known is None:
            known = self._values[subject] = [value_in(self._store, subject)]
        return known

    def position(self, subject: Subject) -> int:
        """Where its history stands."""
        return len(self.values(subject)) - 1

    def since(self, node: int, subject: Subject) -> int:
        """From where on a broker may tell of it."""
        return self._told.get(self._teller(node, subject), 0)

    def tell(self, node: int, subject: Subject, value: object, since: int) -> str | None:
        """A broker told its value; `since` was known when it was asked. What is wrong, or None."""
        values = self.values(subject)
        if value not in values:
            return f"broker {node} tells {value} of {subject}, which it never was: {values[-3:]}"
        if value not in values[since:]:
            return f"broker {node} tells {value} of {subject} after {values[since]}"
        teller = self._teller(node, subject)
        self._told[teller] = max(self._told.get(teller, 0), values.index(value, since))
        return None

    def _teller(self, node: int, subject: Subject) -> tuple[int, int, Subject]:
        at = next(each for each in self._world.cluster.nodes if each.node_id == node)
        return node, at.incarnations, subject

    # -- at rest -----------------------------------------------------------------------------

    def differences(self) -> list[str]:
        """Where a broker's image is not the controller's store."""
        wrong = []
        wanted = image_of(self._store)
        for node in self._world.cluster.nodes:
            if node.broker is not None:
                image = image_of(node.broker.services.metadata)
                wrong += [
                    f"broker {node.node_id} has {what} {image[what]}, the controller {value}"
                    for what, value in wanted.items()
                    if image[what] != value
                ]
        return wrong


def image_of(store: MetadataStore) -> dict[str, object]:
    """All that a store holds, as plain values."""
    return {
        "topics": {
            known.name: (known.id, list(known.partitions), dict(known.configs))
            for known in store.topics.values()
        },
        "brokers": {
            node: (broker.fenced, broker.leaving, broker.epoch)
            for node, broker in store.brokers.items()
        },
        "quotas": {entity: dict(values) for entity, values in store.client_quotas.items()},
        "ACLs": set(store.acls),
        "features": dict(store.features),
        "configs": {
            (kind, name): dict(configs)
            for kind, by_name in store.resource_configs.items()
            for name, configs in by_name.items()
        },
    }
