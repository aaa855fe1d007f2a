from __future__ import annotations

import pytest

from mockbroker_protocol.api_keys import ALL_SPECS, API_SPECS, NEVER, ApiKey


@pytest.mark.parametrize(
    "spec",
    [
        (0, "Produce", 0, 13, 9, "produce"),
        (1, "Fetch", 3, 18, 12, "fetch"),
        (3, "Metadata", 0, 13, 9, "metadata"),
        (17, "SaslHandshake", 0, 1, NEVER, "sasl"),
        (18, "ApiVersions", 0, 5, 3, "api_versions"),
        (22, "InitProducerId", 0, 5, 2, "transactions"),
        (78, "ShareFetch", 1, 2, 0, "share_fetch"),
    ],
)
def test_specs_are_those_of_a_broker_listener(spec: tuple[int, str, int, int, int, str]) -> None:
    assert API_SPECS[spec[0]] == spec


def test_apis_of_controllers_are_none_of_a_broker_listener() -> None:
    assert ApiKey.ENVELOPE in ALL_SPECS
    assert ApiKey.ENVELOPE not in API_SPECS
    assert ApiKey.LEADER_AND_ISR not in ALL_SPECS


def test_keys_are_those_of_their_specs() -> None:
    assert all(spec.key == key for key, spec in ALL_SPECS.items())
    assert all(spec.min_version <= spec.max_version for spec in ALL_SPECS.values())
