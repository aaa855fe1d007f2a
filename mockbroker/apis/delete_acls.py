"""DeleteAcls: remove the ACLs that match any filter, each filter answered for itself (KIP-140).

Versions: v2 is flexible, v3 knows the resource type USER. Without an authorizer: error 54.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import AclFilter
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.acls import DeleteAclsRequest


def handle(
    services: Services, ctx: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    if services.authorizer is None:
        disabled = ErrorCode.SECURITY_DISABLED
        return DeleteAclsResponse(
            ctx.throttle_time_ms,
            [
                DeleteAclsFilterResult(disabled, "No Authorizer is configured.")
                for _ in request.filters
            ],
        )
    answers = services.controller.delete_acls(
        [
            AclFilter(
                one.resource_type_filter,
                one.resource_name_filter,
                one.pattern_type_filter,
                one.principal_filter,
                one.host_filter,
                one.operation,
                one.permission_type,
            )
            for one in request.filters
        ]
    )
    return DeleteAclsResponse(
        ctx.throttle_time_ms,
        [
            DeleteAclsFilterResult(
                answer.refusal.error,
                answer.refusal.message,
                [DeleteAclsMatchingAcl(0, None, *acl) for acl in answer.acls],
            )
            for answer in answers
        ],
    )


def guard(auth: AuthHelper, _: DeleteAclsRequest) -> object | None:
    """ALTER on the cluster (Kafka: AclApis.handleDeleteAcls)."""
    refused = auth.require_cluster(AclOperation.ALTER)
    if isinstance(refused, DeleteAclsResponse):
        for result in refused.filter_results:
            result.error_message = "The request is not authorized."
    return refused
