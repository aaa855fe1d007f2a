"""Topics as values."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker import MockBroker
from mockbroker.state import topics
from mockbroker.state.writing import NewRecord, TopicError, put


def test_summaries_count_records_and_tell_offsets() -> None:
    with MockBroker(topics={"t": 2}) as broker:
        call = broker._bridged().call
        call(lambda cluster: put(cluster, "t", [NewRecord(b"a", partition=1)]))
        summary = call(lambda cluster: topics.describe(cluster, "t"))
        assert (summary.partitions, summary.replication_factor, summary.records) == (2, 1, 1)
        empty, full = call(lambda cluster: topics.partitions(cluster, "t"))
        assert (empty.leader, empty.log_end_offset, empty.size_bytes) == (1, 0, 0)
        assert (full.high_watermark, full.log_end_offset) == (1, 1)
        assert call(lambda cluster: topics.names(cluster, internal=False)) == ["t"]


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
