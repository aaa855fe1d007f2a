"""CreateAcls: add ACLs, each answered for itself (KIP-140).

Versions: v2 is flexible, v3 knows the resource type USER. Without an authorizer: error 54.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import Acl, is_binding
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import AclCreationResult, CreateAclsResponse

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.acls import CreateAclsRequest


def handle(
    services: Services, ctx: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse:
    if services.authorizer is None:
        disabled = ErrorCode.SECURITY_DISABLED
        return CreateAclsResponse(
            ctx.throttle_time_ms,
            [
                AclCreationResult(disabled, "No Authorizer is configured.")
                for _ in request.creations
            ],
        )
    acls = [
        Acl(
            one.resource_type,
            one.resource_name,
            one.resource_pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        for one in request.creations
    ]
    if not all(is_binding(acl) for acl in acls):
        # Apache Kafka stumbles over a code that means many things or none, and says so.
        stumbled = ErrorCode.UNKNOWN_SERVER_ERROR
        return CreateAclsResponse(
            ctx.throttle_time_ms, [AclCreationResult(stumbled, None) for _ in acls]
        )
    answers = services.controller.create_acls(acls)
    return CreateAclsResponse(
        ctx.throttle_time_ms,
        [AclCreationResult(answer.error, answer.message or "") for answer in answers],
    )


def guard(auth: AuthHelper, _: CreateAclsRequest) -> object | None:
    """ALTER on the cluster (Kafka: AclApis.handleCreateAcls)."""
    refused = auth.require_cluster(AclOperation.ALTER)
    if isinstance(refused, CreateAclsResponse):
        for created in refused.results:
            created.error_message = "The request is not authorized."
    return refused
