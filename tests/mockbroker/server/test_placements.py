"""Where partitions are, at the start of a journal and with each change."""

from __future__ import annotations

from mockbroker.journal import TopicPlaced
from mockbroker.metadata.changes import FeatureChanged
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.server import placements
from mockbroker_protocol.primitives import uuid_text
from tests.support.core import Core


def test_topics_that_are_there_are_told_with_all_partitions() -> None:
    core = Core(topics={"orders": 2})
    metadata = core.cluster.metadata
    (told,) = placements.known(metadata)
    state = [1, 0, [1], [1]]
    topic_id = uuid_text(metadata.topics["orders"].id)
    assert told == TopicPlaced("created", "orders", topic_id, 0, [state, state], {})


def test_each_change_of_them_is_told() -> None:
    core = Core()
    told: list[TopicPlaced | None] = []
    cluster = core.cluster
    cluster.metadata.subscribe(lambda change: told.append(placements.event_of(change)))
    cluster.controller.create_topics([NewTopic("orders", 1, 1)])
    cluster.metadata.apply(FeatureChanged("a", 1))
    cluster.controller.delete_topics([TopicReference("orders")])
    kinds = [None if each is None else (each.action, each.topic) for each in told]
    assert kinds == [("created", "orders"), None, ("deleted", "orders")]
