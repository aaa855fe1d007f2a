"""SCRAM-SHA-256 and -512: a client proves that it knows a password (RFC 5802, RFC 7677).

Four messages: the client's name and nonce; salt, iterations and both nonces; the client's proof;
the server's. Formats are as strict as Kafka's (ScramMessages), which are stricter than the RFC.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import new as new_hash
from hmac import compare_digest
from hmac import digest as hmac_digest
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.scram import HASHES
from mockbroker.security.mechanism import SaslAuthenticationError, SaslBreakOffError, SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.metadata.scram import ScramCredential

LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})"
    rf"(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<unproved>c={_BASE64},r=(?P<nonce>{_NONCE})){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)
_BY_TOKEN: Final = "tokenauth=true"  # noqa: S105 -- a name, no token


class TokenLogin(NamedTuple):
    """What is known of a delegation token: `owner` is a name without a type."""

    owner: str
    expires_wall_ms: int
    credential: ScramCredential


class ScramServer:
    """One exchange. `find` gives the credential of a user, `nonce` a new one.

    `find_token` gives what is known of a delegation token by its id.
    """

    __slots__ = (
        "_credential",
        "_find",
        "_find_token",
        "_first",
        "_hash",
        "_make_nonce",
        "_nonce",
        "authorization_id",
        "by_token",
        "complete",
        "expires_wall_ms",
        "token",
    )

    def __init__(
        self,
        mechanism: str,
        find: Callable[[str], ScramCredential | None],
        nonce: Callable[[], str],
        find_token: Callable[[str], TokenLogin | None],
    ) -> None:
        self._hash = HASHES[mechanism]
        self._find = find
        self._make_nonce = nonce
        self._find_token = find_token
        self._credential: ScramCredential | None = None
        self._first = ""
        self._nonce = ""
        self.complete = False
        self.authorization_id = ""
        self.by_token = False
        self.expires_wall_ms: int | None = None
        self.token: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        """The answer to the client's first message, or to its last."""
        text = token.decode(errors="replace")
        if self._credential is None:
            return self._begin(text).encode()
        return self._end(text, self._credential).encode()

    def _begin(self, text: str) -> str:
        found = _CLIENT_FIRST.fullmatch(text)
        if found is None:
            raise SaslError("Invalid SCRAM client first message format")
        user = found["name"].replace("=2C", ",").replace("=3D", "=")
        if _BY_TOKEN in found["extensions"].split(","):
            token = self._find_token(user)
            if token is None:
                raise SaslError("Token Authentication failed: Invalid tokenId")
            self.by_token = True
            self.token = user
            self.expires_wall_ms = token.expires_wall_ms
            self.authorization_id = token.owner
            credential: ScramCredential | None = token.credential
        else:
            self.authorization_id = user
            credential = self._find(user)
        if credential is None:
            raise SaslError("Authentication failed: Invalid user credentials")
        if found["authzid"] not in (None, user):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self._nonce = found["nonce"] + self._make_nonce()
        salt = b64encode(credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._first = f"{found['bare']},{answer}"
        self._credential = credential
        return answer

    def _end(self, text: str, credential: ScramCredential) -> str:
        found = _CLIENT_FINAL.fullmatch(text)
        if found is None:
            raise SaslError("Invalid SCRAM client final message format")
        if not found["nonce"].endswith(self._nonce):
            raise SaslError("Invalid client nonce in the final client message.")
        message = f"{self._first},{found['unproved']}".encode()
        signature = hmac_digest(credential.stored_key, message, self._hash)
        proof = b64decode(found["proof"])
        if len(proof) != len(signature):  # ScramFormatter.xor throws an IllegalArgumentException
            raise SaslBreakOffError("Invalid client credentials: the proof has another length")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not compare_digest(new_hash(self._hash, client_key).digest(), credential.stored_key):
            raise SaslError("Invalid client credentials")
        self.complete = True
        proved = hmac_digest(credential.server_key, message, self._hash)
        return f"v={b64encode(proved).decode()}"
