"""The hand-written half of Metadata against the compiled plans, which say what is right."""

from __future__ import annotations

import random
from struct import error
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockbroker_protocol import plan
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from mockbroker_protocol.metadata_codec import (
    TOPICS_AT_ONCE,
    _encode,
    decode_metadata_request,
    decode_plain_request,
    encode_metadata_response,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.support.messages import encoded, strategy_for

if TYPE_CHECKING:
    from collections.abc import Callable

VERSIONS = range(14)
FLEXIBLE = range(9, 14)
UUID = bytes(range(16))


def planned(body: bytes, version: int, pos: int = 0) -> MetadataRequest:
    return plan.decode(MetadataRequest, version, body, pos)[0]


def request(version: int, topics: int = 3) -> MetadataRequest:
    """What a client asks of topics by name, and by id where it can."""
    asked = [MetadataRequestTopic(ZERO_UUID, f"tö-{index}") for index in range(topics)]
    if version >= 10:
        asked.append(MetadataRequestTopic(UUID, None))
    return MetadataRequest(
        asked, version % 2 == 0, version < 11, include_topic_authorized_operations=True
    )


@pytest.mark.parametrize("version", FLEXIBLE)
@pytest.mark.parametrize("make", [bytes, bytearray])
def test_what_clients_ask_is_read_by_hand(
    version: int, make: Callable[[bytes], bytes | bytearray]
) -> None:
    for message in (
        request(version),
        MetadataRequest(None),
        MetadataRequest([]),
        request(version, 200),
    ):
        framed = make(b"head" + encoded(message, version) + b"tail")
        found = decode_plain_request(framed, 4, version)
        assert found == message == plan.decode(MetadataRequest, version, framed, 4)[0]


@pytest.mark.parametrize("version", FLEXIBLE)
@pytest.mark.parametrize("where", ["request", "topic", "long", "many"])
def test_what_is_not_plain_is_left_to_the_plan(version: int, where: str) -> None:
    message = request(version)
    assert message.topics is not None
    topic = message.topics[0]
    if where == "many":
        message = request(version, TOPICS_AT_ONCE)
    elif where == "long":
        topic.name = "t" * 200
    else:
        holder: Any = message if where == "request" else topic
        holder.unknown_tags = {5: b"x"}
    body = encoded(message, version)
    assert decode_plain_request(body, 0, version) is None
    assert decode_metadata_request(body, 0, version) == message


def outcome(decode: Callable[[bytes, int], object], body: bytes, version: int) -> object:
    try:
        return decode(body, version)
    except ProtocolError:
        return ProtocolError


def by_hand(body: bytes, version: int) -> object:
    return decode_metadata_request(body, 0, version)


@pytest.mark.parametrize("version", FLEXIBLE)
def test_truncated_and_mutated_bytes_give_what_the_plan_gives(version: int) -> None:
    whole = encoded(request(version), version)
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
    asked = data.draw(strategy_for(MetadataRequest, version))
    body = encoded(asked, version)
    assert decode_metadata_request(body, 0, version) == planned(body, version)
    answer = data.draw(strategy_for(MetadataResponse, version))
    assert b"".join(encode_metadata_response(answer, version)) == encoded(answer, version)


def answer(name: str | None = "orders", replicas: int = 3) -> MetadataResponse:
    """What is told of brokers, and of a topic with partitions that are well and that are not."""
    nodes = list(range(replicas))
    partitions = [
        MetadataResponsePartition(0, 0, 0, 7, nodes, nodes[:2]),
        MetadataResponsePartition(5, 1, -1, 8, nodes, [], nodes),
        MetadataResponsePartition(0, 2, 0, 9, [4], [4]),
    ]
    brokers = [
        MetadataResponseBroker(node, f"höst-{node}", 9092 + node, None if node else "rack")
        for node in nodes
    ]
    topics = [MetadataResponseTopic(0, name, UUID, name == "t", partitions, 1 << 30)] * 130
    return MetadataResponse(5, brokers, "cluster", 1, topics)


@pytest.mark.parametrize("version", FLEXIBLE)
@pytest.mark.parametrize("name", ["t", "t" * 126, "t" * 127, "t" * 249])
@pytest.mark.parametrize("replicas", [1, 3, 126])
def test_an_answer_is_written_by_hand(version: int, name: str, replicas: int) -> None:
    told = answer(name, replicas)
    assert _encode(told, version) == encoded(told, version)


@pytest.mark.parametrize(
    "change",
    [
        lambda told: setattr(told, "unknown_tags", {9: b"x"}),
        lambda told: setattr(told.brokers[0], "unknown_tags", {9: b"x"}),
        lambda told: setattr(told.topics[0], "unknown_tags", {9: b"x"}),
        lambda told: setattr(told.topics[0].partitions[0], "unknown_tags", {9: b"x"}),
        lambda told: setattr(told.topics[0].partitions[0], "replica_nodes", list(range(127))),
        lambda told: setattr(told.topics[0], "topic_id", b"short"),
    ],
)
def test_an_answer_that_tells_more_is_left_to_the_plan(
    change: Callable[[MetadataResponse], object],
) -> None:
    told = answer()
    change(told)
    assert _encode(told, 12) is None
    assert b"".join(encode_metadata_response(told, 12)) == encoded(told, 12)


@pytest.mark.parametrize(
    "change",
    [
        lambda told: setattr(told, "error_code", 1 << 15),
        lambda told: setattr(told, "cluster_authorized_operations", 1),
        lambda told: setattr(told.brokers[0], "host", None),
        lambda told: setattr(told.brokers[0], "port", 1 << 31),
        lambda told: setattr(told.topics[0], "partitions", None),
        lambda told: setattr(told.topics[0].partitions[0], "isr_nodes", ["one"]),
    ],
)
def test_what_no_version_can_tell_is_refused_as_the_plan_refuses_it(
    change: Callable[[MetadataResponse], object],
) -> None:
    def changed() -> MetadataResponse:
        told = answer()
        change(told)  # compiled, a field takes no other type
        return told

    with pytest.raises((ValueError, TypeError, AttributeError, error)) as by_plan:
        plan.encode(changed(), 13)
    with pytest.raises(type(by_plan.value)) as found:
        encode_metadata_response(changed(), 13)
    assert str(found.value) == str(by_plan.value)


@pytest.mark.parametrize("version", FLEXIBLE)
def test_a_topic_without_a_name_is_told_from_version_12_on(version: int) -> None:
    told = answer(None, 1)
    if version >= 12:
        assert _encode(told, version) == encoded(told, version)
    else:
        assert _encode(told, version) is None
        with pytest.raises(AttributeError):  # as the plan has it
            encode_metadata_response(told, version)
