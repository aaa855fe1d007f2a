"""DescribeConfigs as a client sees it: resources, filters, synonyms, refusals."""

from __future__ import annotations

import pytest

from mockbroker.metadata.changes import ConfigsChanged
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.support.core import Core

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
MALFORMED = "This most likely occurs because of a request being malformed by the client library"


@pytest.fixture
def core() -> Core:
    core = Core(topics={"t": 1}, config={"num.partitions": "6"})
    core.cluster.metadata.apply(ConfigsChanged(TOPIC, "t", {"retention.ms": "7"}))
    return core


def ask(
    core: Core,
    version: int,
    *resources: DescribeConfigsResource,
    synonyms: bool = False,
    documentation: bool = False,
) -> list[DescribeConfigsResult]:
    request = DescribeConfigsRequest(list(resources), synonyms, documentation)
    return core.client().call(request, version, DescribeConfigsResponse).results


def one(
    core: Core, resource_type: int, name: str, key: str, *, synonyms: bool = True
) -> DescribeConfigsResourceResult:
    resource = DescribeConfigsResource(resource_type, name, [key])
    (result,) = ask(core, 4, resource, synonyms=synonyms, documentation=True)
    (config,) = result.configs
    return config


@pytest.mark.parametrize("version", range(1, 5))
@pytest.mark.parametrize(
    ("resource_type", "name", "count"),
    [
        (TOPIC, "t", 37),
        (BROKER, "1", 350),
        (BROKER, "", 1),
        (LOGGER, "1", 1),
        (CLIENT_METRICS, "any", 3),
        (GROUP, "any", 21),
    ],
)
def test_each_resource_lists_its_configs(
    core: Core, version: int, resource_type: int, name: str, count: int
) -> None:
    (result,) = ask(core, version, DescribeConfigsResource(resource_type, name, None))
    assert (result.error_code, result.error_message) == (0, "")
    assert (result.resource_type, result.resource_name) == (resource_type, name)
    assert len(result.configs) == count
    assert {config.documentation for config in result.configs} <= {None, ""}
    assert not any(config.synonyms for config in result.configs)


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (["retention.ms", "nope"], ["retention.ms"]),
        (["nope"], []),
    ],
)
def test_keys_filter(core: Core, keys: list[str], found: list[str]) -> None:
    (result,) = ask(core, 4, DescribeConfigsResource(TOPIC, "t", keys))
    assert [config.name for config in result.configs] == found


def test_no_keys_are_all_keys(core: Core) -> None:
    (result,) = ask(core, 4, DescribeConfigsResource(TOPIC, "t", []))
    assert len(result.configs) == 37


def test_a_topic_config_in_full(core: Core) -> None:
    config = one(core, TOPIC, "t", "retention.ms")
    assert (config.value, config.config_source, config.config_type) == ("7", 1, 5)
    assert not config.read_only
    assert [(each.name, each.value, each.source) for each in config.synonyms] == [
        ("retention.ms", "7", 1)
    ]
    assert config.documentation == "Time that data is kept; -1 is no limit."


def test_a_broker_config_in_full(core: Core) -> None:
    config = one(core, BROKER, "1", "num.partitions")
    assert (config.value, config.config_source, config.config_type) == ("6", 4, 3)
    assert config.read_only
    assert [(each.value, each.source) for each in config.synonyms] == [("6", 4), ("1", 5)]
    assert one(core, BROKER, "1", "ssl.key.password").is_sensitive


def test_dynamic_configs_show_at_once(core: Core) -> None:
    core.cluster.metadata.apply(ConfigsChanged(BROKER, "1", {"log.retention.ms": "9"}))
    assert one(core, BROKER, "1", "log.retention.ms").config_source == 2
    synonyms = one(core, TOPIC, "t", "retention.ms").synonyms
    assert [(each.name, each.source) for each in synonyms] == [
        ("retention.ms", 1),
        ("log.retention.ms", 2),
        ("log.retention.hours", 5),
    ]


def test_the_logger_has_a_level(core: Core) -> None:
    config = one(core, LOGGER, "1", "root")
    assert (config.value, config.config_source, config.config_type) == ("INFO", 6, 0)
    assert config.documentation == ""


@pytest.mark.parametrize(
    ("resource_type", "name", "error", "message"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "-1", 42, "Unexpected broker id, expected 1 or empty string, but received -1"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "x", 42, "Broker id must be an integer, but it is: x"),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (GROUP, "", 42, "Group name must not be empty"),
    ],
)
def test_refused_resources_do_not_harm_others(
    core: Core, resource_type: int, name: str, error: int, message: str
) -> None:
    bad, good = ask(
        core,
        4,
        DescribeConfigsResource(resource_type, name, None),
        DescribeConfigsResource(TOPIC, "t", None),
    )
    assert (bad.error_code, bad.error_message, bad.configs) == (error, message, [])
    assert (good.error_code, len(good.configs)) == (0, 37)


@pytest.mark.parametrize("resource_type", [-1, 0, 1, 3, 64])
def test_an_unknown_resource_type_fails_the_request(core: Core, resource_type: int) -> None:
    results = ask(
        core,
        4,
        DescribeConfigsResource(TOPIC, "t", None),
        DescribeConfigsResource(resource_type, "t", None),
    )
    assert [result.error_code for result in results] == [42, 42]
    assert all((result.error_message or "").startswith(MALFORMED) for result in results)
