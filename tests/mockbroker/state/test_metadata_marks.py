"""What changed of the metadata is noted at its first change, and nothing else is looked at."""

from __future__ import annotations

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.metadata.topic_requests import NewPartitions
from mockbroker.state.metadata_marks import MetadataMarks
from mockbroker.state.writing import create_topic, delete_topic
from tests.support.core_state import attributes_of
from tests.support.inside import make_cluster


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster({f"t{n}": 2 for n in range(50)})


@pytest.fixture
def marks(cluster: Cluster) -> MetadataMarks:
    marks = MetadataMarks(cluster)
    cluster.metadata.watch_before(marks.before)
    return marks


def noted(marks: MetadataMarks) -> dict[str, int]:
    found = {name: getattr(marks, name) for name in attributes_of(marks)}
    return {
        name: len(value) for name, value in found.items() if isinstance(value, dict | set) and value
    }


def test_nothing_is_noted_of_what_did_not_change(cluster: Cluster, marks: MetadataMarks) -> None:
    assert noted(marks) == {}
    topic_id = cluster.metadata.topics["t7"].id
    cluster.controller.create_partitions([NewPartitions("t7", 4)], validate_only=False)
    cluster.controller.create_partitions([NewPartitions("t7", 5)], validate_only=False)
    assert noted(marks) == {"_topics": 1}
    version = cluster.metadata.version
    marks.restore()
    assert cluster.metadata.version - version == 2, "deleted, and made as it was"
    topic = cluster.metadata.topics["t7"]
    assert (topic.id, len(topic.partitions)) == (topic_id, 2)


def test_topics_that_come_and_go_leave_no_note(cluster: Cluster, marks: MetadataMarks) -> None:
    for _ in range(5):
        create_topic(cluster, "new")
        made = cluster.metadata.topics["new"].id
        assert not marks.existed(made)
        delete_topic(cluster, "new")
        assert not marks.existed(made)
    assert noted(marks) == {}


def test_topics_of_before_existed_even_when_they_are_gone(
    cluster: Cluster, marks: MetadataMarks
) -> None:
    topic_id = cluster.metadata.topics["t1"].id
    assert marks.existed(topic_id)
    delete_topic(cluster, "t1")
    assert marks.existed(topic_id)


def test_a_topic_that_comes_back_is_in_a_later_epoch_than_anybody_saw(
    cluster: Cluster, marks: MetadataMarks
) -> None:
    delete_topic(cluster, "t1")
    marks.restore()
    assert cluster.metadata.topics["t1"].partitions[0].leader_epoch >= 1


def test_a_watcher_that_left_is_told_nothing(cluster: Cluster, marks: MetadataMarks) -> None:
    cluster.metadata.unwatch_before(marks.before)
    delete_topic(cluster, "t1")
    assert noted(marks) == {}
