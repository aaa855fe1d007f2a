"""What a fetch's line has beyond the others where it is to be run again."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from mockbroker.journal.decoding import decode_request
from mockbroker.journal.replay import add_replay, next_offset
from mockbroker.log.results import AppendOrigin
from mockbroker.what_if.simulate import batch_of
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.primitives import uuid_text
from tests.support.core import Core


def given(records: bytes) -> FetchResponsePartition:
    return FetchResponsePartition(0, 0, 1, 1, 0, None, -1, records)


def test_a_reader_goes_on_behind_the_last_whole_batch() -> None:
    data = batch_of(100)
    assert next_offset(given(data)) == 1
    assert next_offset(given(data + data[:70])) == 1
    assert next_offset(given(b"")) is None


def replayed(core: Core) -> list[dict[str, Any]]:
    lines = []
    for served in core.cluster.journal.requests():
        line: dict[str, Any] = served.line()
        add_replay(line, served.frame, served.chunks)
        lines.append(line)
    return lines


def test_a_fetch_is_there_as_it_came_with_what_moves_its_reader_on() -> None:
    core = Core(topics={"orders": 2})
    topic = core.cluster.metadata.topics["orders"]
    partition = core.cluster.brokers[0].services.replicas.partition("orders", 1)
    assert partition is not None
    core.act(lambda: partition.append_batch(batch_of(100), AppendOrigin.CLIENT))
    asked = [FetchRequestPartition(1, partition_max_bytes=1000), FetchRequestPartition(5)]
    request = FetchRequest(topics=[FetchRequestTopic("", topic.id, asked)])
    core.client().call(request, 13, FetchResponse)
    (line,) = replayed(core)
    replay = line["fetch"]["replay"]
    assert decode_request(1, 13, b64decode(replay["frame"])) == request
    assert replay["error"] == 0
    assert replay["told"] == [[uuid_text(topic.id), 1, 1, 0], [uuid_text(topic.id), 5, None, 3]]


def test_other_requests_stay_as_they_are() -> None:
    core = Core()
    core.client().call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    (line,) = replayed(core)
    assert "fetch" not in line
