"""What is said of a request that is not served, or not now. Called by request handler and gate.

Apache Kafka closes the connection without an answer, but for ApiVersions (KIP-511); the log and
the journal tell why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.journal import RequestRefused
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.headers import frame_response

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
