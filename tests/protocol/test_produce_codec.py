"""The hand-written half of Produce against the compiled plans, which say what is right."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockbroker_protocol import plan
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from mockbroker_protocol.produce_codec import (
    PARTITIONS_AT_ONCE,
    SMALL_BYTES,
    decode_plain_request,
    decode_produce_request,
    encode_produce_response,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.support.messages import encoded, strategy_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.primitives import Buffer

VERSIONS = range(14)
FLEXIBLE = range(9, 14)
UUID = bytes(range(16))


def planned(body: Buffer, version: int, pos: int = 0) -> ProduceRequest:
    return plan.decode(ProduceRequest, version, body, pos)[0]


def request(version: int, partitions: int = 3, size: int = 200) -> ProduceRequest:
    """What a producer sends to two topics."""
    by_id = version >= 13
    topics = [
        ProduceRequestTopic(
            "" if by_id else name,
            bytes([at]) * 16 if by_id else ZERO_UUID,
            [
                ProduceRequestPartition(
                    index, memoryview(bytes([index % 256]) * (size + index % 3))
                )
                for index in range(partitions)
            ],
        )
        for at, name in enumerate(("orders", "ö"), 1)
    ]
    return ProduceRequest("tx" if version % 2 else None, -1, 30_000, topics)


@pytest.mark.parametrize("version", FLEXIBLE)
@pytest.mark.parametrize("make", [bytes, bytearray])
def test_what_producers_send_is_read_by_hand(
    version: int, make: Callable[[bytes], bytes | bytearray]
) -> None:
    message = request(version)
    framed = make(b"head" + encoded(message, version) + b"tail")
    found = decode_plain_request(framed, 4, version)
    assert found == message == planned(framed, version, 4)


@pytest.mark.parametrize("make", [bytes, bytearray])
def test_large_records_stay_in_the_frame_and_small_ones_do_not_keep_it(
    make: Callable[[bytes], bytes | bytearray],
) -> None:
    for size in (200, 2 * SMALL_BYTES, 20_000):
        framed = make(encoded(request(12, partitions=3, size=size), 12))
        found = decode_plain_request(framed, 0, 12)
        assert found is not None
        for part in found.topic_data[0].partition_data:
            records = part.records
            is_view = isinstance(records, memoryview) and records.obj is framed
            assert is_view if size > SMALL_BYTES else type(records) is bytes


@pytest.mark.parametrize("make", [bytes, bytearray])
def test_a_negative_partition_is_left_to_the_plan(
    make: Callable[[bytes], bytes | bytearray],
) -> None:
    message = request(12, partitions=1)
    message.topic_data[0].partition_data[0].index = -2
    framed = make(encoded(message, 12))
    assert decode_produce_request(framed, 0, 12) == message


@pytest.mark.parametrize("version", FLEXIBLE)
def test_empty_lists_and_records_are_read_by_hand(version: int) -> None:
    for message in (
        ProduceRequest(None, 0, -1, []),
        ProduceRequest("", 1, 0, [ProduceRequestTopic("t" * (version < 13), partition_data=[])]),
        request(version, partitions=1, size=0),
    ):
        body = encoded(message, version)
        assert decode_plain_request(body, 0, version) == message


@pytest.mark.parametrize("version", FLEXIBLE)
@pytest.mark.parametrize("where", ["request", "topic", "partition", "null", "many"])
def test_what_is_not_plain_is_left_to_the_plan(version: int, where: str) -> None:
    message = request(version)
    topic = message.topic_data[0]
    if where == "many":
        message = request(version, PARTITIONS_AT_ONCE // 2 + 1, size=1)
    elif where == "null":
        topic.partition_data[0].records = None
    else:
        holder: Any = {"request": message, "topic": topic, "partition": topic.partition_data[0]}[
            where
        ]
        holder.unknown_tags = {5: b"x"}
    body = encoded(message, version)
    assert decode_plain_request(body, 0, version) is None
    assert decode_produce_request(body, 0, version) == message


def outcome(decode: Callable[[bytes, int], object], body: bytes, version: int) -> object:
    try:
        return decode(body, version)
    except ProtocolError:
        return ProtocolError


def by_hand(body: bytes, version: int) -> object:
    return decode_produce_request(body, 0, version)


@pytest.mark.parametrize("version", FLEXIBLE)
def test_truncated_and_mutated_bytes_give_what_the_plan_gives(version: int) -> None:
    whole = encoded(request(version, partitions=2, size=3), version)
    bodies = [whole[:size] for size in range(len(whole))]
    rng = random.Random(version)
    for _ in range(300):
        body = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            body[rng.randrange(len(body))] = rng.choice((0, 1, 2, 127, 128, 255, 0xC3))
        bodies.append(bytes(body))
    for each in bodies:
        assert outcome(by_hand, each, version) == outcome(planned, each, version), each


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_any_request_and_answer_is_as_the_plan_has_it(version: int, data: st.DataObject) -> None:
    asked = data.draw(strategy_for(ProduceRequest, version))
    body = encoded(asked, version)
    assert decode_produce_request(body, 0, version) == planned(body, version)
    answer = data.draw(strategy_for(ProduceResponse, version))
    assert b"".join(encode_produce_response(answer, version)) == encoded(answer, version)


@pytest.mark.parametrize("version", FLEXIBLE)
@pytest.mark.parametrize("name", ["t", "t" * 126, "t" * 127, "t" * 249])
def test_an_answer_is_written_as_the_plan_writes_it(version: int, name: str) -> None:
    by_id = version >= 13
    partitions = [
        ProduceResponsePartition(0, 0, 1 << 40, -1, 7),
        ProduceResponsePartition(1, 6, -1, 5, -1),
    ]
    topic = ProduceResponseTopic("" if by_id else name, UUID if by_id else ZERO_UUID, partitions)
    answer = ProduceResponse([topic] * 130, 9)
    assert encode_produce_response(answer, version) == [encoded(answer, version)]


@pytest.mark.parametrize(
    "change",
    [
        lambda answer, told: setattr(told, "error_message", "no"),
        lambda answer, told: setattr(told, "current_leader", LeaderIdAndEpoch(1, 2)),
        lambda answer, told: told.record_errors.append(BatchIndexAndErrorMessage(3, "bad")),
        lambda answer, told: setattr(told, "unknown_tags", {9: b"x"}),
        lambda answer, told: setattr(answer.responses[0], "unknown_tags", {9: b"x"}),
        lambda answer, told: setattr(answer, "unknown_tags", {9: b"x"}),
        lambda answer, told: answer.node_endpoints.append(NodeEndpoint(1, "h", 2)),
    ],
)
def test_an_answer_that_tells_more_is_left_to_the_plan(
    change: Callable[[ProduceResponse, ProduceResponsePartition], object],
) -> None:
    told = ProduceResponsePartition(0, 87, -1, -1, -1)
    answer = ProduceResponse([ProduceResponseTopic("t", partition_responses=[told])])
    change(answer, told)
    assert b"".join(encode_produce_response(answer, 12)) == encoded(answer, 12)
