"""Delegation tokens as the metadata keep them (KIP-48; Kafka: TokenInformation).

`delegation_token_control` makes, renews and removes them, `security.scram` goes by them. A token is
a login by SCRAM: its id is the user, its HMAC in base64 the password.
"""

from __future__ import annotations

from hmac import digest as hmac_digest
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig

SECRET_KEY: Final = "delegation.token.secret.key"  # noqa: S105 -- the name of a config
_CHECK_INTERVAL: Final = "delegation.token.expiry.check.interval.ms"


class DelegationToken(NamedTuple):
    """Whose it is ("User:alice"), and until when it is good, in ms since 1970; hides its HMAC."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_wall_ms: int
    max_wall_ms: int
    expiry_wall_ms: int
    hmac: bytes

    def __repr__(self) -> str:
        return f"DelegationToken({self.token_id!r}, {self.owner!r}, [hidden])"

    def is_of(self, principal: str) -> bool:
        """Whether the principal owns it, or may renew it: both may change how long it lives."""
        return principal == self.owner or principal in self.renewers

    def is_shown_to(self, principal: str) -> bool:
        """Whether it is told to the principal, who asked for it, owns it or may renew it.

        Source: TokenInformation.ownerOrRenewer.
        """
        return principal == self.requester or self.is_of(principal)

    def is_expired(self, now_wall_ms: int) -> bool:
        """Whether it is good no more; it can be found until it is removed."""
        return min(self.max_wall_ms, self.expiry_wall_ms) < now_wall_ms

    def is_removed(self, config: BrokerConfig, clock: Clock) -> bool:
        """Whether a round has come since it expired (QuorumController.expireDelegationTokens)."""
        interval_ms = config.int(_CHECK_INTERVAL)
        last_round_ms = clock.epoch_ms + int(clock.now_ms) // interval_ms * interval_ms
        return self.is_expired(last_round_ms)


def token_hmac(config: BrokerConfig, token_id: str) -> bytes:
    """What a client proves to know; b"" where there is no secret key."""
    secret = config.text(SECRET_KEY)
    return hmac_digest(secret.encode(), token_id.encode(), "sha512") if secret else b""
