"""IncrementalAlterConfigs as a client sees it: operations, refusals, and what takes effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
Op = tuple[str, int, str | None]
Answer = tuple[int, str | None]


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1, "u": 1})


def alter(
    core: Core,
    *resources: tuple[int, str, Sequence[Op]],
    version: int = 1,
    validate_only: bool = False,
) -> list[Answer]:
    asked = [
        IncrementalAlterConfigsResource(kind, name, [IncrementalAlterableConfig(*op) for op in ops])
        for kind, name, ops in resources
    ]
    request = IncrementalAlterConfigsRequest(asked, validate_only)
    answer = core.client().call(request, version, IncrementalAlterConfigsResponse)
    assert [(each.resource_type, each.resource_name) for each in answer.responses] == [
        (kind, name) for kind, name, _ in resources
    ]
    return [(each.error_code, each.error_message) for each in answer.responses]


def described(core: Core, kind: int, name: str, key: str) -> DescribeConfigsResourceResult:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, [key])], True, True)
    (config,) = core.client().call(request, 4, DescribeConfigsResponse).results[0].configs
    return config


def value(core: Core, key: str, name: str = "t") -> str | None:
    return described(core, TOPIC, name, key).value


def log_of(core: Core) -> UnifiedLog:
    partition = core.broker.services.replicas.partition("t", 0)
    assert partition is not None
    return partition.open_log()


@pytest.mark.parametrize("version", [0, 1])
def test_a_config_is_set_and_deleted(core: Core, version: int) -> None:
    assert alter(core, (TOPIC, "t", [("retention.ms", SET, "7")]), version=version) == [(0, None)]
    assert (value(core, "retention.ms"), value(core, "retention.ms", "u")) == ("7", "604800000")
    assert alter(core, (TOPIC, "t", [("retention.ms", DELETE, None)])) == [(0, None)]
    assert described(core, TOPIC, "t", "retention.ms").config_source == 5


@pytest.mark.parametrize(
    ("operation", "text", "expected"),
    [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "delete,compact", "delete,compact"),
        (APPEND, ",", "delete"),
        (SUBTRACT, "delete", ""),
        (SUBTRACT, "compact", "delete"),
    ],
)
def test_lists_grow_and_shrink_from_the_default(
    core: Core, operation: int, text: str, expected: str
) -> None:
    assert alter(core, (TOPIC, "t", [("cleanup.policy", operation, text)])) == [(0, None)]
    assert value(core, "cleanup.policy") == expected


def test_configs_of_the_extension_are_there_where_it_is_on(core: Core) -> None:
    extended = Core(topics={"t": 1}, config={"coop.extension.enable": "true"})
    of_topic = (TOPIC, "t", [("range.fetch.enable", SET, "false")])
    of_broker = (BROKER, "", [("coop.fetch.lease.ms", SET, "soon")])
    refused = [(40, "Unknown topic config name: range.fetch.enable")]
    assert alter(core, of_topic) == refused
    assert alter(core, of_broker) == [(0, None)]
    assert alter(extended, of_topic) == [(0, None)]
    assert value(extended, "range.fetch.enable") == "false"
    ((error, _),) = alter(extended, of_broker)
    assert error == 42
    good = (BROKER, "", [("coop.fetch.lease.ms", SET, "7"), ("coop.error.mode", SET, "draft")])
    assert alter(extended, good) == [(0, None)]
    lease = described(extended, BROKER, "1", "coop.fetch.lease.ms")
    assert (lease.value, lease.config_source, lease.read_only) == ("7", 3, False)
    assert extended.broker.services.config.str("coop.error.mode") == "draft"


def test_a_list_goes_on_from_what_is_set(core: Core) -> None:
    for operation, text in ((SET, "compact"), (APPEND, "delete"), (SUBTRACT, "compact")):
        alter(core, (TOPIC, "t", [("cleanup.policy", operation, text)]))
    assert value(core, "cleanup.policy") == "delete"


def test_validation_changes_nothing(core: Core) -> None:
    version = core.cluster.metadata.version
    change = (TOPIC, "t", [("retention.ms", SET, "7")])
    assert alter(core, change, validate_only=True) == [(0, None)]
    assert core.cluster.metadata.version == version


@pytest.mark.parametrize(
    ("kind", "name", "ops", "error"),
    [
        (TOPIC, "t", [("nope", SET, "1")], 40),
        (TOPIC, "t", [("nope", APPEND, "1")], 40),
        (TOPIC, "t", [("flush.ms", SET, "5"), ("retention.ms", SET, "soon")], 40),
        (TOPIC, "t", [("retention.ms", APPEND, "1")], 40),
        (TOPIC, "t", [("retention.ms", SET, None)], 42),
        (TOPIC, "t", [("flush.ms", SET, "5"), ("flush.ms", SET, "5")], 42),
        (TOPIC, "t", [("retention.ms", 9, "1")], -1),
        (TOPIC, "nope", [("retention.ms", SET, "1")], 3),
        (TOPIC, "nope", [("retention.ms", SET, "soon")], 40),
        (TOPIC, "b@d", [("retention.ms", SET, "1")], 17),
        (TOPIC, "", [("retention.ms", SET, "1")], 42),
        (BROKER, "1", [("num.partitions", SET, "2")], 42),
        (BROKER, "1", [("background.threads", SET, "x")], 42),
        (BROKER, "1", [("background.threads", APPEND, "1")], 40),
        (BROKER, "1", [("nope", APPEND, "1")], 40),
        (BROKER, "1", [("background.threads", 9, "1")], 42),
        (BROKER, "1", [("min.insync.replicas", SET, "2")], 40),
        (BROKER, "", [("min.insync.replicas", DELETE, None)], 40),
        (BROKER, "2", [], 42),
        (BROKER, "x", [], 42),
        (8, "1", [("root", SET, "debug")], 40),
        (8, "1", [("root", DELETE, None)], 42),
        (8, "2", [("root", SET, "DEBUG")], 42),
        (16, "m", [("interval.ms", SET, "99")], 42),
        (16, "m", [("match", SET, "x")], 40),
        (16, "", [("interval.ms", SET, "1000")], 42),
        (32, "g", [("share.session.timeout.ms", SET, "1")], 40),
        (32, "g", [("share.session.timeout.ms", APPEND, "1")], 40),
        (32, "", [("share.session.timeout.ms", SET, "45000")], 42),
        (99, "t", [], 42),
    ],
)
def test_a_refused_resource_changes_nothing_and_harms_no_other(
    core: Core, kind: int, name: str, ops: list[Op], error: int
) -> None:
    bad, good = alter(core, (kind, name, ops), (TOPIC, "u", [("flush.ms", SET, "9")]))
    assert (bad[0], good) == (error, (0, None))
    assert (value(core, "flush.ms", "u"), value(core, "flush.ms")) == ("9", f"{2**63 - 1}")


def test_a_resource_comes_once(core: Core) -> None:
    change = (TOPIC, "t", [("retention.ms", SET, "7")])
    answer = (42, "Each resource must appear at most once.")
    assert alter(core, change, change) == [answer, answer]
    assert value(core, "retention.ms") == "604800000"


def test_logs_go_by_the_new_configs_at_once(core: Core) -> None:
    log = log_of(core)
    alter(core, (BROKER, "", [("message.max.bytes", SET, "20")]))
    assert log.config.max_message_bytes == 20
    alter(core, (BROKER, "1", [("message.max.bytes", SET, "10")]))
    assert log.config.max_message_bytes == 10
    alter(core, (TOPIC, "t", [("max.message.bytes", SET, "30")]))
    assert log.config.max_message_bytes == 30
    alter(core, (TOPIC, "t", [("max.message.bytes", DELETE, None)]))
    alter(core, (BROKER, "1", [("message.max.bytes", DELETE, None)]))
    assert log.config.max_message_bytes == 20


def test_a_plug_ins_key_is_kept_and_not_shown(core: Core) -> None:
    assert alter(core, (BROKER, "1", [("my.key", SET, "secret")])) == [(0, None)]
    config = described(core, BROKER, "1", "my.key")
    assert (config.value, config.config_source, config.config_type) == (None, 2, 0)
    assert (config.is_sensitive, config.read_only) == (True, True)
    assert [(each.value, each.source) for each in config.synonyms] == [(None, 2)]


@pytest.mark.parametrize(
    ("kind", "name", "key", "text", "source"),
    [
        (8, "1", "root", "DEBUG", 6),
        (16, "m", "interval.ms", "1000", 7),
        (32, "g", "share.session.timeout.ms", "50000", 8),
    ],
)
def test_other_resources_keep_what_is_set(
    core: Core, kind: int, name: str, key: str, text: str, source: int
) -> None:
    assert alter(core, (kind, name, [(key, SET, text)])) == [(0, None)]
    config = described(core, kind, name, key)
    assert (config.value, config.config_source) == (text, source)


def test_the_group_coordinator_sees_a_groups_configs(core: Core) -> None:
    key = "consumer.session.timeout.ms"
    metadata = core.cluster.metadata
    assert metadata.group_config("g").int(key) == 45_000
    alter(core, (32, "g", [(key, SET, "50000")]))
    assert metadata.group_config("g").int(key) == 50_000
    assert metadata.group_config("other").int(key) == 45_000
    alter(core, (32, "g", [(key, DELETE, None)]))
    assert metadata.group_config("g").int(key) == 45_000
