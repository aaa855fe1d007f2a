"""CreateTopics: new topics, by counts or by assignments.

Versions: v5 tells counts and configs of what was made (KIP-525); v7 its id (KIP-516). Counts of -1
take the broker's defaults in every version served, though KIP-464 has them from v4 on.
The topic exists with its leaders when the answer is made, so the time-out does not matter.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mockbroker.apis.context import in_slices
from mockbroker.config.describe import describe_created_topic
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.schema import ZERO_UUID
from mockbroker_protocol.versions import CREATE_TOPICS_CONFIGS

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.config.topic import TopicConfig
    from mockbroker.metadata.topic_requests import CreatedTopic
    from mockbroker_protocol.messages.topics import CreatableTopic


def handle(services: Services, ctx: RequestContext, request: CreateTopicsRequest) -> object:
    """They are created in slices (see `Controller.creating_topics`), and so is the answer made."""
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: CreateTopicsRequest
) -> Generator[None, None, CreateTopicsResponse]:
    asked = yield from in_slices(map(_asked, request.topics))
    created = yield from services.controller.creating_topics(
        asked, validate_only=request.validate_only
    )
    told = _Configs() if ctx.api_version >= CREATE_TOPICS_CONFIGS else None
    topics = yield from in_slices((_result(topic, told) for topic in created), 32)
    return CreateTopicsResponse(throttle_time_ms=ctx.throttle_time_ms, topics=topics)


def _asked(topic: CreatableTopic) -> NewTopic:
    # A config named twice has its last value, as in Kafka's map.
    configs = {config.name: config.value for config in topic.configs}
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(each.partition_index, each.broker_ids) for each in topic.assignments],
        tuple(configs.items()),
    )


class _Configs:
    """The configs that an answer tells; topics that set the same ones share what is told of them.

    They are some forty a topic, and mostly those of the broker.
    """

    def __init__(self) -> None:
        self._told: dict[frozenset[tuple[str, str]], list[CreatableTopicConfigs]] = {}

    def of(self, config: TopicConfig) -> list[CreatableTopicConfigs]:
        """Those of a topic. Nobody changes the list."""
        own = frozenset(config.overrides.items())
        told = self._told.get(own)
        if told is None:
            told = self._told[own] = [
                CreatableTopicConfigs(row.name, row.value, row.read_only, row.source, row.sensitive)
                for row in describe_created_topic(config)
            ]
        return told


def _result(topic: CreatedTopic, told: _Configs | None) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_code=topic.error,
        error_message=topic.message,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        configs=[] if told is None or topic.config is None else told.of(topic.config),
    )


def guard(auth: AuthHelper, request: CreateTopicsRequest) -> None:
    """CREATE on the cluster or the topic; without DESCRIBE_CONFIGS its configs are not told."""
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    names = [topic.name for topic in request.topics]
    refused = {
        name
        for name, times in Counter(names).items()
        if times == 1 and not auth.authorize_creation(name)
    }
    request.topics = [topic for topic in request.topics if topic.name not in refused]

    def amend(response: CreateTopicsResponse) -> None:
        for topic in response.topics:
            if not topic.error_code and not auth.authorize_topic(
                AclOperation.DESCRIBE_CONFIGS, topic.name, logs_denial=False
            ):
                topic.configs = []
                topic.num_partitions = topic.replication_factor = -1
                topic.topic_config_error_code = denied
        response.topics += [
            CreatableTopicResult(name, ZERO_UUID, denied, "Authorization failed.")
            for name in names
            if name in refused
        ]

    auth.amend(amend)
