"""The answer to a request that came where a token should: error 34 and what Kafka puts beside it.

Called by `sasl_gate`, at the first such request; the connection ends after it.
"""

from __future__ import annotations

from typing import Final

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.error_responses import error_response
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.schema_fields import fields_of

_NAMED: Final = frozenset(
    (
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UNREGISTER_CONTROLLER,
        ApiKey.UPDATE_FEATURES,
    )
)
"""Their answers tell the exception's message (ApiError.fromThrowable)."""
_WORDED: Final = frozenset(
    (
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.FIND_COORDINATOR,
        ApiKey.REMOVE_RAFT_VOTER,
    )
)
"""Theirs tell the error's own (Errors.ILLEGAL_SASL_STATE)."""
_NO_TIME: Final = dict.fromkeys(
    ("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), -1
)
_NOBODY: Final = {
    f"{prefix}{name}": value
    for prefix in ("", "token_requester_")
    for name, value in (("principal_type", "User"), ("principal_name", "ANONYMOUS"))
}
_BESIDE: Final[dict[int, dict[str, object]]] = {
    ApiKey.CREATE_DELEGATION_TOKEN: {**_NOBODY, **_NO_TIME},
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {"entries": None},
    ApiKey.INIT_PRODUCER_ID: {"producer_epoch": -1},
}
"""What else stands beside the error (getErrorResponse of each request)."""
_NULL_PROTOCOL_SINCE: Final = 7
"""JoinGroupRequest.getErrorResponse."""


def unexpected_request(key: int) -> str:
    """What Apache Kafka says of it (SaslServerAuthenticator.handleKafkaRequest)."""
    return f"Unexpected Kafka request of type {ApiKey(key).name} during SASL authentication."


def illegal_sasl_state(key: int, version: int, request: object) -> object:
    """The answer to a request that came where a token should."""
    response = error_response(request, version, ErrorCode.ILLEGAL_SASL_STATE, None)
    values = dict(_BESIDE.get(key, {}))
    if key in _NAMED:
        values["error_message"] = unexpected_request(key)
    elif key in _WORDED:
        values["error_message"] = "Request is not valid given the current SASL state."
    elif key == ApiKey.JOIN_GROUP and version >= _NULL_PROTOCOL_SINCE:
        values["protocol_name"] = None
    present = {field.name for field in fields_of(type(response)) if field.present(version)}
    for name in present & values.keys():
        setattr(response, name, values[name])
    return response
