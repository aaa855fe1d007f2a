"""DescribeLogDirs as a client sees it."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import Core

Wanted = list[DescribableLogDirTopic] | None


def contents(core: Core, wanted: Wanted, version: int = 5) -> dict[str, dict[str, list[int]]]:
    answer = core.client().call(DescribeLogDirsRequest(wanted), version, DescribeLogDirsResponse)
    return {
        result.log_dir: {
            topic.name: [part.partition_index for part in topic.partitions]
            for topic in result.topics
        }
        for result in answer.results
    }


def test_one_directory_holds_all() -> None:
    core = Core(topics={"t": 2, "u": 1})
    assert contents(core, None) == {"/tmp/kafka-logs": {"t": [0, 1], "u": [0]}}
    wanted = [DescribableLogDirTopic("t", [1, 1, 7]), DescribableLogDirTopic("nope", [0])]
    assert contents(core, wanted, 1) == {"/tmp/kafka-logs": {"t": [1]}}
    assert contents(core, []) == {"/tmp/kafka-logs": {}}


def test_a_size_is_that_of_the_log() -> None:
    core = Core(topics={"t": 1})
    partition = core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    partition.open_log().append_as_leader(build_batch([Record(0, 0, None, bytes(50))]), 0, 0)
    answer = core.client().call(DescribeLogDirsRequest(None), 4, DescribeLogDirsResponse)
    (described,) = answer.results[0].topics[0].partitions
    assert (described.partition_size, described.offset_lag) == (118, 0)
    assert (answer.results[0].total_bytes, answer.results[0].usable_bytes) == (-1, -1)


@pytest.mark.parametrize("cordoned", ["", "/b"])
def test_replicas_spread_over_directories(cordoned: str) -> None:
    config = {"log.dirs": "/a,/b,/c", "cordoned.log.dirs": cordoned}
    core = Core(topics={"t": 6}, config=config)
    found = {path: topics.get("t", []) for path, topics in contents(core, None).items()}
    if cordoned:
        assert found == {"/a": [0, 2, 4], "/b": [], "/c": [1, 3, 5]}
    else:
        assert found == {"/a": [0, 3], "/b": [1, 4], "/c": [2, 5]}
    answer = core.client().call(DescribeLogDirsRequest(None), 5, DescribeLogDirsResponse)
    assert [each.is_cordoned for each in answer.results] == [False, bool(cordoned), False]
