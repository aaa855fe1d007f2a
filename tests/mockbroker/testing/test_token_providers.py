"""What is read of a token, and where it is kept for who reads it from a file."""

from __future__ import annotations

from pathlib import Path

from mockbroker.testing import token_providers

TOKEN = "e30.eyJzdWIiOiJhbGljZSIsImV4cCI6MTd9.c2ln"


def test_claims_are_read_whoever_signed_them() -> None:
    assert token_providers.claims_of(TOKEN) == {"sub": "alice", "exp": 17}
    assert not token_providers.is_unsecured(TOKEN)
    assert token_providers.is_unsecured("e30.e30.")


def test_one_is_made_when_it_is_wanted() -> None:
    assert token_providers.made(TOKEN) == token_providers.made(lambda: TOKEN) == TOKEN
    assert Path(token_providers.in_file(lambda: TOKEN)).read_text("ascii") == TOKEN
