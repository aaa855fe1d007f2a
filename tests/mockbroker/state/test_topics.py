"""Topics as values."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker import MockBroker
from mockbroker.state import topics
from mockbroker.state.writing import TopicError


def test_names_are_in_order_and_without_the_coordinators() -> None:
    with MockBroker(topics={"t": 2, "a": 1}) as broker:
        broker.group("g").commit({("t", 0): 0})
        call = broker._bridged().call
        assert call(lambda cluster: topics.names(cluster, internal=False)) == ["a", "t"]
        every = call(lambda cluster: topics.names(cluster, internal=True))
        assert every == ["__consumer_offsets", "a", "t"]


def test_a_change_is_checked_before_any_of_it_is_made() -> None:
    with MockBroker(topics={"t": 2}) as broker:
        call = broker._bridged().call
        for count, configs in ((1, {"segment.ms": "5"}), (4, {"segment.ms": "x"})):
            with pytest.raises(TopicError, match="topic t"):
                call(partial(topics.alter, name="t", count=count, configs=configs))
        topic = call(lambda cluster: cluster.metadata.topics["t"])
        assert (len(topic.partitions), topic.configs) == (2, {})
        call(lambda cluster: topics.alter(cluster, "t", 4, {"segment.ms": "5"}))
        topic = call(lambda cluster: cluster.metadata.topics["t"])
        assert (len(topic.partitions), topic.configs) == (4, {"segment.ms": "5"})
