"""DescribeUserScramCredentials: mechanisms and iterations of users, never more (KIP-554).

Versions: v0. Without users all are told; a user that is named twice is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.scram import MECHANISMS
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.scram import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.changes import ScramUser
    from mockbroker.metadata.scram import ScramCredential
    from mockbroker_protocol.messages.scram import DescribeUserScramCredentialsRequest


def guard(auth: AuthHelper, request: DescribeUserScramCredentialsRequest) -> object | None:
    """DESCRIBE on the cluster; else each user that is named is refused, and not told."""

    def tell(refused: DescribeUserScramCredentialsResponse, _: AuthHelper) -> None:
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        refused.error_message = None
        refused.results = [
            DescribeUserScramCredentialsResult("", error, None) for _ in request.users or ()
        ]

    return auth.require_cluster(AclOperation.DESCRIBE, tell)


def handle(
    services: Services, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> object:
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> Generator[None, None, DescribeUserScramCredentialsResponse]:
    credentials = dict(services.metadata.scram_credentials)
    counts: dict[str, int] = {}
    for one in request.users or ():
        counts[one.name] = counts.get(one.name, 0) + 1
    if not counts:
        counts = {user: 1 for user, _ in credentials}
    results = yield from in_slices(
        _result(credentials, user, twice=count > 1) for user, count in counts.items()
    )
    return DescribeUserScramCredentialsResponse(ctx.throttle_time_ms, 0, "", results)


def _result(
    credentials: Mapping[ScramUser, ScramCredential], user: str, *, twice: bool
) -> DescribeUserScramCredentialsResult:
    if twice:
        return DescribeUserScramCredentialsResult(
            user,
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request: "
            f"{user}",
        )
    infos = [
        CredentialInfo(code, credentials[user, code].iterations)
        for code in MECHANISMS
        if (user, code) in credentials
    ]
    if infos:
        return DescribeUserScramCredentialsResult(user, 0, None, infos)
    return DescribeUserScramCredentialsResult(
        user,
        ErrorCode.RESOURCE_NOT_FOUND,
        f"Attempt to describe a user credential that does not exist: {user}",
    )
