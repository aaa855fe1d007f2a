"""What a bearer token says, and why it may not be valid; `unsecured_jws`, `signed_jws` read some.

Reasons are for the broker's log and journal: a client is told none. They quote no signature.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from hashlib import sha256
from json import loads
from typing import Final, NamedTuple

Claims = dict[str, object]
_QUOTED: Final = 80


class InvalidTokenError(Exception):
    """Why a token is not valid; `scope` is what it should have had, if that is why."""

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.scope = scope


class MissingKeyError(InvalidTokenError):
    """A token names a key that is not there: there may be newer ones."""


class Token(NamedTuple):
    """A token that is valid: whose it is, and until when, in ms since 1970."""

    principal: str
    expires_wall_ms: int


def name_of(text: str) -> str:
    """What names a token, in memory and for comparisons, without being of use to who reads it."""
    return sha256(text.encode()).hexdigest()


def decoded(part: str) -> bytes:
    """The bytes of one value, of either alphabet of Base64, padded or not."""
    plain = part.translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (Base64Error, ValueError):
        raise InvalidTokenError("It is malformed") from None


def object_of(part: str, *, unique: bool = False) -> Claims:
    """The JSON object that is one value; `unique`: no name may be there twice."""
    try:
        found = loads(decoded(part), object_pairs_hook=_unique if unique else None)
    except (ValueError, RecursionError):
        raise InvalidTokenError("It is malformed") from None
    if not isinstance(found, dict):
        raise InvalidTokenError("It is malformed")
    return found


def _unique(pairs: list[tuple[str, object]]) -> Claims:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidTokenError("It has a name twice")
    return found


def check_scope(scope: set[str], required: str) -> None:
    """See that a token has each of the scopes in a text with blanks between them."""
    wanted = [one for one in required.split(" ") if one]
    for one in wanted:
        if one not in scope:
            raise InvalidTokenError(f"The scope {one} is missing", f"[{', '.join(wanted)}]")


def quoted(value: object) -> str:
    """What a token says, short enough for a line of a log."""
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
