"""What differs between two snapshots."""

from __future__ import annotations

from mockbroker.state.snapshot import take
from mockbroker.state.snapshot_compare import differences
from mockbroker.state.topics import alter
from mockbroker.state.writing import create_topic
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import produce


def test_topics_offsets_and_configs_that_differ_are_told() -> None:
    core = Core(topics={"orders": 1})
    before = take(core.cluster)
    assert differences(before, take(core.cluster)) == []
    core.client("writer").call(produce("orders"), 9, ProduceResponse)
    create_topic(core.cluster, "paid", 2, None, {})
    alter(core.cluster, "orders", 3, {"retention.ms": "5"})
    found = {
        (one.topic, one.partition, one.what): (one.before, one.after)
        for one in differences(before, take(core.cluster))
    }
    assert found["orders", 0, "log_end_offset"] == ("0", "1")
    assert found["orders", None, "partitions"] == ("1", "3")
    assert found["orders", None, "retention.ms"] == ("default", "5")
    assert found["paid", None, "topic"] == ("not there", "2 partition(s)")


def test_records_that_are_others_at_the_same_offsets_are_told() -> None:
    core = Core(topics={"orders": 1})
    core.client("writer").call(produce("orders"), 9, ProduceResponse)
    before = take(core.cluster)
    topic = before.topics[0]
    log = topic.partitions[0].log
    other = log._replace(batches=tuple(bytes(len(batch)) for batch in log.batches))
    partition = topic.partitions[0]._replace(log=other)
    after = before._replace(topics=(topic._replace(partitions=(partition,)),))
    assert {one.what for one in differences(before, after)} == {"records"}
