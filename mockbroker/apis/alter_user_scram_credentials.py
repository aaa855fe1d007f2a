"""AlterUserScramCredentials: set and remove what proves that a client knows a password (KIP-554).

Versions: v0. Each user is answered for itself. What came in is a hash of the password.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.scram import Upsertion
from mockbroker.metadata.scram_control import alter_scram_credentials
from mockbroker.metadata.topic_requests import UNREACHABLE
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.scram import AlterUserScramCredentialsRequest


def handle(
    services: Services, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    deletions = [(one.name, one.mechanism) for one in request.deletions]
    upsertions = [
        Upsertion(one.name, one.mechanism, one.iterations, one.salt, one.salted_password)
        for one in request.upsertions
    ]
    users = [one.name for one in request.deletions] + [one.name for one in request.upsertions]
    answers = services.controller.carry_out(
        partial(alter_scram_credentials, deletions=deletions, upsertions=upsertions),
        dict.fromkeys(users, UNREACHABLE),
    )
    return AlterUserScramCredentialsResponse(
        ctx.throttle_time_ms,
        [
            AlterUserScramCredentialsResult(user, answer.error, answer.message)
            for user, answer in answers.items()
        ],
    )


def guard(auth: AuthHelper, request: AlterUserScramCredentialsRequest) -> object | None:
    """ALTER on the cluster; else each user has the error (Kafka: getErrorResponse)."""
    if auth.authorize_cluster(AclOperation.ALTER):
        return None
    users = dict.fromkeys(one.name for one in request.deletions)
    users.update(dict.fromkeys(one.name for one in request.upsertions))
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return AlterUserScramCredentialsResponse(
        auth.ctx.throttle_time_ms,
        [
            AlterUserScramCredentialsResult(user, refused, "Request needs ALTER permission.")
            for user in users
        ],
    )
