"""Describe and alter the SCRAM credentials of users (KIP-554)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int8, int16, int32, message, struct


@message(api_key=50)
class DescribeUserScramCredentialsRequest:
    """Ask for credentials of users; None is every user."""

    users: Annotated[list[UserName] | None, V(nullable=0)] = []


@struct
class UserName:
    """A user to look for."""

    name: str = ""


@message(api_key=50)
class DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations, never the secrets."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    results: list[DescribeUserScramCredentialsResult] = []


@struct
class DescribeUserScramCredentialsResult:
    """The credentials of one user, or the error."""

    user: str = ""
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    credential_infos: list[CredentialInfo] = []


@struct
class CredentialInfo:
    """A mechanism and its iterations."""

    mechanism: int8 = 0
    iterations: int32 = 0


@message(api_key=51)
class AlterUserScramCredentialsRequest:
    """Set and remove credentials."""

    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []


@struct
class ScramCredentialDeletion:
    """A credential to remove."""

    name: str = ""
    mechanism: int8 = 0


@struct
class ScramCredentialUpsertion:
    """A credential to set, as a salted password."""

    name: str = ""
    mechanism: int8 = 0
    iterations: int32 = 0
    salt: bytes = b""
    salted_password: bytes = b""


@message(api_key=51)
class AlterUserScramCredentialsResponse:
    """What became of each user."""

    throttle_time_ms: int32 = 0
    results: list[AlterUserScramCredentialsResult] = []


@struct
class AlterUserScramCredentialsResult:
    """Success or error for one user."""

    user: str = ""
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
