"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources.

Resource types are Kafka's ConfigResource.Type: 2 topic, 4 broker, 8 broker logger,
16 client metrics, 32 group.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int8, int16, int32, message, struct


@message(api_key=32)
class DescribeConfigsRequest:
    """Ask for configs of resources."""

    resources: list[DescribeConfigsResource] = []
    include_synonyms: boolean = False
    include_documentation: Annotated[boolean, V(since=3)] = False


@struct
class DescribeConfigsResource:
    """A resource and the keys wanted; None is all of them."""

    resource_type: int8 = 0
    resource_name: str = ""
    configuration_keys: Annotated[list[str] | None, V(nullable=1)] = []


@message(api_key=32)
class DescribeConfigsResponse:
    """The configs of each resource."""

    throttle_time_ms: int32 = 0
    results: list[DescribeConfigsResult] = []


@struct
class DescribeConfigsResult:
    """One resource with its configs, or the error."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = ""
    resource_type: int8 = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = []


@struct
class DescribeConfigsResourceResult:
    """One config, its value and where that comes from."""

    name: str = ""
    value: Annotated[str | None, V(nullable=1)] = ""
    read_only: boolean = False
    config_source: int8 = -1
    is_sensitive: boolean = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: Annotated[int8, V(since=3, ignorable=True)] = 0
    documentation: Annotated[str | None, V(since=3, nullable=3, ignorable=True)] = ""


@struct
class DescribeConfigsSynonym:
    """A config that stands behind the effective value."""

    name: str = ""
    value: Annotated[str | None, V(nullable=1)] = ""
    source: int8 = 0


@message(api_key=33)
class AlterConfigsRequest:
    """Replace all configs of resources."""

    resources: list[AlterConfigsResource] = []
    validate_only: boolean = False


@struct
class AlterConfigsResource:
    """A resource with the whole of its new configs."""

    resource_type: int8 = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []


@struct
class AlterableConfig:
    """A key and its value."""

    name: str = ""
    value: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=33)
class AlterConfigsResponse:
    """What became of each resource."""

    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse] = []


@struct
class AlterConfigsResourceResponse:
    """Success or error for one resource."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    resource_type: int8 = 0
    resource_name: str = ""


@message(api_key=44)
class IncrementalAlterConfigsRequest:
    """Change single configs of resources (KIP-339)."""

    resources: list[IncrementalAlterConfigsResource] = []
    validate_only: boolean = False


@struct
class IncrementalAlterConfigsResource:
    """A resource and the changes to it."""

    resource_type: int8 = 0
    resource_name: str = ""
    configs: list[IncrementalAlterableConfig] = []


@struct
class IncrementalAlterableConfig:
    """A change: 0 set, 1 delete, 2 append, 3 subtract."""

    name: str = ""
    config_operation: int8 = 0
    value: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=44)
class IncrementalAlterConfigsResponse:
    """What became of each resource."""

    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse] = []


@message(api_key=74)
class ListConfigResourcesRequest:
    """Ask which resources have configs (KIP-714, KIP-1142)."""

    resource_types: Annotated[list[int8], V(since=1)] = []


@message(api_key=74)
class ListConfigResourcesResponse:
    """The resources found."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    config_resources: list[ConfigResource] = []


@struct
class ConfigResource:
    """A resource by name and type."""

    resource_name: str = ""
    resource_type: Annotated[int8, V(since=1, ignorable=True)] = 16
