"""Create, renew, expire and describe delegation tokens (KIP-48)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int16, int32, int64, message, struct


@message(api_key=38)
class CreateDelegationTokenRequest:
    """Ask for a token for an owner."""

    owner_principal_type: Annotated[str | None, V(since=3, nullable=3)] = ""
    owner_principal_name: Annotated[str | None, V(since=3, nullable=3)] = ""
    renewers: list[TokenPrincipal] = []
    max_lifetime_ms: int64 = 0


@struct
class TokenPrincipal:
    """An owner or renewer."""

    principal_type: str = ""
    principal_name: str = ""


@message(api_key=38)
class CreateDelegationTokenResponse:
    """The token, its secret and its times."""

    error_code: int16 = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: Annotated[str, V(since=3)] = ""
    token_requester_principal_name: Annotated[str, V(since=3)] = ""
    issue_timestamp_ms: int64 = 0
    expiry_timestamp_ms: int64 = 0
    max_timestamp_ms: int64 = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int32 = 0


@message(api_key=39)
class RenewDelegationTokenRequest:
    """Let a token live longer."""

    hmac: bytes = b""
    renew_period_ms: int64 = 0


@message(api_key=39)
class RenewDelegationTokenResponse:
    """The new expiry."""

    error_code: int16 = 0
    expiry_timestamp_ms: int64 = 0
    throttle_time_ms: int32 = 0


@message(api_key=40)
class ExpireDelegationTokenRequest:
    """Let a token end sooner."""

    hmac: bytes = b""
    expiry_time_period_ms: int64 = 0


@message(api_key=40)
class ExpireDelegationTokenResponse:
    """The new expiry."""

    error_code: int16 = 0
    expiry_timestamp_ms: int64 = 0
    throttle_time_ms: int32 = 0


@message(api_key=41)
class DescribeDelegationTokenRequest:
    """Ask for tokens of owners; None is every owner."""

    owners: Annotated[list[TokenPrincipal] | None, V(nullable=1)] = []


@message(api_key=41)
class DescribeDelegationTokenResponse:
    """The tokens that the caller may see."""

    error_code: int16 = 0
    tokens: list[DescribedDelegationToken] = []
    throttle_time_ms: int32 = 0


@struct
class DescribedDelegationToken:
    """A token, whose it is, and its times."""

    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: Annotated[str, V(since=3)] = ""
    token_requester_principal_name: Annotated[str, V(since=3)] = ""
    issue_timestamp: int64 = 0
    expiry_timestamp: int64 = 0
    max_timestamp: int64 = 0
    token_id: str = ""
    hmac: bytes = b""
    renewers: list[TokenPrincipal] = []
