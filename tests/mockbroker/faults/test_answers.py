"""What a rule changes in an answer that the broker made."""

from __future__ import annotations

import pytest

from mockbroker.faults.answers import add_missing, overwrite
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.schema import schema_of
from mockbroker_protocol.schema_fields import fields_of
from mockbroker_protocol.slices import all_at_once
from mockbroker_protocol.subjects import TopicRef


def fetch_response() -> FetchResponse:
    data = [FetchResponsePartition(i, 0, 9, 9, 0, None, -1, b"records") for i in range(2)]
    return FetchResponse(0, 0, 5, [FetchResponseTopic("a", partitions=data)])


def test_an_answer_is_overwritten_where_the_rule_says() -> None:
    answer = fetch_response()
    all_at_once(overwrite(answer, 12, 6, None, lambda _ref, index: index == 1))
    first, second = answer.responses[0].partitions
    assert (first.error_code, first.records) == (0, b"records")
    assert (second.error_code, second.records, second.high_watermark) == (6, b"", -1)
    assert (answer.error_code, answer.session_id) == (0, 5)


def test_an_error_at_the_top_leaves_nothing_below() -> None:
    answer = fetch_response()
    all_at_once(overwrite(answer, 12, 70, "top", lambda _ref, _index: True))
    assert (answer.error_code, answer.session_id, answer.responses) == (70, 0, [])


@pytest.mark.parametrize("level", [None, "top", "partition"])
@pytest.mark.parametrize("key", ALL_SPECS, ids=lambda key: ApiKey(key).name)
def test_each_version_can_carry_the_error(key: ApiKey, level: str | None) -> None:
    cls: type = response_class(key)
    versions = schema_of(cls)
    for version in range(versions.min_version, versions.max_version + 1):
        answer = filled(cls, version)
        all_at_once(overwrite(answer, version, 15, level, lambda _ref, _index: True))
        encode(answer, version)


def filled(cls: type, version: int) -> object:
    """One of each list in it, as far as the version has them."""
    made = cls()
    for field in fields_of(cls):
        inner = field.type.struct
        if field.type.kind == "array" and inner is not None and field.present(version):
            setattr(made, field.name, [filled(inner, version)])
    return made


def test_partitions_without_news_are_added_once() -> None:
    answer = fetch_response()
    mentioned = [TopicRef("a", None, [1, 2, 2]), TopicRef("b", None, [0])]
    only_a = lambda ref, _index: ref.name == "a"  # noqa: E731
    all_at_once(add_missing(answer, mentioned, 6, only_a, by_id=False))
    told = [(t.topic, p.partition_index) for t in answer.responses for p in t.partitions]
    assert told == [("a", 0), ("a", 1), ("a", 2)]
