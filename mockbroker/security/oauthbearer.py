"""OAUTHBEARER: a client shows a token that says who it is (RFC 7628; Kafka: OAuthBearerSaslServer).

A token that is not valid is answered with a status in JSON; the client sends a byte 1 then, and
that is where the login fails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker.security.bearer_token import InvalidTokenError, name_of
from mockbroker.security.mechanism import (
    SaslAuthenticationError,
    SaslBreakOffError,
    SaslError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker.security.bearer_token import Token

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH: Final = re.compile(r"(?a)(?P<scheme>\w+)[ ]+(?P<token>[-_~+/.a-zA-Z0-9]+=*)")
_AFTER_AN_ERROR: Final = b"\x01"


class OAuthBearerServer:
    """One exchange. `check` says what a token is, or raises InvalidTokenError.

    `extensions` are the names of those that a client has to send (RFC 7628, 3.1; KIP-342).
    """

    __slots__ = (
        "_check",
        "_extensions",
        "_problem",
        "authorization_id",
        "complete",
        "expires_wall_ms",
        "token",
    )

    by_token: Final = False

    def __init__(self, check: Callable[[str], Token], extensions: Sequence[str] = ()) -> None:
        self._check = check
        self._extensions = extensions
        self._problem: SaslAuthenticationError | None = None
        self.complete = False
        self.authorization_id = ""
        self.expires_wall_ms: int | None = None
        self.token: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        """Nothing for a token that is valid, else what is wrong; fails where it was told that."""
        if token == _AFTER_AN_ERROR and self._problem is not None:
            raise self._problem
        found = _FIRST.fullmatch(token.decode(errors="replace"))
        if found is None:
            raise SaslError("Invalid OAUTHBEARER client first message")
        pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
        shown = _AUTH.fullmatch(pairs.get("auth", ""))
        if shown is None:
            raise SaslError("Invalid OAUTHBEARER client first message: invalid 'auth' format")
        if shown["scheme"].lower() != "bearer":
            # OAuthBearerClientInitialResponse fails while it words its message.
            raise SaslBreakOffError("Invalid scheme in OAUTHBEARER client first message")
        try:
            valid = self._check(shown["token"])
        except InvalidTokenError as error:
            status = "invalid_token" if error.scope is None else "insufficient_scope"
            scope = "" if error.scope is None else f', "scope":"{error.scope}"'
            problem = f'{{"status":"{status}"{scope}}}'
            self._problem = SaslAuthenticationError(problem, str(error))
            return problem.encode()
        if found["authzid"] not in (None, valid.principal):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id "
                f"({found['authzid']}) that is different from the token's principal name "
                f"({valid.principal})"
            )
        self._check_extensions(pairs)
        self.authorization_id = valid.principal
        self.expires_wall_ms = valid.expires_wall_ms
        self.token = name_of(shown["token"])
        self.complete = True
        return b""

    def _check_extensions(self, pairs: Mapping[str, str]) -> None:
        """As where a class of Kafka refuses some (OAuthBearerSaslServer.processExtensions)."""
        missing = [name for name in self._extensions if name not in pairs]
        if missing:
            told = "; ".join(f"{name}: it is required" for name in missing)
            raise SaslAuthenticationError(
                f"Authentication failed: {len(missing)} extensions are invalid! They are: {told}"
            )
