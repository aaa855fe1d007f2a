"""CreateTopics as a client sees it; the controller's tests have the refusals."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.apis import create_topics
from mockbroker.config.describe import describe_created_topic
from mockbroker_protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.support.core import Core


def ask(core: Core, version: int, request: CreateTopicsRequest) -> CreateTopicsResponse:
    return core.client().call(request, version, CreateTopicsResponse)


@pytest.mark.parametrize("version", range(2, 8))
def test_the_answer_grows_with_the_version(version: int) -> None:
    core = Core()
    request = CreateTopicsRequest([CreatableTopic("t", 3, 1), CreatableTopic("t u", 1, 1)])
    good, bad = ask(core, version, request).topics
    assert (good.name, good.error_code, good.error_message) == ("t", 0, None)
    assert (bad.name, bad.error_code) == ("t u", 17)
    topic = core.cluster.metadata.topics["t"]
    assert good.topic_id == (topic.id if version >= 7 else bytes(16))
    assert (good.num_partitions, good.replication_factor) == ((3, 1) if version >= 5 else (-1, -1))
    assert len(good.configs or []) == (37 if version >= 5 else 0)
    assert (bad.num_partitions, bad.configs) == (-1, [])
    assert len(topic.partitions) == 3


def test_configs_are_kept_and_told() -> None:
    core = Core()
    configs = [
        CreatableTopicConfig("retention.ms", "7"),
        CreatableTopicConfig("cleanup.policy", "delete"),
        CreatableTopicConfig("cleanup.policy", "compact"),
    ]
    request = CreateTopicsRequest([CreatableTopic("t", -1, -1, configs=configs)])
    (answer,) = ask(core, 7, request).topics
    told = {each.name: (each.value, each.config_source) for each in answer.configs or []}
    assert told["retention.ms"] == ("7", 1)
    assert told["cleanup.policy"] == ("compact", 1)
    assert told["min.insync.replicas"] == ("1", 3)
    assert told["segment.ms"] == ("604800000", 5)
    assert list(told) == sorted(told)
    kept = core.cluster.metadata.topics["t"].configs
    assert kept == {"retention.ms": "7", "cleanup.policy": "compact"}


def test_assignments_are_passed_on() -> None:
    core = Core()
    topic = CreatableTopic("t", -1, -1, [CreatableReplicaAssignment(0, [1])])
    (answer,) = ask(core, 7, CreateTopicsRequest([topic])).topics
    assert (answer.error_code, answer.num_partitions) == (0, 1)


def test_a_null_config_is_refused() -> None:
    topic = CreatableTopic("t", 1, 1, configs=[CreatableTopicConfig("retention.ms", None)])
    (answer,) = ask(Core(), 7, CreateTopicsRequest([topic])).topics
    assert (answer.error_code, answer.error_message) == (
        40,
        "Null value not supported for topic configs: retention.ms",
    )


def test_validation_alone_creates_nothing() -> None:
    core = Core()
    request = CreateTopicsRequest([CreatableTopic("t", 3, 1)], validate_only=True)
    (answer,) = ask(core, 7, request).topics
    assert (answer.error_code, answer.num_partitions) == (0, 3)
    assert not core.cluster.metadata.topics


def test_what_the_configs_of_alike_topics_are_is_found_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = 0

    def counted(config: Any) -> Any:
        nonlocal described
        described += 1
        return describe_created_topic(config)

    monkeypatch.setattr(create_topics, "describe_created_topic", counted)
    own = [CreatableTopicConfig("retention.ms", "7")]
    asked = [CreatableTopic(f"t{n}", 1, 1, configs=own if n % 2 else []) for n in range(6)]
    answers = ask(Core(), 7, CreateTopicsRequest(asked)).topics
    told = [{each.name: each.value for each in answer.configs or []} for answer in answers]
    assert [each["retention.ms"] for each in told] == ["604800000", "7"] * 3
    assert {len(each) for each in told} == {37}
    assert described == 2
