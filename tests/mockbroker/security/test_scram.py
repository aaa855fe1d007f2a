"""SCRAM: RFC 7677's own example, Kafka's formats, and nobody who does not know the password."""

from __future__ import annotations

import base64

import pytest

from mockbroker.metadata.scram import ScramCredential, credential_of
from mockbroker.security.mechanism import SaslAuthenticationError, SaslBreakOffError, SaslError
from mockbroker.security.scram import ScramServer, TokenLogin
from simulation.scram_client import ScramClient, salted_password

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def credential(mechanism: str, password: str, salt: bytes = b"salt") -> ScramCredential:
    salted = salted_password(mechanism, password, salt, 4096)
    return credential_of(mechanism, salted, salt, 4096)


TOKENS = {"id": TokenLogin("alice", 5_000, credential(SHA_256, "hmac"))}


def server(mechanism: str = SHA_256, user: str = "alice", password: str = "secret") -> ScramServer:
    known = {user: credential(mechanism, password)}
    return ScramServer(mechanism, known.get, lambda: "servernonce", TOKENS.get)


def test_the_example_of_the_rfc() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    known = {"user": credential(SHA_256, "pencil", salt)}
    exchange = ScramServer(SHA_256, known.get, lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", TOKENS.get)
    assert exchange.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert exchange.evaluate(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    ) == (b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert (exchange.complete, exchange.authorization_id) == (True, "user")


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
@pytest.mark.parametrize("user", ["alice", "a=b,c"])
def test_a_user_and_the_server_know_each_other(mechanism: str, user: str) -> None:
    exchange, client = server(mechanism, user), ScramClient(mechanism, user, "secret")
    last = client.last(exchange.evaluate(client.first(extensions=",x=y")))
    assert client.is_server(exchange.evaluate(last))
    assert (exchange.complete, exchange.authorization_id) == (True, user)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"hello",
        b"y,,n=alice,r=abc",
        b"p=tls-unique,,n=alice,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=alice,r=",
        b"n,,n=al=ice,r=abc",
        b"n,,n=alice,r=abc,",
        b"n,,n=alice,r=abc,1=x",
        "n,,n=jürgen,r=abc".encode(),
        b"n,,n=bob,r=abc",
        b"n,,n=alice,r=abc,tokenauth=true",
    ],
)
def test_what_does_not_begin_an_exchange(first: bytes) -> None:
    exchange = server()
    with pytest.raises(SaslError) as told:
        exchange.evaluate(first)
    assert not isinstance(told.value, SaslAuthenticationError)
    assert not exchange.complete


def test_nobody_is_somebody_else() -> None:
    with pytest.raises(SaslAuthenticationError, match="different from username"):
        server().evaluate(b"n,a=bob,n=alice,r=abc")
    assert server().evaluate(b"n,a=alice,n=alice,r=abc").startswith(b"r=abcservernonce,s=")


@pytest.mark.parametrize(
    "last",
    [
        b"",
        b"c=biws,r=abcservernonce",
        b"c=biws,r=abcservernonce,p=",
        b"c=biws,r=abcservernonce,p=AAAA",
        b"c=biws,r=abcservernonce,p=AAA",
        b"c=biws,r=abcanother,p=" + base64.b64encode(bytes(32)),
        b"c=biws,r=abcservernonce,p=" + base64.b64encode(bytes(32)),
    ],
)
def test_what_does_not_end_one(last: bytes) -> None:
    exchange = server()
    exchange.evaluate(b"n,,n=alice,r=abc")
    with pytest.raises(SaslError) as told:
        exchange.evaluate(last)
    assert not isinstance(told.value, SaslAuthenticationError)
    assert not exchange.complete


def test_a_wrong_password_proves_nothing() -> None:
    exchange, client = server(), ScramClient(SHA_256, "alice", "Secret")
    last = client.last(exchange.evaluate(client.first()))
    with pytest.raises(SaslError, match="Invalid client credentials"):
        exchange.evaluate(last)
    assert not exchange.complete


@pytest.mark.parametrize("proof", [b"", b"AAAA"])
def test_a_proof_of_another_length_breaks_the_login_off(proof: bytes) -> None:
    exchange = server()
    exchange.evaluate(b"n,,n=alice,r=abc")
    with pytest.raises(SaslBreakOffError):
        exchange.evaluate(b"c=biws,r=abcservernonce,p=" + proof)


def test_extensions_behind_the_nonce_are_not_signed() -> None:
    exchange, client = server(), ScramClient(SHA_256, "alice", "secret")
    last = client.last(exchange.evaluate(client.first()))
    exchange.evaluate(last.replace(b",p=", b",t=a,p="))
    assert exchange.complete


def test_a_token_is_its_owners_login() -> None:
    exchange, client = server(), ScramClient(SHA_256, "id", "hmac")
    answer = exchange.evaluate(client.first(extensions=",tokenauth=true"))
    assert not exchange.complete
    assert client.is_server(exchange.evaluate(client.last(answer)))
    assert (exchange.authorization_id, exchange.by_token) == ("alice", True)
    assert exchange.expires_wall_ms == 5_000


@pytest.mark.parametrize(("user", "extensions"), [("id", ""), ("alice", ",tokenauth=true")])
def test_a_token_is_no_user_and_a_user_no_token(user: str, extensions: str) -> None:
    client = ScramClient(SHA_256, user, "secret")
    with pytest.raises(SaslError, match=r"Invalid (user credentials|tokenId)"):
        server().evaluate(client.first(extensions=extensions))
