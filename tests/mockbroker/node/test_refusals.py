"""What is said of a request that is not served; that it is said, test_broker.py shows."""

from __future__ import annotations

import pytest

from mockbroker.apis.registry import Registry
from mockbroker.node.refusals import (
    api_name,
    illegal_sasl_state,
    unknown_api_versions,
    unserved_reason,
)
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.acls import DescribeAclsRequest
from mockbroker_protocol.messages.delegation_tokens import CreateDelegationTokenRequest
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_membership import JoinGroupRequest
from mockbroker_protocol.messages.transactions import InitProducerIdRequest


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


@pytest.mark.parametrize(
    ("request_", "version", "values"),
    [
        (
            DescribeAclsRequest(),
            1,
            {
                "error_message": (
                    "Unexpected Kafka request of type DESCRIBE_ACLS during SASL authentication."
                )
            },
        ),
        (
            FindCoordinatorRequest("a"),
            1,
            {"error_message": "Request is not valid given the current SASL state."},
        ),
        (FindCoordinatorRequest("a"), 0, {"error_message": ""}),
        (InitProducerIdRequest(), 0, {"producer_id": -1, "producer_epoch": -1}),
        (JoinGroupRequest(), 6, {"protocol_name": ""}),
        (JoinGroupRequest(), 7, {"protocol_name": None}),
        (
            CreateDelegationTokenRequest(),
            1,
            {"principal_name": "ANONYMOUS", "max_timestamp_ms": -1},
        ),
    ],
)
def test_what_stands_beside_error_34(
    request_: object, version: int, values: dict[str, object]
) -> None:
    key: int = request_.API_KEY  # type: ignore[attr-defined]
    answer = illegal_sasl_state(key, version, request_)
    assert {name: getattr(answer, name) for name in values} == values
    assert answer.error_code == 34  # type: ignore[attr-defined]
