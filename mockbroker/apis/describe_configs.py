"""DescribeConfigs: the configs of topics, brokers and other resources, and where each comes from.

Versions: v1 sources and synonyms (KIP-226); v3 types and documentation (KIP-569).
Kafka: ConfigHelper. An unknown resource type fails the whole request. Divergence: one logger,
`root`, stands for the broker's loggers, and the documentation is in our own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from mockbroker.config.definition import ConfigType
from mockbroker.config.describe import (
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from mockbroker.config.registry import documentation_of
from mockbroker.config.rows import ConfigRow, ConfigSource
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import invalid_topic_name
from mockbroker.metadata.store import RESOURCE_CLIENT_METRICS
from mockbroker.metadata.topic_requests import Refusal
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.configs import DescribeConfigsResource

    _Rows: TypeAlias = Iterable[ConfigRow] | Refusal

_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


def handle(
    services: Services, ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    if all(resource.resource_type in _DESCRIBERS for resource in request.resources):
        results = _results(services, request)
    else:
        refusal = Refusal(ErrorCode.INVALID_REQUEST, _MALFORMED)
        results = [_refused(resource, refusal) for resource in request.resources]
    return DescribeConfigsResponse(throttle_time_ms=ctx.throttle_time_ms, results=results)


def _results(services: Services, request: DescribeConfigsRequest) -> list[DescribeConfigsResult]:
    """One a resource; one that is asked for twice is answered twice, but made once."""
    made: dict[object, DescribeConfigsResult] = {}
    results = []
    for resource in request.resources:
        keys = resource.configuration_keys  # none at all are all of them, as null is
        asked = (resource.resource_type, resource.resource_name, tuple(keys or ()))
        if asked not in made:
            made[asked] = _result(services, resource, request)
        results.append(made[asked])
    return results


def _result(
    services: Services, resource: DescribeConfigsResource, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    # No keys at all mean every key, as null does.
    keys = frozenset(resource.configuration_keys or ())
    rows = _DESCRIBERS[resource.resource_type](services, resource.resource_name, keys)
    if isinstance(rows, Refusal):
        return _refused(resource, rows)
    return DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_config(row, request) for row in rows if not keys or row.name in keys],
    )


def _refused(resource: DescribeConfigsResource, refusal: Refusal) -> DescribeConfigsResult:
    # Without a text of its own, an error has the empty one here, not null.
    return DescribeConfigsResult(
        refusal.error, refusal.message or "", resource.resource_type, resource.resource_name
    )


def _config(row: ConfigRow, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = row.synonyms if request.include_synonyms else ()
    documentation = documentation_of(row.name) if request.include_documentation else None
    if row.source is ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG:
        documentation = ""  # Kafka leaves the field at its default for loggers.
    return DescribeConfigsResourceResult(
        row.name,
        row.value,
        row.read_only,
        row.source,
        row.sensitive,
        [DescribeConfigsSynonym(each.name, each.value, each.source) for each in synonyms],
        row.type,
        documentation,
    )


def _topic(services: Services, name: str, keys: frozenset[str]) -> _Rows:
    invalid = invalid_topic_name(name)
    if invalid is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, invalid)
    topic = services.metadata.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return describe_topic(topic.config, keys)


def _broker(services: Services, name: str, _: frozenset[str]) -> _Rows:
    if not name:
        return describe_cluster_default(services.config)
    refusal = _refuse_broker(services, name, f"{services.broker_id} or empty string,")
    return describe_broker(services.config) if refusal is None else refusal


def _broker_logger(services: Services, name: str, _: frozenset[str]) -> _Rows:
    if not name:
        return Refusal(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    refusal = _refuse_broker(services, name, f"{services.broker_id}")
    if refusal is not None:
        return refusal
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return [
        ConfigRow(logger, level, source, ConfigType.UNKNOWN, False, False, ())
        for logger, level in services.metadata.log_levels.items()
    ]


def _refuse_broker(services: Services, name: str, expected: str) -> Refusal | None:
    if not (name.removeprefix("-").isascii() and name.removeprefix("-").isdigit()):
        message = f"Broker id must be an integer, but it is: {name}"
    elif int(name) != services.broker_id:
        message = f"Unexpected broker id, expected {expected} but received {name}"
    else:
        return None
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def _client_metrics(services: Services, name: str, _: frozenset[str]) -> _Rows:
    if not name:
        message = "Client metrics subscription name must not be empty"
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    return describe_client_metrics(
        services.metadata.resource_configs[RESOURCE_CLIENT_METRICS].get(name, {})
    )


def _group(services: Services, name: str, _: frozenset[str]) -> _Rows:
    if not name:
        return Refusal(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    return describe_group(services.metadata.group_config(name))


# By Kafka's ConfigResource.Type.
_DESCRIBERS: Final[dict[int, Callable[[Services, str, frozenset[str]], _Rows]]] = {
    2: _topic,
    4: _broker,
    8: _broker_logger,
    16: _client_metrics,
    32: _group,
}


def guard(auth: AuthHelper, request: DescribeConfigsRequest) -> None:
    """DESCRIBE_CONFIGS on each resource."""
    auth.filter_configs(request, AclOperation.DESCRIBE_CONFIGS, "results", DescribeConfigsResult)
