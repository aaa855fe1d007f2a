from __future__ import annotations

import pytest

from mockbroker_protocol.api_keys import ALL_SPECS, API_SPECS, CONTROLLER_SPECS, NEVER, ApiKey


@pytest.mark.parametrize(
    ("key", "name", "min_version", "max_version", "flexible"),
    [
        (0, "Produce", 0, 13, 9),
        (1, "Fetch", 3, 18, 12),
        (3, "Metadata", 0, 13, 9),
        (17, "SaslHandshake", 0, 1, NEVER),
        (18, "ApiVersions", 0, 5, 3),
        (22, "InitProducerId", 0, 5, 2),
        (78, "ShareFetch", 1, 2, 0),
    ],
)
def test_specs_are_those_of_a_broker_listener(
    key: int, name: str, min_version: int, max_version: int, flexible: int
) -> None:
    assert API_SPECS[key] == (key, name, min_version, max_version, flexible)


def test_apis_of_controllers_are_none_of_a_broker_listener() -> None:
    assert ApiKey.VOTE in CONTROLLER_SPECS
    assert not set(API_SPECS) & set(CONTROLLER_SPECS)
    assert ApiKey.LEADER_AND_ISR not in ALL_SPECS


def test_keys_are_those_of_their_specs() -> None:
    assert all(spec.key == key for key, spec in ALL_SPECS.items())
    assert all(spec.min_version <= spec.max_version for spec in ALL_SPECS.values())
