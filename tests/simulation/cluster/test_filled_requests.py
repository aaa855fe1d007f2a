"""Requests made from schemas: each can be sent, and speaks of what it is about."""

from __future__ import annotations

import pytest

from mockbroker.apis.registry import SERVED
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from mockbroker_protocol.subjects import subjects_of
from simulation.clients import frame_of
from simulation.cluster.filled_requests import Subject, api_name, filled, leaf_errors

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("key", SERVED)
def test_every_request_can_be_sent(key: ApiKey) -> None:
    spec = API_SPECS[key]
    for version in range(spec.min_version, spec.max_version + 1):
        assert frame_of(filled(key, version, Subject("x", 3)), version, 1, "client")


def test_its_outermost_list_names_all_and_those_inside_one() -> None:
    subject = Subject("x", 3)
    assert subject.names() == ["x", "x-1", "x-2"]
    found = subjects_of(filled(ApiKey.LIST_OFFSETS, 5, subject))
    assert [(topic.name, topic.partitions) for topic in found.topics] == [
        (name, [0]) for name in subject.names()
    ]
    assert subjects_of(filled(ApiKey.DESCRIBE_GROUPS, 5, subject)).groups == subject.names()


def test_errors_are_those_of_the_innermost_things() -> None:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = MetadataResponse(topics=[MetadataResponseTopic(error, "x") for _ in range(2)])
    assert [*leaf_errors(answer)] == [error, error]
    assert [*leaf_errors(MetadataResponse(error_code=5))] == [5]
    assert api_name(ApiKey.END_TXN) == "end_txn"
