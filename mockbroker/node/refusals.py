"""What is said of a request that is not served, or not now. Called by request handler and gate.

Apache Kafka closes the connection without an answer, but for ApiVersions (KIP-511); the log and
the journal tell why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal import RequestRefused
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.error_responses import error_response
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import frame_response
from mockbroker_protocol.schema_fields import fields_of

if TYPE_CHECKING:
    from mockbroker.apis.context import ServedApi, ServedApis
    from mockbroker.node.connection import Connection
    from mockbroker_protocol.headers import RequestHeader
    from mockbroker_protocol.primitives import Buffer


def unserved_reason(api: ServedApi | None) -> str:
    """Why a request cannot be served: its API, or its version."""
    if api is None:
        return "this API is not served"
    return f"served versions are {api.min_version} to {api.max_version}"


def unknown_api_versions(registry: ServedApis, correlation_id: int) -> list[Buffer]:
    """KIP-511: a version-0 body with error 35, whatever version was asked for."""
    from mockbroker.apis.api_versions import unsupported_version_response

    api = registry.get(ApiKey.API_VERSIONS)
    assert api is not None
    api.requests += 1
    body = api.encode(unsupported_version_response(registry), 0)
    return frame_response(ApiKey.API_VERSIONS, 0, correlation_id, body)


def refusal(
    conn: Connection, header: RequestHeader | None, reason: str, broker_id: int
) -> RequestRefused:
    """The event of a refusal; `header` is None when not even that could be read."""
    key = None if header is None else header.api_key
    return RequestRefused(
        conn.id,
        conn.peer,
        conn.client_id,
        key,
        api_name(key),
        None if header is None else header.api_version,
        reason,
        broker_id,
    )


def api_name(key: int | None) -> str:
    """Kafka's name of an API key, also of one that only brokers and controllers speak."""
    if key is None or key not in ApiKey.__members__.values():
        return "unknown"
    spec = API_SPECS.get(key)
    return ApiKey(key).name.title().replace("_", "") if spec is None else spec.name


# -- in place of a token of SASL -------------------------------------------------------------

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
