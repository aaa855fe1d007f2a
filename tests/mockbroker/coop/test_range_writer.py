"""A commit of many partitions, and one among many ranges."""

from __future__ import annotations

from mockbroker.coop import ic_records
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.extension import extension_of
from mockbroker.coop.ic_shard import IndividualCommitShard
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
from tests.support.core import Core
from tests.support.range_group import COMMIT_VERSION, ON, Committed, RangeGroup, fill, told

MANY = 600


def test_partitions_of_one_request_share_the_room() -> None:
    config = {**ON, "individual.commit.max.ranges.per.group": "2"}
    group = RangeGroup(Core(topics={"t": 1, "u": 1}, config=config).client())
    fill(group.client, 100)
    fill(group.client, 100, "u")
    request = group.asking(-1, commit_fields([(5, 5), (7, 7)]))
    (other,) = group.asking(-1, commit_fields([(5, 5)])).topics
    other.name = "u"
    request.topics.append(other)
    answer = group.client.call(request, COMMIT_VERSION, OffsetCommitResponse)
    assert [told(topic.partitions[0])[:2] for topic in answer.topics] == [(0, None), (14, 92)]


def test_ranges_up_to_the_limit_are_read_again() -> None:
    """What is read again of a full log is the same."""
    config = {**ON, "individual.commit.max.ranges.per.group": str(MANY)}
    group = RangeGroup(Core(topics={"t": 1}, config=config).client())
    fill(group.client, 2 * MANY + 10)
    assert group.commit(*[(at, at) for at in range(1, 2 * MANY, 2)])[0] == 0
    assert group.commit((2 * MANY + 5, 2 * MANY + 5))[:2] == (14, 92)
    assert group.commit((MANY, MANY)) == Committed(0, None, 0, MANY - 1)
    commits = extension_of(group.client.core.broker.services).commits
    services = group.client.core.broker.services
    log = InternalLog(INDIVIDUAL_COMMITS_TOPIC, services.replicas, services.clock)
    part = commits.runtime.load(0, log.read(0)).of("g", "t", 0)
    assert part is not None
    assert len(part.keys) == MANY - 1
    again = IndividualCommitShard(0)
    for offset, (_, _, key, value) in enumerate(log.read(0)):  # type: ignore[misc]
        record = ic_records.decode(key, value)
        assert record is not None
        again.replay(offset, -1, record)
    assert again.groups["g"]["t", 0].keys == part.keys
