"""What is kept of a password is RFC 7677's, and prints as nothing."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import pbkdf2_hmac

from mockbroker.metadata.scram import Upsertion, credential_of


def test_what_is_kept_of_the_password_of_the_rfc() -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    kept = credential_of("SCRAM-SHA-256", pbkdf2_hmac("sha256", b"pencil", salt, 4096), salt, 4096)
    assert b64encode(kept.stored_key) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert b64encode(kept.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    assert (kept.salt, kept.iterations) == (salt, 4096)


def test_it_prints_as_nothing() -> None:
    one = Upsertion("alice", 1, 4096, b"salt", b"hush")
    shown = repr((one, credential_of("SCRAM-SHA-256", one.salted_password, one.salt, 4096)))
    assert shown == "(Upsertion('alice', [hidden]), ScramCredential([hidden]))"
