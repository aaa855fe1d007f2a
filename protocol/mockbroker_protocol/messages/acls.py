"""DescribeAcls, CreateAcls and DeleteAcls (KIP-140, patterns by KIP-290).

Types, operations and permissions are the codes of ResourceType, PatternType, AclOperation and
AclPermissionType; a filter field of None or code 1 (ANY) matches everything.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int8, int16, int32, message, struct


@message(api_key=29)
class DescribeAclsRequest:
    """Ask for the ACLs that match a filter."""

    resource_type_filter: int8 = 0
    resource_name_filter: Annotated[str | None, V(nullable=1)] = ""
    pattern_type_filter: int8 = 3
    principal_filter: Annotated[str | None, V(nullable=1)] = ""
    host_filter: Annotated[str | None, V(nullable=1)] = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=29)
class DescribeAclsResponse:
    """The ACLs found, by resource."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = ""
    resources: list[DescribeAclsResource] = []


@struct
class DescribeAclsResource:
    """A resource pattern and its ACLs."""

    resource_type: int8 = 0
    resource_name: str = ""
    pattern_type: int8 = 3
    acls: list[AclDescription] = []


@struct
class AclDescription:
    """Who may or may not do what, from where."""

    principal: str = ""
    host: str = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=30)
class CreateAclsRequest:
    """Add ACLs."""

    creations: list[AclCreation] = []


@struct
class AclCreation:
    """An ACL to add."""

    resource_type: int8 = 0
    resource_name: str = ""
    resource_pattern_type: int8 = 3
    principal: str = ""
    host: str = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=30)
class CreateAclsResponse:
    """What became of each, in the order asked."""

    throttle_time_ms: int32 = 0
    results: list[AclCreationResult] = []


@struct
class AclCreationResult:
    """Success or error for one ACL."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = ""


@message(api_key=31)
class DeleteAclsRequest:
    """Remove the ACLs that match any of the filters."""

    filters: list[DeleteAclsFilter] = []


@struct
class DeleteAclsFilter:
    """Which ACLs to remove."""

    resource_type_filter: int8 = 0
    resource_name_filter: Annotated[str | None, V(nullable=1)] = ""
    pattern_type_filter: int8 = 3
    principal_filter: Annotated[str | None, V(nullable=1)] = ""
    host_filter: Annotated[str | None, V(nullable=1)] = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=31)
class DeleteAclsResponse:
    """What became of each filter, in the order asked."""

    throttle_time_ms: int32 = 0
    filter_results: list[DeleteAclsFilterResult] = []


@struct
class DeleteAclsFilterResult:
    """What one filter removed."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = ""
    matching_acls: list[DeleteAclsMatchingAcl] = []


@struct
class DeleteAclsMatchingAcl:
    """An ACL that was removed."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = ""
    resource_type: int8 = 0
    resource_name: str = ""
    pattern_type: int8 = 3
    principal: str = ""
    host: str = ""
    operation: int8 = 0
    permission_type: int8 = 0
