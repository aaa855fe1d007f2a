"""ListConfigResources as a client sees it."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.configs import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.support.core import Core

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def ask(*kinds: int, version: int = 1) -> tuple[int, list[tuple[int, str]]]:
    request = ListConfigResourcesRequest(list(kinds))
    core = Core(topics={"t": 1, "u": 1})
    answer = core.client().call(request, version, ListConfigResourcesResponse)
    rows = [(each.resource_type, each.resource_name) for each in answer.config_resources]
    return answer.error_code, rows


def test_no_types_are_all_types() -> None:
    assert ask() == (0, [(LOGGER, "1"), (BROKER, "1"), (TOPIC, "t"), (TOPIC, "u")])


@pytest.mark.parametrize(
    ("kinds", "rows"),
    [
        ((TOPIC,), [(TOPIC, "t"), (TOPIC, "u")]),
        ((BROKER, BROKER), [(BROKER, "1")]),
        ((LOGGER,), [(LOGGER, "1")]),
        ((CLIENT_METRICS, GROUP), []),
    ],
)
def test_types_filter(kinds: tuple[int, ...], rows: list[tuple[int, str]]) -> None:
    assert ask(*kinds) == (0, rows)


@pytest.mark.parametrize("kind", [-1, 0, 1, 3, 64, 99])
def test_an_unknown_type_fails_the_request(kind: int) -> None:
    assert ask(TOPIC, kind) == (35, [])


def test_the_first_version_lists_client_metrics() -> None:
    assert ask(version=0) == (0, [])
