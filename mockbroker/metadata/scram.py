"""SCRAM credentials of users as the metadata keep them (KIP-554, RFC 5802).

`scram_control` sets and removes them, `security.scram` goes by them. A password is never here: what
is kept proves that a client knows it.
"""

from __future__ import annotations

from hashlib import new as new_hash
from hmac import digest as hmac_digest
from typing import Final, NamedTuple

MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""By Kafka's codes (ScramMechanism.type)."""
HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384


class ScramCredential(NamedTuple):
    """What is known of a password; prints as nothing."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential([hidden])"


class Upsertion(NamedTuple):
    """A credential to be set, by the hash of the password that its client made."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.user!r}, [hidden])"


def credential_of(
    mechanism: str, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """What is kept of a salted password (RFC 5802)."""
    name = HASHES[mechanism]
    client_key = hmac_digest(salted_password, b"Client Key", name)
    stored_key = new_hash(name, client_key).digest()
    server_key = hmac_digest(salted_password, b"Server Key", name)
    return ScramCredential(salt, stored_key, server_key, iterations)
