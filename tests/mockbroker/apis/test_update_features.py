"""UpdateFeatures as a client sees it, and ApiVersions after it."""

from __future__ import annotations

import pytest

from mockbroker.quorum.quorum import METADATA_VERSION
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.controller_apis import BrokerRegistrationResponse
from mockbroker_protocol.messages.features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.support import outside_brokers
from tests.support.core import Core
from tests.support.metadata_logs import QuorumCore

TXN = "transaction.version"


def update(core: Core, name: str, level: int, kind: int, version: int) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(1000, [FeatureUpdateKey(name, level, False, kind)])
    return core.client().call(request, version, UpdateFeaturesResponse)


def levels(core: Core) -> dict[str, int]:
    answer = core.client().call(ApiVersionsRequest("x", "1"), 4, ApiVersionsResponse)
    return {each.name: each.max_version_level for each in answer.finalized_features}


@pytest.mark.parametrize("version", [1, 2])
def test_a_changed_level_is_advertised(version: int) -> None:
    core = Core()
    assert levels(core)[TXN] == 2
    answer = update(core, TXN, 1, 2, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    told = [(each.feature, each.error_code, each.error_message) for each in answer.results]
    assert told == ([(TXN, 0, "NONE")] if version < 2 else [])
    assert levels(core)[TXN] == 1
    update(core, TXN, 0, 2, version)
    assert TXN not in levels(core)


def test_a_refused_change_tells_why() -> None:
    core = Core()
    answer = update(core, "nope", 1, 1, 2)
    assert answer.error_code == 95
    assert "Local controller 1 does not support this feature" in (answer.error_message or "")


def test_the_metadata_log_and_brokers_outside_bound_the_levels() -> None:
    core = QuorumCore()
    refused = update(core, "metadata.version", METADATA_VERSION + 1, 1, 2)
    assert f"only supports versions 7-{METADATA_VERSION}" in (refused.error_message or "")
    assert update(core, TXN, 0, 2, 2).error_code == 0
    old = outside_brokers.registration(core)
    for feature in old.features:
        feature.max_supported_version = min(feature.max_supported_version, 1)
    next(one for one in old.features if one.name == "metadata.version").max_supported_version = 30
    assert core.observer().call(old, 4, BrokerRegistrationResponse).error_code == 0
    assert "only supports versions 0-1" in (update(core, TXN, 2, 1, 2).error_message or "")
    assert update(core, TXN, 1, 1, 2).error_code == 0
