"""Fetches through filters of keys, in requests and sessions, on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.apis.fetch import LONG_REQUEST_BYTES
from mockbroker.coop import fetch, tags
from mockbroker.coop.fetch import cache_budget
from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop.numbers import DraftError, Tag
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.fetch_codec import decode_fetch_response, encode_fetch_request
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    ReplicaState,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW, keyed, spans
from tests.support.shared_records import batch_of
from tests.support.transactions import Transactional

if TYPE_CHECKING:
    from tests.support.core import CoreClient

ON = {"coop.extension.enable": "true"}
FETCH, V = 1, 12
"""The first version with tagged fields; topics go by name."""
HALF: dict[int, bytes] = {Tag.KEY_RANGES: tags.write_ranges([LOW])}
OTHER_HALF: dict[int, bytes] = {Tag.KEY_RANGES: tags.write_ranges([HIGH])}
WHOLE: dict[int, bytes] = {Tag.KEY_RANGES: tags.write_ranges([])}
NONE_MATCHES: dict[int, bytes] = {Tag.KEYS: b"\x02\x04zzz"}


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1, "u": 1}, config=ON)


@pytest.fixture
def client(core: Core) -> CoreClient:
    return core.client()


def put(client: CoreClient, *keys: str | None, topic: str = "t") -> None:
    part = ProduceRequestPartition(index=0, records=keyed(0, *keys))
    asked = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequestTopic(topic, partition_data=[part])]
    )
    answer = client.call(asked, 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0


def fill(client: CoreClient) -> None:
    put(client, "a", "foobar", "b", "21")
    put(client, "foobar", "21", "user-1")
    put(client, "a", "b", "c")


def asking(
    *parts: tuple[str, int, dict[int, bytes] | None],
    session: tuple[int, int] = (0, -1),
    max_wait_ms: int = 0,
    max_bytes: int = 1 << 20,
    part_bytes: int = 1 << 20,
    own_tags: dict[int, bytes] | None = None,
    **more: Any,
) -> FetchRequest:
    """A fetch of (topic, offset, tags of its partition 0)."""
    topics = [
        FetchRequestTopic(
            topic=topic,
            partitions=[
                FetchRequestPartition(
                    partition=0,
                    fetch_offset=offset,
                    partition_max_bytes=part_bytes,
                    unknown_tags=extra,
                )
            ],
        )
        for topic, offset, extra in parts
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics,
        unknown_tags=own_tags,
        **more,
    )


def parts_of(answer: FetchResponse) -> list[FetchResponsePartition]:
    assert answer.error_code == 0
    return [part for topic in answer.responses for part in topic.partitions]


def ask(client: CoreClient, request: FetchRequest, version: int = V) -> FetchResponse:
    return client.call(request, version, FetchResponse)


def next_offset(part: FetchResponsePartition) -> int:
    assert part.unknown_tags is not None
    return int.from_bytes(part.unknown_tags[Tag.NEXT_FETCH_OFFSET], "big")


def batches(part: FetchResponsePartition) -> list[tuple[int, int, list[int]]]:
    assert isinstance(part.records, bytes | bytearray | memoryview)
    return spans([part.records])


def test_a_partition_is_read_through_its_ranges(client: CoreClient) -> None:
    fill(client)
    (part,) = parts_of(ask(client, asking(("t", 0, HALF))))
    assert batches(part) == [(0, 6, [0, 2]), (7, 9, [7, 8, 9])]
    assert (next_offset(part), part.high_watermark, part.error_code) == (10, 10, 0)
    assert part.unknown_tags is not None
    assert part.unknown_tags[Tag.FILTER_STATS] == tags.stats(103 + 99 + 88, 10, 5, 0)


def test_the_request_may_say_it_for_all_that_it_lists(client: CoreClient) -> None:
    fill(client)
    put(client, "foobar", "a", topic="u")
    asked = asking(("t", 4, None), ("u", 0, OTHER_HALF), own_tags=HALF)
    first, second = parts_of(ask(client, asked))
    assert batches(first) == [(4, 6, []), (7, 9, [7, 8, 9])]
    assert batches(second) == [(0, 1, [0])]


def test_no_ranges_are_all_records(client: CoreClient) -> None:
    """KF-07."""
    fill(client)
    (plain,) = parts_of(ask(client, asking(("t", 0, None))))
    (part,) = parts_of(ask(client, asking(("t", 0, WHOLE))))
    assert part.records == plain.records
    assert part.unknown_tags is None


@pytest.mark.parametrize("bad", [(-1, 5), (6, 5), (1 << 31, 1 << 31)])
def test_a_bad_range_refuses_its_partition(client: CoreClient, bad: tuple[int, int]) -> None:
    """KF-19."""
    fill(client)
    wrong: dict[int, bytes] = {Tag.KEY_RANGES: tags.write_ranges([KeyRange(*bad)])}
    parts = parts_of(ask(client, asking(("t", 0, wrong), ("u", 0, None))))
    assert [part.error_code for part in parts] == [ErrorCode.INVALID_REQUEST, 0]


def test_a_payload_that_is_cut_refuses_its_partition(client: CoreClient) -> None:
    fill(client)
    cut: dict[int, bytes] = {Tag.KEY_RANGES: HALF[Tag.KEY_RANGES][:-16]}
    (part,) = parts_of(ask(client, asking(("t", 0, cut))))
    assert part.error_code == ErrorCode.INVALID_REQUEST
    assert not client.closed


def test_a_topic_may_forbid_it() -> None:
    """KF-22."""
    core = Core(config=ON, topics={"u": 1})
    client = core.client()
    forbids = [CreatableTopicConfig("range.fetch.enable", "false")]
    made = CreateTopicsRequest([CreatableTopic("t", 1, 1, configs=forbids)])
    assert client.call(made, 5, CreateTopicsResponse).topics[0].error_code == 0
    fill(client)
    first, second = parts_of(ask(client, asking(("t", 0, HALF), ("u", 0, None))))
    assert first.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert first.unknown_tags == {
        Tag.EXT_ERROR: tags.error(DraftError.TOPIC_RANGE_FETCH_NOT_ALLOWED)
    }
    assert second.error_code == 0


def test_replicas_and_cooperative_fetches_have_no_filter(client: CoreClient) -> None:
    """KF-23."""
    fill(client)
    follower = asking(("t", 0, HALF))
    follower.replica_id = 1
    answer = ask(client, follower)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    both = asking(("t", 0, HALF), own_tags={Tag.COOPERATIVE: bytes(8)})
    assert ask(client, both).responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    new = asking(("t", 0, HALF), replica_state=ReplicaState(1, -1))
    assert ask(client, new, 15).error_code == ErrorCode.INVALID_REQUEST


def test_covers_do_not_use_up_the_first_batch(client: CoreClient) -> None:
    """SZ-01."""
    put(client, "foobar", "21")
    put(client, "a", "b", topic="u")
    first, second = parts_of(ask(client, asking(("t", 0, HALF), ("u", 0, HALF), max_bytes=70)))
    assert (batches(first), batches(second)) == ([(0, 1, [])], [(0, 1, [0, 1])])


def test_who_wants_nothing_of_it_waits_as_long_as_it_said(core: Core, client: CoreClient) -> None:
    """WT-01."""
    put(client, "foobar", "21", "user-1")
    client.send(asking(("t", 0, HALF), max_wait_ms=500), V)
    core.advance(499)
    assert not client.answered
    core.advance(1)
    (part,) = parts_of(client.receive(FetchResponse))
    assert (batches(part), next_offset(part)) == ([(0, 2, [])], 3)


def test_only_what_matches_wakes(core: Core, client: CoreClient) -> None:
    """WT-02."""
    put(client, "foobar", "21", "user-1")
    writer = core.client()
    client.send(asking(("t", 0, HALF), max_wait_ms=500), V)
    core.advance(100)
    put(writer, "foobar")
    assert not client.answered
    put(writer, "a", "b", "c")
    (part,) = parts_of(client.receive(FetchResponse))
    assert (batches(part), next_offset(part)) == ([(0, 3, []), (4, 6, [4, 5, 6])], 7)


def test_at_the_end_it_waits_and_others_are_served_beside_it(
    core: Core, client: CoreClient
) -> None:
    """KF-14, WT-04."""
    fill(client)
    client.send(asking(("t", 10, HALF), max_wait_ms=500), V)
    other = core.client()
    other.send(asking(("t", 10, None), max_wait_ms=500), V)
    assert not client.answered
    put(core.client(), "foobar")
    (plain,) = parts_of(other.receive(FetchResponse))
    assert (batches(plain), plain.unknown_tags) == ([(10, 10, [10])], None)
    assert not client.answered
    core.advance(500)
    (part,) = parts_of(client.receive(FetchResponse))
    assert (batches(part), next_offset(part)) == ([(10, 10, [])], 11)


def test_a_wait_that_has_looked_at_enough_is_over(
    core: Core, client: CoreClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Foreign records beyond the turn's bytes: the reader is told how far to go on."""
    monkeypatch.setattr(fetch, "TURN_BYTES", 20_000)
    writer = core.client()
    client.send(asking(("t", 0, HALF), max_wait_ms=500), V)
    foreign = ["foobar"] * 100
    for _ in range(20):
        if client.answered:
            break
        put(writer, *foreign)
    (part,) = parts_of(client.receive(FetchResponse))
    ((first, last, records),) = batches(part)
    assert (first, records) == (0, [])
    assert next_offset(part) == last + 1


