"""UpdateFeatures: raise and lower the finalized levels of features (KIP-584).

Versions: v1 upgrade types and validation; v2 answers no results, since all of them fail or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import NEEDS_ALTER, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.features import FeatureUpdate, offered
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from mockbroker_protocol.versions import UPDATE_FEATURES_NO_RESULTS

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER, told(NEEDS_ALTER))


def handle(
    services: Services, ctx: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    updates = {
        each.feature: FeatureUpdate(each.feature, each.max_version_level, each.upgrade_type)
        for each in request.feature_updates
    }
    registry = services.registry
    features = offered(lambda key: registry.get(key) is not None)
    if services.quorum is not None:
        features = services.quorum.supported(features)
    answer = services.controller.update_features(
        list(updates.values()),
        features,
        services.broker_id,
        validate_only=request.validate_only,
    )
    response = UpdateFeaturesResponse(ctx.throttle_time_ms, answer.error, answer.message)
    if answer.error is ErrorCode.NONE and ctx.api_version < UPDATE_FEATURES_NO_RESULTS:
        response.results = [UpdatableFeatureResult(name, 0, "NONE") for name in updates]
    return response
