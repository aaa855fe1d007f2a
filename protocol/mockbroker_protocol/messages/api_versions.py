"""ApiVersions: which APIs, versions and features a broker offers.

A client asks this first, before it knows what the broker speaks; a broker that does not know the
asked version answers in version 0 with UNSUPPORTED_VERSION (KIP-511).
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int16, int32, int64, message, struct


@message(api_key=18)
class ApiVersionsRequest:
    """Ask what the broker speaks; names the client software from v3 on."""

    client_software_name: Annotated[str, V(since=3, ignorable=True)] = ""
    client_software_version: Annotated[str, V(since=3, ignorable=True)] = ""
    cluster_id: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None
    node_id: Annotated[int32, V(since=5, ignorable=True)] = -1


@message(api_key=18)
class ApiVersionsResponse:
    """Supported APIs, and the features of broker and cluster (KIP-584)."""

    error_code: int16 = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    supported_features: Annotated[
        list[SupportedFeatureKey], V(tag=0, tagged=3, ignorable=True)
    ] = []
    finalized_features_epoch: Annotated[int64, V(tag=1, tagged=3, ignorable=True)] = -1
    finalized_features: Annotated[
        list[FinalizedFeatureKey], V(tag=2, tagged=3, ignorable=True)
    ] = []
    zk_migration_ready: Annotated[boolean, V(tag=3, tagged=3, ignorable=True)] = False


@struct
class ApiVersion:
    """One API with the versions offered, both ends inclusive."""

    api_key: int16 = 0
    min_version: int16 = 0
    max_version: int16 = 0


@struct
class SupportedFeatureKey:
    """A feature and the levels that this broker can run."""

    name: str = ""
    min_version: int16 = 0
    max_version: int16 = 0


@struct
class FinalizedFeatureKey:
    """A feature and the levels that the cluster has settled on."""

    name: str = ""
    max_version_level: int16 = 0
    min_version_level: int16 = 0
