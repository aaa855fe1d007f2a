"""DescribeAcls: the ACLs that match a filter (KIP-140).

Versions: v2 is flexible, v3 knows the resource type USER. Without an authorizer: error 54.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import MADE_AT_ONCE
from mockbroker.metadata.acls import AclFilter
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.acls import DescribeAclsRequest


def handle(services: Services, ctx: RequestContext, request: DescribeAclsRequest) -> object:
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DescribeAclsRequest
) -> Generator[None, None, DescribeAclsResponse]:
    if services.authorizer is None:
        return DescribeAclsResponse(
            ctx.throttle_time_ms,
            ErrorCode.SECURITY_DISABLED,
            "No Authorizer is configured on the broker",
        )
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for number, acl in enumerate(services.metadata.acls_near(wanted), 1):
        if not number % MADE_AT_ONCE:
            yield
        if wanted.matches(acl):
            pattern = (acl.resource_type, acl.resource_name, acl.pattern_type)
            resource = resources.setdefault(pattern, DescribeAclsResource(*pattern))
            resource.acls.append(
                AclDescription(acl.principal, acl.host, acl.operation, acl.permission)
            )
    return DescribeAclsResponse(ctx.throttle_time_ms, 0, "", list(resources.values()))


def guard(auth: AuthHelper, _: DescribeAclsRequest) -> object | None:
    """DESCRIBE on the cluster (Kafka: AclApis.handleDescribeAcls)."""
    refused = auth.require_cluster(AclOperation.DESCRIBE)
    if isinstance(refused, DescribeAclsResponse):
        refused.error_message = "The request is not authorized."
    return refused
