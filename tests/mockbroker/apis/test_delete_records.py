"""DeleteRecords as a client sees it: new starts, refusals, and who is not woken."""

from __future__ import annotations

import pytest

from mockbroker.log.results import AppendOrigin
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import Core

HIGH_WATERMARK = -1
Row = tuple[int, int, int]


@pytest.fixture
def core() -> Core:
    core = Core(topics={"t": 2})
    partition = core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    records = [Record(offset, 0, None, b"v", []) for offset in range(10)]
    partition.append_batch(build_batch(records), AppendOrigin.CLIENT)
    return core


def delete(core: Core, *wanted: tuple[str, int, int], version: int = 2) -> dict[str, list[Row]]:
    topics = [
        DeleteRecordsTopic(name, [DeleteRecordsPartition(index, offset)])
        for name, index, offset in wanted
    ]
    request = DeleteRecordsRequest(topics, 1000)
    answer = core.client().call(request, version, DeleteRecordsResponse)
    return {
        topic.name: [
            (part.partition_index, part.low_watermark, part.error_code) for part in topic.partitions
        ]
        for topic in answer.topics
    }


@pytest.mark.parametrize("version", range(3))
def test_the_start_moves_up(core: Core, version: int) -> None:
    assert delete(core, ("t", 0, 4), version=version) == {"t": [(0, 4, 0)]}
    partition = core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    assert partition.log is not None
    assert partition.log.log_start_offset == 4


@pytest.mark.parametrize(
    ("offset", "low_watermark", "error"),
    [(3, 5, 0), (5, 5, 0), (10, 10, 0), (HIGH_WATERMARK, 10, 0), (11, -1, 1), (-2, -1, 1)],
)
def test_an_offset_counts_up_to_the_high_watermark(
    core: Core, offset: int, low_watermark: int, error: int
) -> None:
    delete(core, ("t", 0, 5))
    assert delete(core, ("t", 0, offset)) == {"t": [(0, low_watermark, error)]}


def test_an_empty_partition_has_nothing_to_delete(core: Core) -> None:
    assert delete(core, ("t", 1, HIGH_WATERMARK)) == {"t": [(1, 0, 0)]}
    assert delete(core, ("t", 1, 1)) == {"t": [(1, -1, 1)]}


def test_unknown_partitions_do_not_harm_others(core: Core) -> None:
    answer = delete(core, ("t", 7, 1), ("nope", 0, 1), ("t", 0, 1))
    assert answer == {"t": [(7, -1, 3), (0, 1, 0)], "nope": [(0, -1, 3)]}


def test_a_partition_named_twice_has_its_last_offset(core: Core) -> None:
    assert delete(core, ("t", 0, 11), ("t", 0, 2)) == {"t": [(0, 2, 0)]}


def test_internal_and_compacted_topics_are_kept(core: Core) -> None:
    services = core.broker.services
    services.controller.ensure_internal_topic("__consumer_offsets")
    topic = CreatableTopic(
        "compacted", 1, 1, [], [CreatableTopicConfig("cleanup.policy", "compact")]
    )
    core.client().call(CreateTopicsRequest([topic], 1000, False), 7, CreateTopicsResponse)
    answer = delete(core, ("__consumer_offsets", 0, 0), ("compacted", 0, 0))
    assert answer == {"__consumer_offsets": [(0, -1, 17)], "compacted": [(0, -1, 44)]}
    assert delete(core, ("__consumer_offsets", 99, 0)) == {"__consumer_offsets": [(99, -1, 3)]}


def test_nobody_is_woken(core: Core) -> None:
    delete(core, ("t", 0, 5))
    assert not core.broker.services.replicas.has_ready
