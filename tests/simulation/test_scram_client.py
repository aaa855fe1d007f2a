"""The client's half of SCRAM says what the example of RFC 7677 has."""

from __future__ import annotations

from simulation.scram_client import ScramClient

NONCE = "rOprNGfwEbeRWgbNEkqO"
BOTH = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def test_an_exchange_is_that_of_the_example() -> None:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert client.first() == f"n,,n=user,r={NONCE}".encode()
    answer = f"r={BOTH},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert client.last(answer) == f"c=biws,r={BOTH},p={proof}".encode()
    assert client.is_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert not client.is_server(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_signs_of_the_format_are_escaped_in_a_name() -> None:
    assert b"n=a=3Db=2Cc,r=" in ScramClient("SCRAM-SHA-512", "a=b,c", "x").first()
