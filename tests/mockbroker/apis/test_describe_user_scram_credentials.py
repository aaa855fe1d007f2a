"""Mechanisms and iterations are told, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.scram import Upsertion
from mockbroker.metadata.scram_control import alter_scram_credentials
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.scram import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Sequence

ALICE = DescribeUserScramCredentialsResult(
    "alice", 0, None, [CredentialInfo(1, 4096), CredentialInfo(2, 8192)]
)
BOB = DescribeUserScramCredentialsResult("bob", 0, None, [CredentialInfo(1, 16384)])


def described(users: Sequence[str] | None) -> list[DescribeUserScramCredentialsResult]:
    core = Core()
    for user, mechanism, iterations in (("alice", 2, 8192), ("alice", 1, 4096), ("bob", 1, 16384)):
        one = Upsertion(user, mechanism, iterations, b"salt", b"hash")
        alter_scram_credentials(core.cluster.metadata, [], [one])
    names = None if users is None else [UserName(user) for user in users]
    request = DescribeUserScramCredentialsRequest(names)
    answer = core.client().call(request, 0, DescribeUserScramCredentialsResponse)
    assert (answer.error_code, answer.error_message) == (0, "")
    return answer.results


def test_all_users_where_none_is_named() -> None:
    assert described(None) == described([]) == [ALICE, BOB]


def test_users_by_name() -> None:
    assert described(["bob", "carol", "alice", "alice"]) == [
        BOB,
        DescribeUserScramCredentialsResult(
            "carol",
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to describe a user credential that does not exist: carol",
        ),
        DescribeUserScramCredentialsResult(
            "alice",
            ErrorCode.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request: alice",
        ),
    ]
