"""Bounds and topics as the options of Spark's Kafka source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.topic_range import (
    Broker,
    TopicRange,
    bound_options,
    check_order,
    check_range,
    known_partitions,
    read_options,
    what_is_there,
)
from tests.support.whole_topics import produce

if TYPE_CHECKING:
    from mockbroker import MockBroker

BROKER = Broker("b:1", {"client.id": "c"})


def test_a_read_is_committed_whole_and_with_headers() -> None:
    options = read_options(BROKER, TopicRange(topics=("a", "b"), min_tasks=4), {})
    assert options["subscribe"] == "a,b"
    assert options["kafka.isolation.level"] == "read_committed"
    assert (options["startingOffsets"], options["endingOffsets"]) == ("earliest", "latest")
    assert (options["includeHeaders"], options["failOnDataLoss"]) == ("true", "true")
    assert (options["minPartitions"], options["kafka.client.id"]) == ("4", "c")
    pattern = read_options(BROKER, TopicRange(pattern="a.*"), {})
    assert pattern["subscribePattern"] == "a.*"
    assert "subscribe" not in pattern


def test_an_offset_holds_for_every_partition() -> None:
    options = bound_options("starting", "offset:7", {"a": [0, 1]})
    assert json.loads(options["startingOffsets"]) == {"a": {"0": 7, "1": 7}}


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:01", "1000"),
        ("1970-01-01T01:00:01+01:00", "1000"),
        ("1970-01-01T00:00:01.5Z", "1500"),
    ],
)
def test_a_time_is_utc_unless_it_says_otherwise(text: str, milliseconds: str) -> None:
    assert bound_options("ending", text, {}) == {"endingTimestamp": milliseconds}
    assert bound_options("starting", text, {})["startingTimestamp"] == milliseconds


@pytest.mark.parametrize(
    ("side", "text", "told"),
    [
        ("starting", "soon", "--from: 'soon'"),
        ("ending", "{x", "--to: '{x' is no JSON"),
        ("starting", "1969-12-31", "--from: 1969-12-31 is before 1970, .*--from earliest takes"),
        ("ending", "1970-01-01T00:00:00+01:00", "--to: .* is before 1970, .*: nothing is before"),
    ],
)
def test_a_bound_that_says_nothing(side: str, text: str, told: str) -> None:
    with pytest.raises(PipelineError, match=told):
        bound_options(side, text, {})


def test_topics_must_be_there(broker: MockBroker, topic: str) -> None:
    bootstrap = broker.bootstrap_servers
    with BrokerClient(bootstrap) as client:
        client.create_topic(topic, 2)
    known = Broker(bootstrap)
    assert known_partitions(known, TopicRange(topics=(topic,))) == {topic: [0, 1]}
    assert known_partitions(known, TopicRange(pattern=f"{topic[:-1]}.")) == {topic: [0, 1]}
    check_range(TopicRange(topics=(topic,)), Broker(bootstrap))
    for wanted, told in (
        (TopicRange(topics=(topic, "nope")), "unknown topic nope"),
        (TopicRange(pattern="nope.*"), "--pattern: no topic matches 'nope"),
        (TopicRange(pattern="("), r"--pattern: '\('"),
        (TopicRange(topics=(topic,), start="soon"), "--from"),
    ):
        with pytest.raises(PipelineError, match=told):
            check_range(wanted, Broker(bootstrap))


def test_a_range_that_ends_before_it_starts(broker: MockBroker, topic: str) -> None:
    bootstrap = broker.bootstrap_servers
    with BrokerClient(bootstrap) as client:
        client.create_topic(topic, 1)
    produce(bootstrap, topic, [b"a", b"b", b"c"], timestamps=[1000, 2000, 3000])

    def check(start: str, end: str) -> None:
        check_order(TopicRange(topics=(topic,), start=start, end=end), Broker(bootstrap))

    each = json.dumps({topic: {"0": 1}})
    for start, end in (
        ("earliest", "latest"),
        ("offset:1", "offset:1"),
        ("1970-01-01T00:00:02Z", each),
        ("1970-01-01T00:00:09Z", "latest"),
    ):
        check(start, end)
    for start, end, told in (
        ("offset:2", "offset:1", "would be read from offset 2 to 1; it has 0 to 3"),
        ("offset:9", "latest", "would be read from offset 9 to 3"),
        ("latest", "latest", "--from latest --to latest: no record is in such a range: --from"),
        ("latest", "earliest", "--from latest --to earliest: no record is in such a range"),
        ("earliest", "earliest", "and --to latest, offset:N or a time"),
        (json.dumps({topic: {"0": -1}}), "latest", "no record is in such a range"),
        ("earliest", json.dumps({topic: {"0": -2}}), "no record is in such a range"),
        ("1970-01-01T00:00:03Z", "1970-01-01T00:00:02Z", "from offset 2 to 1"),
        (json.dumps({topic: {"1": 0}}), "latest", "does not name partitions 0 to 0"),
    ):
        with pytest.raises(PipelineError, match=told):
            check(start, end)
    wanted = TopicRange(topics=(topic,))
    assert what_is_there(wanted, Broker(bootstrap)) == (
        f"no record in the range; {topic} has offsets 0: 0 to 3"
    )