def test_a_session_keeps_the_filter(core: Core, client: CoreClient) -> None:
    """SS-01."""
    fill(client)
    opened = ask(client, asking(("t", 0, HALF), ("u", 0, None), session=(0, 0)))
    session = opened.session_id
    assert batches(parts_of(opened)[0]) == [(0, 6, [0, 2]), (7, 9, [7, 8, 9])]
    # Listed without a filter it keeps the one it has.
    assert parts_of(ask(client, asking(("t", 10, None), session=(session, 1)))) == []
    writer = core.client()
    client.send(asking(session=(session, 2), max_wait_ms=300), V)
    put(writer, "foobar")
    assert not client.answered
    core.advance(300)
    (part,) = parts_of(client.receive(FetchResponse))
    assert (batches(part), next_offset(part)) == ([(10, 10, [])], 11)
    # The other partition has none.
    put(writer, "foobar", topic="u")
    asked = asking(("t", 11, None), session=(session, 3))
    (part,) = parts_of(ask(client, asked))
    assert (batches(part), part.unknown_tags) == ([(0, 0, [0])], None)


def test_a_session_is_told_another_filter_or_none(client: CoreClient) -> None:
    """SS-03, SS-04."""
    fill(client)
    session = ask(client, asking(("t", 0, HALF), session=(0, 0))).session_id
    (other,) = parts_of(ask(client, asking(("t", 0, OTHER_HALF), session=(session, 1))))
    assert batches(other) == [(0, 3, [1, 3]), (4, 9, [4, 5, 6])]
    (whole,) = parts_of(ask(client, asking(("t", 0, WHOLE), session=(session, 2))))
    assert [records for _, _, records in batches(whole)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    (ended,) = parts_of(ask(client, asking(("t", 7, None), session=(session, -1))))
    assert batches(ended) == [(7, 9, [7, 8, 9])]


def test_a_partition_that_a_session_forgot_has_no_filter(client: CoreClient) -> None:
    fill(client)
    opened = ask(client, asking(("t", 0, NONE_MATCHES), ("u", 0, None), session=(0, 0)))
    assert batches(parts_of(opened)[0]) == [(0, 9, [])]
    gone = [FetchRequestForgottenTopic("t", partitions=[0])]
    asked = asking(session=(opened.session_id, 1), forgotten_topics_data=gone)
    assert parts_of(ask(client, asked)) == []
    (part,) = parts_of(ask(client, asking(("t", 7, None), session=(opened.session_id, 2))))
    assert batches(part) == [(7, 9, [7, 8, 9])]


def test_a_request_in_a_wrong_epoch_changes_no_filter(client: CoreClient) -> None:
    fill(client)
    session = ask(client, asking(("t", 0, HALF), session=(0, 0))).session_id
    wrong = ask(client, asking(("t", 0, OTHER_HALF), session=(session, 5)))
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    (part,) = parts_of(ask(client, asking(("t", 0, None), session=(session, 1))))
    assert batches(part) == [(0, 6, [0, 2]), (7, 9, [7, 8, 9])]


def test_errors_are_those_of_any_fetch(client: CoreClient) -> None:
    fill(client)
    (beyond,) = parts_of(ask(client, asking(("t", 99, HALF))))
    assert beyond.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    (unknown,) = parts_of(ask(client, asking(("nobody", 0, HALF))))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (at_end,) = parts_of(ask(client, asking(("t", 10, HALF))))
    assert (at_end.records, next_offset(at_end)) == (b"", 10)


@pytest.mark.parametrize("config", [ON, {}], ids=["on", "off"])
def test_a_tag_that_nobody_knows_is_ignored(config: dict[str, str]) -> None:
    """EC-05."""
    core = Core(topics={"t": 1}, config=config)
    client = core.client()
    fill(client)
    (part,) = parts_of(ask(client, asking(("t", 0, {16_999: b"?"}))))
    assert [records for _, _, records in batches(part)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert part.unknown_tags is None


def test_without_the_extension_its_tags_are_ignored() -> None:
    client = Core(topics={"t": 1}).client()
    fill(client)
    (part,) = parts_of(ask(client, asking(("t", 0, HALF))))
    assert [records for _, _, records in batches(part)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert part.unknown_tags is None


def test_ordinary_answers_are_the_same_byte_for_byte() -> None:
    seen = []
    for config in (ON, {}):
        core = Core(topics={"t": 1, "u": 1}, config=config)
        client = core.client()
        fill(client)
        for version in range(3, 13):
            for request in (
                asking(("t", 0, None), ("u", 0, None)),
                asking(("t", 0, None), session=(0, 0)) if version >= 7 else None,
                asking(("t", 10, None), session=(77, 3)) if version >= 7 else None,
            ):
                if request is not None:
                    client.send(request, version)
                    seen.append(bytes(client.receive_bytes()))
                    client._expected.pop(0)
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]


def test_what_a_filter_left_is_there_for_the_next(core: Core, client: CoreClient) -> None:
    fill(client)
    ask(client, asking(("t", 0, HALF)))
    (part,) = parts_of(ask(client, asking(("t", 0, OTHER_HALF))))
    assert batches(part) == [(0, 3, [1, 3]), (4, 9, [4, 5, 6])]
    assert part.unknown_tags is not None
    assert part.unknown_tags[Tag.FILTER_STATS][-4:] == (3).to_bytes(4, "big")
    metrics = core.broker.metrics()
    named = "mockbroker:type=CooperativeMetrics,name=cache."
    counted = {name: metrics[named + name] for name in ("bytes", "hits", "misses", "evictions")}
    assert counted == {"bytes": 0, "hits": 3, "misses": 3, "evictions": 0}
    ask(client, asking(("t", 0, OTHER_HALF)))
    assert core.broker.metrics()[named + "bytes"] == 165
    services = core.broker.services
    services.back_to(services.mark())
    assert core.broker.metrics()[named + "bytes"] == 0


def test_who_reads_committed_records_gets_what_is_stable_through_a_filter() -> None:
    """Aborted transactions are told for what the answer spans; a cover stops at the LSO."""
    core = Core(topics={"t": 1}, config=ON)
    client, producer = core.client(), Transactional.begin(core)

    def write(*keys: str) -> None:
        batch = batch_of([*keys], producer.producer_id, producer.epoch, 0)
        answer = client.call(producer.produce_request("t", 0, batch), 12, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def committed(wanted: dict[int, bytes], offset: int = 0) -> FetchResponsePartition:
        (part,) = parts_of(ask(client, asking(("t", offset, wanted), isolation_level=1)))
        return part

    write("a", "foobar")
    producer.finish(commit=False)
    put(client, "b", "21")
    write("c", "user-1")
    found = committed(HALF)
    assert (found.last_stable_offset, found.high_watermark) == (5, 7)
    assert (batches(found), next_offset(found)) == (
        [(0, 1, [0]), (2, 2, [2]), (3, 4, [3])],
        5,
    )
    assert found.aborted_transactions is not None
    assert [(one.producer_id, one.first_offset) for one in found.aborted_transactions] == [
        (producer.producer_id, 0)
    ]
    assert committed(HALF, 3).aborted_transactions == []
    assert next_offset(committed(NONE_MATCHES)) == 5
    assert next_offset(parts_of(ask(client, asking(("t", 0, NONE_MATCHES))))[0]) == 7
    producer.finish(commit=True)
    assert batches(committed(HALF, 5)) == [(5, 6, [5]), (7, 7, [7])]


@pytest.mark.parametrize(
    ("set_to", "budget"),
    [
        ({}, 209_715_200),
        ({"cache": "1"}, 1),
        ({"results": "2"}, 2),
        ({"results.cache": "3"}, 3),
        ({"hashing": "4"}, 4),
        ({"cache": "1", "hashing": "4"}, 1),
    ],
)
def test_the_budget_is_found_under_each_spelling(set_to: dict[str, str], budget: int) -> None:
    spelled = {f"max.bytes.key.range.{name}": text for name, text in set_to.items()}
    assert cache_budget(Core(config=spelled).broker.services) == budget


@pytest.mark.parametrize("where", ["request", "partition"])
def test_a_filter_of_a_request_that_is_worked_on_in_slices_counts(
    client: CoreClient, where: str
) -> None:
    fill(client)
    many = [
        FetchRequestPartition(partition=index, partition_max_bytes=1 << 20)
        for index in range(LONG_REQUEST_BYTES // 30)
    ]
    topics = [FetchRequestTopic(topic="t", partitions=many)]
    asked = FetchRequest(max_bytes=1 << 20, session_epoch=-1, topics=topics)
    tags.tag(asked if where == "request" else many[0], HALF)
    found = [part for part in parts_of(ask(client, asked)) if not part.error_code]
    assert [batches(part) for part in found] == [[(0, 6, [0, 2]), (7, 9, [7, 8, 9])]]


def test_a_filter_counts_in_whatever_is_decoded_in_slices(core: Core, client: CoreClient) -> None:
    """However small it is: what is large to the decoder need not be so to Fetch."""
    fill(client)
    api = core.broker.registry.get(FETCH)
    assert api is not None
    api.large_bytes = 0
    (part,) = parts_of(ask(client, asking(("t", 0, HALF))))
    assert batches(part) == [(0, 6, [0, 2]), (7, 9, [7, 8, 9])]


def test_a_filter_of_a_topic_whose_name_is_no_text_does_no_harm(client: CoreClient) -> None:
    asked = asking(("t", 0, HALF), ("v", 0, HALF))
    frame = bytearray(encode_fetch_request(asked, V))
    frame[frame.rindex(b"v")] = 0xFF
    fill(client)
    header = encode_request_header(FETCH, V, 1, "me")
    client.send_bytes((len(header) + len(frame)).to_bytes(4, "big") + header + frame)
    answer = decode_fetch_response(client.receive_bytes(), 5, V)
    found, _ = parts_of(answer)
    assert batches(found) == [(0, 6, [0, 2]), (7, 9, [7, 8, 9])]
