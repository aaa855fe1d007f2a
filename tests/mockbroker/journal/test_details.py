"""Fetch, produce, group and transaction each have their object in a request's line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.journal.bodies import MAX_LISTED
from mockbroker.journal.details import details_of
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import read_batch_header
from tests.support.core import Core
from tests.support.fetch_world import batch
from tests.support.transactions import Transactional

if TYPE_CHECKING:
    from tests.support.core import CoreClient

BATCH = batch(100, count=2)


def produce(client: CoreClient, *partitions: int, version: int = 9) -> ProduceResponse:
    data = [ProduceRequestPartition(index, BATCH) for index in partitions]
    topics = [ProduceRequestTopic("orders", partition_data=data)]
    return client.call(ProduceRequest(None, 1, 1000, topics), version, ProduceResponse)


def fetch(
    partitions: list[FetchRequestPartition],
    *,
    session: tuple[int, int] = (0, 0),
    max_bytes: int = 1 << 20,
    name: str = "orders",
    topic_id: bytes = bytes(16),
) -> FetchRequest:
    topics = [FetchRequestTopic(name, topic_id, partitions)] if partitions else []
    return FetchRequest(-1, 0, 1, max_bytes, 0, *session, topics)


def last_line(core: Core) -> dict[str, Any]:
    return list(core.cluster.journal.requests())[-1].line(core.cluster.journal.topic_name)


def test_a_full_fetch_then_an_incremental_one() -> None:
    core = Core(topics={"orders": 3})
    client = core.client()
    produce(client, 1)
    asked = [FetchRequestPartition(i, -1, 0, -1, -1, 1 << 20) for i in range(3)]
    answer = client.call(fetch(asked), 11, FetchResponse)
    line = last_line(core)["fetch"]
    assert (line["class"], line["session_id"], line["session_epoch"]) == ("FULL", 0, 0)
    assert line["answered_session_id"] == answer.session_id != 0
    assert (line["partitions_requested"], line["partitions_answered"]) == (3, 3)
    assert (line["records_bytes"], line["high_watermarks_told"]) == (len(BATCH), 3)
    assert [p["partition"] for p in line["partitions"]] == [0, 1, 2]
    second = line["partitions"][1]
    assert (second["topic"], second["position"], second["fetch_offset"]) == ("orders", 1, 0)
    assert (second["bytes"], second["high_watermark"], second["error"]) == (len(BATCH), 2, 0)

    moved = [FetchRequestPartition(1, -1, 2, -1, -1, 1 << 20)]
    client.call(fetch(moved, session=(answer.session_id, 1)), 11, FetchResponse)
    line = last_line(core)["fetch"]
    assert (line["class"], line["partitions_requested"]) == ("INCREMENTAL", 1)
    assert line["partitions_answered"] == 0
    assert (line["partitions"][0]["position"], line["partitions"][0]["fetch_offset"]) == (None, 2)
    assert line["request_bytes_saved"] > 0


def test_a_first_batch_beyond_the_limit_and_a_told_high_watermark() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    produce(client, 0)
    topic_id = core.cluster.metadata.topics["orders"].id
    asked = [FetchRequestPartition(0, -1, 0, -1, -1, 100, high_watermark=0)]
    request = fetch(asked, session=(0, -1), max_bytes=1000, name="", topic_id=topic_id)
    client.call(request, 18, FetchResponse)
    line = last_line(core)
    assert line["topics"] == ["orders"]
    assert line["fetch"]["class"] == "SESSIONLESS"
    assert line["fetch"]["first_batch_overrun_bytes"] == len(BATCH) - 100
    assert line["fetch"]["high_watermarks_known"] == 1
    assert line["fetch"]["partitions"][0]["high_watermark_known"] == 0
    assert len(line["fetch"]["partitions"][0]["topic_id"]) == 22


def test_long_lists_are_cut_and_counted() -> None:
    core = Core(topics={"orders": MAX_LISTED + 20})
    asked = [FetchRequestPartition(i, -1, 0, -1, -1, 10) for i in range(MAX_LISTED + 20)]
    core.client().call(fetch(asked), 11, FetchResponse)
    line = last_line(core)["fetch"]
    assert (len(line["partitions"]), line["partitions_left_out"]) == (MAX_LISTED, 20)


def test_produce_tells_records_sequences_and_offsets() -> None:
    core = Core(topics={"orders": 2})
    client = core.client()
    produce(client, 0)
    produce(client, 0, 7)
    line = last_line(core)
    assert (line["error"], line["topics"]) == (3, ["orders"])
    assert (line["produce"]["acks"], line["produce"]["records"]) == (1, 4)
    good, bad = line["produce"]["partitions"]
    assert (good["partition"], good["offset"], good["error"], good["bytes"]) == (
        0,
        2,
        0,
        len(BATCH),
    )
    assert (bad["partition"], bad["offset"], bad["error"]) == (7, -1, 3)
    assert (good["records"], good["producer_id"], good["base_sequence"]) == (2, -1, -1)
    assert (good["crc"], good["keys"]) == (read_batch_header(BATCH).crc, 0)


def unnamed(_: bytes) -> None:
    return None


@pytest.mark.parametrize("epoch", [-2, -1, 0, 3])
def test_a_heartbeat_tells_the_epoch_by_which_a_member_joins_stays_and_leaves(epoch: int) -> None:
    group: Any = details_of(ConsumerGroupHeartbeatRequest("g", "m", epoch), None, unnamed)["group"]
    assert group["generation"] == epoch


def test_commits_tell_group_generation_and_offsets() -> None:
    core = Core(topics={"orders": 1})
    partitions = [OffsetCommitRequestPartition(0, 42), OffsetCommitRequestPartition(5, 1)]
    request = OffsetCommitRequest(
        "g", -1, "", None, -1, [OffsetCommitRequestTopic("orders", partitions=partitions)]
    )
    core.client().call(request, 8, OffsetCommitResponse)
    line = last_line(core)["group"]
    assert (line["group"], line["generation"]) == ("g", None)
    assert line["offsets"] == [
        {"topic": "orders", "partition": 0, "offset": 42, "error": 0},
        {"topic": "orders", "partition": 5, "offset": 1, "error": 3},
    ]


def test_a_transaction_tells_its_producer_and_its_outcome() -> None:
    core = Core(topics={"orders": 1})
    producer = Transactional.begin(core)
    begun = last_line(core)["txn"]
    assert (begun["transactional_id"], begun["outcome"]) == ("tx", None)
    assert begun["answered_producer_id"] == producer.producer_id
    producer.write("orders", 0, "a", "b")
    written = last_line(core)
    assert written["txn"]["transactional_id"] == "tx"
    (partition,) = written["produce"]["partitions"]
    assert (partition["transactional"], partition["base_sequence"]) == (True, 0)
    assert partition["producer_id"] == producer.producer_id
    producer.end(commit=True)
    ended = last_line(core)["txn"]
    assert (ended["outcome"], ended["error"]) == ("commit", 0)
    assert ended["producer_id"] == producer.producer_id
