"""What stands beside error 34 where a request came instead of a token."""

from __future__ import annotations

import pytest

from mockbroker.node.illegal_sasl_state import illegal_sasl_state
from mockbroker_protocol.messages.acls import DescribeAclsRequest
from mockbroker_protocol.messages.delegation_tokens import CreateDelegationTokenRequest
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_membership import JoinGroupRequest
from mockbroker_protocol.messages.transactions import InitProducerIdRequest


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
