"""AlterClientQuotas as a client sees it, and what the quotas do to it then."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import Core, CoreClient


def alter(core: Core, key: str, value: float, client_id: str = "test") -> int:
    entity = [EntityData("client-id", client_id)]
    entry = AlterClientQuotasRequestEntryData(entity, [OpData(key, value)])
    answer = core.client("admin").call(
        AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse
    )
    return answer.entries[0].error_code


def fetch(client: CoreClient, offset: int = 0, version: int = 7, epoch: int = -1) -> FetchResponse:
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, session_epoch=epoch)
    part = FetchRequestPartition(0, -1, offset, partition_max_bytes=1 << 20)
    request.topics = [FetchRequestTopic("t", partitions=[part])]
    return client.call(request, version, FetchResponse)


def produce(client: CoreClient, size: int, acks: int = 1) -> ProduceRequest:
    batch = build_batch([Record(0, 0, None, bytes(size))])
    topic = ProduceRequestTopic("t", partition_data=[ProduceRequestPartition(0, batch)])
    return ProduceRequest(None, acks, 1000, [topic])


def filled() -> Core:
    core = Core(topics={"t": 1})
    client = core.client("filler")
    for _ in range(20):
        client.call(produce(client, 1000), 9, ProduceResponse)
    return core


def size_of(answer: FetchResponse) -> int:
    records = answer.responses[0].partitions[0].records if answer.responses else None
    chunks = records if isinstance(records, list) else [records or b""]
    return sum(map(len, chunks))


def test_a_bad_quota_is_refused() -> None:
    assert alter(Core(), "consumer_byte_rate", -1) == 42


@pytest.mark.parametrize("version", [4, 7, 12])
def test_a_consumer_is_capped_then_throttled_then_muted(version: int) -> None:
    core = filled()
    assert alter(core, "consumer_byte_rate", 500) == 0
    client = core.client()
    assert fetch(client, 20, version=version).throttle_time_ms == 0
    core.advance(500)  # an answer is more than its records: a first one would be too much
    first = fetch(client, version=version)
    assert (first.throttle_time_ms, size_of(first)) == (0, 5000)
    second = fetch(client, version=version)
    assert second.throttle_time_ms > 0
    assert size_of(second) == 0
    client.send(ApiVersionsRequest("x", "1"), 3)
    core.advance(second.throttle_time_ms - 1)
    assert client.answered == 0
    core.advance(1)
    assert client.receive(ApiVersionsResponse).error_code == 0


def test_a_throttled_session_is_none() -> None:
    core = filled()
    alter(core, "consumer_byte_rate", 500)
    client = core.client()
    fetch(client, 20)
    core.advance(500)
    fetch(client)
    throttled = fetch(client, epoch=0)
    assert throttled.throttle_time_ms > 0
    assert (throttled.session_id, size_of(throttled)) == (0, 0)


def test_a_producer_is_throttled_by_what_it_sent() -> None:
    core = Core(topics={"t": 1})
    alter(core, "producer_byte_rate", 500)
    client = core.client()
    first = client.call(produce(client, 1000), 9, ProduceResponse)
    assert first.throttle_time_ms == 0
    second = client.call(produce(client, 20_000), 9, ProduceResponse)
    assert second.throttle_time_ms > 10_000
    assert second.responses[0].partition_responses[0].error_code == 0
    client.send(produce(client, 10), 9)
    assert client.answered == 0
    core.advance(second.throttle_time_ms)
    assert client.answered == 1


def test_a_producer_that_wants_no_answer_is_muted_all_the_same() -> None:
    core = Core(topics={"t": 1})
    alter(core, "producer_byte_rate", 500)
    client = core.client()
    request = produce(client, 20_000, acks=0)
    client.send(request, 9)
    client._expected.clear()
    client.send(ApiVersionsRequest("x", "1"), 3)
    assert client.answered == 0
    core.advance(60_000)
    assert client.answered == 1


def test_others_are_not_throttled() -> None:
    core = filled()
    alter(core, "consumer_byte_rate", 500)
    other = core.client("other")
    for _ in range(3):
        assert fetch(other).throttle_time_ms == 0


def test_requests_count_by_their_number() -> None:
    core = Core(config={"mockbroker.quota.request.time.ms": "100"})
    alter(core, "request_percentage", 5)
    client = core.client()
    told = [
        client.call(ApiVersionsRequest("x", "1"), 3, ApiVersionsResponse).throttle_time_ms
        for _ in range(5)
    ]
    assert told == [0] * 5
    assert client.call(ApiVersionsRequest("x", "1"), 3, ApiVersionsResponse).throttle_time_ms > 0


def test_a_throttled_client_that_leaves_leaves_no_timer() -> None:
    core = filled()
    alter(core, "consumer_byte_rate", 500)
    client = core.client()
    before = len(core.broker.services.timer)
    assert fetch(client).throttle_time_ms > 0
    assert len(core.broker.services.timer) == before + 1
    client.disconnect()
    assert len(core.broker.services.timer) == before
