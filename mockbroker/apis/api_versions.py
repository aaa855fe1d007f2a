"""ApiVersions: which APIs, versions and features this broker offers.

The registry says what is advertised; features appear with the APIs they are made of.

Versions: v1 throttle time; v3 client software and features (KIP-511, KIP-584); v4 shows features
that start at 0; v5 checks that the client means this cluster and node (KIP-1242).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.features import finalized, offered
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from mockbroker_protocol.versions import API_VERSIONS_SOFTWARE

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, ServedApis, Services

guard = None  # anybody may ask
_TELEMETRY: Final = frozenset(
    (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS.value, ApiKey.PUSH_TELEMETRY.value)
)


def handle(
    services: Services, ctx: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    error = _refusal(services, ctx.api_version, request)
    if error is not ErrorCode.NONE:
        return ApiVersionsResponse(error_code=error, throttle_time_ms=ctx.throttle_time_ms)
    if ctx.api_version >= API_VERSIONS_SOFTWARE:
        software = request.client_software_name, request.client_software_version
        services.client_software[ctx.connection_id] = software
    registry = services.registry
    login = services.logins.get(ctx.connection_id)
    if login is not None:
        login.authenticator.versions_told()

    def is_served(key: ApiKey) -> bool:
        return registry.get(key) is not None

    return ApiVersionsResponse(
        api_keys=_api_keys(
            services.registry_of(ctx.listener),
            telemetry=services.config.bool("mockbroker.client.telemetry"),
        ),
        throttle_time_ms=ctx.throttle_time_ms,
        supported_features=[
            SupportedFeatureKey(feature.name, feature.min_version, feature.max_version)
            for feature in offered(is_served)
            if feature.min_version > 0 or ctx.api_version >= 4
        ],
        finalized_features_epoch=services.metadata.version,
        finalized_features=[
            FinalizedFeatureKey(name, level, level)
            for name, level in finalized(services.metadata, is_served).items()
        ],
    )


def unsupported_version_response(registry: ServedApis) -> ApiVersionsResponse:
    """The answer, in version 0, to a version that is not known: error 35 and this API's range.

    KIP-511: the client then asks again in a version that both know.
    """
    api = registry.get(ApiKey.API_VERSIONS)
    assert api is not None
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(ApiKey.API_VERSIONS, api.min_version, api.max_version)],
    )


def _api_keys(registry: ServedApis, *, telemetry: bool) -> list[ApiVersion]:
    # Kafka: ApiVersionsResponse.filterApis. Without a receiver they are served, but not advertised.
    return [
        ApiVersion(key, served.min_version, served.max_version)
        for key, served in registry.advertised().items()
        if telemetry or key not in _TELEMETRY
    ]


def _refusal(services: Services, version: int, request: ApiVersionsRequest) -> ErrorCode:
    if version >= 3 and not (
        _is_software(request.client_software_name) and _is_software(request.client_software_version)
    ):
        return ErrorCode.INVALID_REQUEST
    if version >= 5:
        named_cluster, named_node = request.cluster_id is not None, request.node_id != -1
        if named_cluster != named_node:
            return ErrorCode.INVALID_REQUEST
        if named_cluster and (request.cluster_id, request.node_id) != (
            services.metadata.cluster_id,
            services.broker_id,
        ):
            return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE


def _is_software(text: str) -> bool:
    # Kafka: ApiVersionsRequest.isValid; letters and digits, with '.' and '-' in between.
    letters = text.replace(".", "").replace("-", "")
    return text.isascii() and letters.isalnum() and text[0].isalnum() and text[-1].isalnum()
