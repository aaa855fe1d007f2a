"""AlterConfigs as a client sees it: what is not named goes back to its default."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from tests.support.core import Core

TOPIC, BROKER, LOGGER = 2, 4, 8
Pairs = dict[str, str | None]


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1})


def alter(
    core: Core,
    *resources: tuple[int, str, Pairs],
    version: int = 2,
    validate_only: bool = False,
) -> list[int]:
    asked = [
        AlterConfigsResource(kind, name, [AlterableConfig(*pair) for pair in pairs.items()])
        for kind, name, pairs in resources
    ]
    request = AlterConfigsRequest(asked, validate_only)
    answer = core.client().call(request, version, AlterConfigsResponse)
    return [each.error_code for each in answer.responses]


def configs(core: Core) -> dict[str, str]:
    return core.cluster.metadata.topics["t"].configs


@pytest.mark.parametrize("version", range(3))
def test_all_configs_are_replaced(core: Core, version: int) -> None:
    assert alter(core, (TOPIC, "t", {"retention.ms": "7"}), version=version) == [0]
    assert alter(core, (TOPIC, "t", {"flush.ms": "8"}), version=version) == [0]
    assert configs(core) == {"flush.ms": "8"}
    assert alter(core, (TOPIC, "t", {}), validate_only=True) == [0]
    assert configs(core) == {"flush.ms": "8"}
    assert alter(core, (TOPIC, "t", {})) == [0]
    assert configs(core) == {}


def test_a_brokers_configs_are_replaced(core: Core) -> None:
    config = core.broker.services.config
    assert alter(core, (BROKER, "1", {"message.max.bytes": "9"})) == [0]
    assert config.int("message.max.bytes") == 9
    assert alter(core, (BROKER, "1", {})) == [0]
    assert config.int("message.max.bytes") == 1048588


def test_the_clusters_in_sync_minimum_stays(core: Core) -> None:
    assert alter(core, (BROKER, "", {"message.max.bytes": "9"})) == [40]
    assert alter(core, (BROKER, "", {"message.max.bytes": "9", "min.insync.replicas": "1"})) == [0]


@pytest.mark.parametrize(
    ("kind", "name", "pairs", "error"),
    [
        (TOPIC, "t", {"nope": "1"}, 40),
        (TOPIC, "t", {"retention.ms": "soon"}, 40),
        (TOPIC, "t", {"retention.ms": None}, 42),
        (TOPIC, "nope", {}, 3),
        (TOPIC, "b@d", {}, 17),
        (TOPIC, "", {}, 42),
        (BROKER, "1", {"num.partitions": "2"}, 42),
        (BROKER, "7", {}, 42),
        (LOGGER, "1", {"root": "INFO"}, 42),
        (99, "t", {}, 42),
    ],
)
def test_refusals(core: Core, kind: int, name: str, pairs: Pairs, error: int) -> None:
    alter(core, (TOPIC, "t", {"flush.ms": "8"}))
    assert alter(core, (kind, name, pairs)) == [error]
    assert configs(core) == {"flush.ms": "8"}


def test_a_resource_named_twice_is_refused(core: Core) -> None:
    change: tuple[int, str, Pairs] = (TOPIC, "t", {"flush.ms": "8"})
    assert alter(core, change, change) == [42, 42]
    assert configs(core) == {}
