"""PLAIN: a name and a password in one token (RFC 4616; Kafka: PlainSaslServer).

Users are the options `user_NAME="password"` of the listener's JAAS entry
(PlainServerCallbackHandler).
"""

from __future__ import annotations

from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from mockbroker.security.mechanism import SaslAuthenticationError

if TYPE_CHECKING:
    from mockbroker.config.jaas import JaasEntry

LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_USER: Final = "user_"
_TOKENS: Final = 3


class PlainServer:
    """One exchange, which is over after one token."""

    __slots__ = ("_entry", "authorization_id", "complete")

    expires_wall_ms: Final = None
    by_token: Final = False
    token: Final = None

    def __init__(self, entry: JaasEntry | None) -> None:
        self._entry = entry
        self.complete = False
        self.authorization_id = ""

    def evaluate(self, token: bytes) -> bytes:
        """`[authorization id] NUL name NUL password`; the answer is empty."""
        parts = token.decode(errors="replace").split("\0", _TOKENS)
        if len(parts) != _TOKENS:
            raise SaslAuthenticationError(
                f"Invalid SASL/PLAIN response: expected {_TOKENS} tokens, got {len(parts)}"
            )
        authorization_id, name, password = parts
        for what, value in (("username", name), ("password", password)):
            if not value:
                raise SaslAuthenticationError(f"Authentication failed: {what} not specified")
        if not self._is_password(name, password):
            raise SaslAuthenticationError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self.authorization_id = name
        self.complete = True
        return b""

    def _is_password(self, name: str, password: str) -> bool:
        entry = self._entry
        known = None
        if entry is not None and entry.module == LOGIN_MODULE:
            known = entry.options.get(_USER + name)
        # A stranger takes as long as a user: something is compared in both cases.
        is_equal = compare_digest(password.encode(), (known or "\0").encode())
        return known is not None and is_equal
