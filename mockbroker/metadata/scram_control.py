"""How SCRAM credentials come and go by request (KIP-554; Kafka: ScramControlManager).

`Controller` calls this for AlterUserScramCredentials. Snapshots and scopes bring credentials back
by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.changes import ScramCredentialChanged
from mockbroker.metadata.scram import (
    MAX_ITERATIONS,
    MECHANISMS,
    MIN_ITERATIONS,
    Upsertion,
    credential_of,
)
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.metadata.changes import ScramUser
    from mockbroker.metadata.scram import ScramCredential
    from mockbroker.metadata.store import MetadataStore


def alter_scram_credentials(
    store: MetadataStore, deletions: Sequence[ScramUser], upsertions: Sequence[Upsertion]
) -> dict[str, Refusal]:
    """Carry out what passes; one answer for each user. One that comes twice keeps what it has."""
    answers: dict[str, Refusal] = {}
    changes: dict[str, Upsertion | ScramUser] = {}
    wanted: list[Upsertion | ScramUser] = [*deletions, *upsertions]
    for one in wanted:
        user, mechanism = one[0], one[1]
        if user in changes:
            del changes[user]
            answers[user] = _TWICE
        elif user not in answers:
            problem = _problem(store, user, mechanism, one)
            if problem is None:
                changes[user] = one
            else:
                answers[user] = problem
    if len(changes) > MAX_CHANGES:
        return {**dict.fromkeys(changes, _TOO_MANY), **answers}
    for user, one in changes.items():
        credential = None
        if isinstance(one, Upsertion):
            credential = credential_of(
                MECHANISMS[one.mechanism], one.salted_password, one.salt, one.iterations
            )
        store.apply(ScramCredentialChanged((user, one[1]), credential))
    return {**dict.fromkeys(changes, ACCEPTED), **answers}


def replace_scram_credentials(
    store: MetadataStore, wanted: Mapping[ScramUser, ScramCredential | None]
) -> None:
    """Give these users these credentials, or none; one that is not named keeps what it has."""
    for user, credential in wanted.items():
        if store.scram_credentials.get(user) != credential:
            store.apply(ScramCredentialChanged(user, credential))


MAX_CHANGES: Final = 10_000
"""Kafka's controller commits no more records as one (QuorumController.maxRecordsPerBatch)."""
_TOO_MANY: Final = Refusal(
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "The server experienced an unexpected error when processing the request.",
)
_TWICE: Final = Refusal(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)


def _problem(
    store: MetadataStore, user: str, mechanism: int, one: Upsertion | ScramUser
) -> Refusal | None:
    if not user:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in MECHANISMS:
        return Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if not isinstance(one, Upsertion):
        if (user, mechanism) in store.scram_credentials:
            return None
        told = "Attempt to delete a user credential that does not exist"
        return Refusal(ErrorCode.RESOURCE_NOT_FOUND, told)
    if one.iterations < MIN_ITERATIONS:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if one.iterations > MAX_ITERATIONS:
        return Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return None
