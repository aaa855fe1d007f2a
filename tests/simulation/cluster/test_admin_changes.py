"""What admins ask for is what they say, and what must be refused is."""

from __future__ import annotations

from random import Random

from mockbroker.metadata.store import RESOURCE_GROUP, RESOURCE_TOPIC
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster import admin_changes as changes
from simulation.cluster.cluster_admins import error_of
from tests.support.cluster_core import ClusterCore


def test_every_refusal_is_answered_with_its_error_and_changes_nothing() -> None:
    core = ClusterCore(topics={changes.KNOWN: 1})
    client, store = core.client(node=2), core.cluster.metadata
    version = store.version
    for change in changes.REFUSALS:
        answer = client.call(change.request, change.version, object)
        assert error_of(answer) == change.error, change
        assert store.version == version, change


def test_each_change_of_a_topic_can_be_made() -> None:
    core = ClusterCore(topics={changes.KNOWN: 1})
    client, topics = core.client(node=3), core.cluster.metadata.topics
    rng = Random(5)
    for _ in range(10):
        made = changes.create_topic(rng, "a", [1, 2, 3])
        assert error_of(client.call(made.request, made.version, object)) == ErrorCode.NONE
        known = topics["a"]
        assert len(known.partitions) == made.wanted
        count, factor = len(known.partitions) + 1, len(known.partitions[0].replicas)
        grown = changes.grow_topic(rng, "a", count, factor, [1, 2, 3])
        assert error_of(client.call(grown.request, grown.version, object)) == ErrorCode.NONE
        assert len(known.partitions) == count
        altered = changes.alter_configs(rng, RESOURCE_TOPIC, "a", numbered=1)
        assert error_of(client.call(altered.request, altered.version, object)) == ErrorCode.NONE
        gone = changes.delete_topic(rng, "a", known.id)
        assert error_of(client.call(gone.request, gone.version, object)) == ErrorCode.NONE
        assert "a" not in topics


def test_features_quotas_and_configs_move_on() -> None:
    core = ClusterCore(topics={changes.KNOWN: 1})
    client, store = core.client(), core.cluster.metadata
    rng = Random(1)
    for number in range(20):
        quota = changes.alter_quota(rng, numbered=number)
        assert error_of(client.call(quota.request, quota.version, object)) == ErrorCode.NONE
        update = changes.update_feature(rng, store.features)
        assert error_of(client.call(update.request, update.version, object)) == ErrorCode.NONE
        assert store.features.get(str(update.subject and update.subject[1]), 0) == update.wanted
        altered = changes.alter_configs(rng, RESOURCE_GROUP, "g", numbered=number)
        assert error_of(client.call(altered.request, altered.version, object)) == ErrorCode.NONE
    assert store.client_quotas
