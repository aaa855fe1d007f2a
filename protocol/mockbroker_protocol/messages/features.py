"""UpdateFeatures: finalize feature levels of the cluster (KIP-584)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int8, int16, int32, message, struct


@message(api_key=57)
class UpdateFeaturesRequest:
    """Raise or lower feature levels of the cluster."""

    timeout_ms: int32 = 60000
    feature_updates: list[FeatureUpdateKey] = []
    validate_only: Annotated[boolean, V(since=1)] = False


@struct
class FeatureUpdateKey:
    """A feature and the level it shall have."""

    feature: str = ""
    max_version_level: int16 = 0
    allow_downgrade: Annotated[boolean, V(until=0)] = False
    upgrade_type: Annotated[int8, V(since=1)] = 1


@message(api_key=57)
class UpdateFeaturesResponse:
    """What became of each feature."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    results: Annotated[list[UpdatableFeatureResult], V(until=1, ignorable=True)] = []


@struct
class UpdatableFeatureResult:
    """Success or error for one feature."""

    feature: str = ""
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
