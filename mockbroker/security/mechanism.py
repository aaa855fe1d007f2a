"""What a SASL mechanism is to the connection that uses it (Kafka: javax.security.sasl.SaslServer).

`authenticator` makes one for each exchange; `plain`, `scram` and `oauthbearer` are some.
"""

from __future__ import annotations

from typing import Protocol


class SaslError(Exception):
    """The exchange failed; why is not for its client, who might learn who exists."""


class SaslAuthenticationError(SaslError):
    """The exchange failed, and its client is told the message (SaslAuthenticationException).

    `detail` is what the broker's log and journal tell beside it.
    """

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail


def reason_of(error: SaslError) -> str:
    """Why the exchange failed, for the broker's log and journal."""
    detail = error.detail if isinstance(error, SaslAuthenticationError) else None
    return str(error) if detail is None else f"{error}: {detail}"


class SaslBreakOffError(SaslError):
    """What came ends the connection unanswered: Kafka throws what is no SaslException there."""


class Mechanism(Protocol):
    """One exchange. `complete` and `authorization_id` are settled by the last `evaluate`."""

    @property
    def complete(self) -> bool:
        """Whether the client has proved who it is."""

    @property
    def authorization_id(self) -> str:
        """Who that is, once it is complete."""

    @property
    def expires_wall_ms(self) -> int | None:
        """When what it showed expires, in ms since 1970; None: never."""

    @property
    def by_token(self) -> bool:
        """Whether it showed a delegation token instead of a password of its own."""

    @property
    def token(self) -> str | None:
        """What names the token that it showed, and tells nothing of it; None without one."""

    def evaluate(self, token: bytes) -> bytes:
        """The answer to a token of the client; raises SaslError."""
