"""What is said of a request that is not served; that it is said, test_broker.py shows."""

from __future__ import annotations

from mockbroker.apis.registry import Registry
from mockbroker.node.refusals import (
    api_name,
    unknown_api_versions,
    unserved_reason,
)
from mockbroker_protocol.api_keys import ApiKey


def test_the_reason_names_the_versions_that_are_served() -> None:
    registry = Registry("4.4")
    assert unserved_reason(None) == "this API is not served"
    assert unserved_reason(registry.get(ApiKey.FETCH)) == "served versions are 4 to 18"


def test_an_unknown_api_versions_is_answered_in_version_0() -> None:
    registry = Registry("widest")
    data = b"".join(unknown_api_versions(registry, 7))
    assert data[4:10] == (7).to_bytes(4, "big") + (35).to_bytes(2, "big")
    api = registry.get(ApiKey.API_VERSIONS)
    assert api is not None
    assert api.requests == 1


def test_names_of_keys() -> None:
    assert api_name(1) == "Fetch"
    assert api_name(None) == api_name(31_000) == "unknown"
    assert api_name(int(ApiKey.LEADER_AND_ISR)) == "LeaderAndIsr"
