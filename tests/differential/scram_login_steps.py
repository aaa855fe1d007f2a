"""Exchanges of SCRAM with users and tokens that are there, right and wrong ones.

What a client sends last follows from the salt and the nonce that it was told, so it is a function
of the answer before it. `prepare` makes users and tokens, the same in both brokers.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    TokenPrincipal,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from mockbroker_protocol.plan import decode
from simulation.scram_client import HASHES, ScramClient
from tests.differential.login_steps import (
    ALICE,
    ANY,
    METADATA,
    framed,
    handshake,
    request,
    token,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Sent = bytes | Callable[[bytes], bytes]

PASSWORDS: Final = {"carol": "carol-secret", "dave,=": "dave-secret"}
SALT: Final = b"the same salt"
ITERATIONS: Final = 4096
FIRST: Final = re.compile(rb"r=(?P<nonce>[!-+\--~]+),s=(?P<salt>[^,]+),i=(?P<iterations>[0-9]+)")
PROOF: Final = re.compile(rb"v=[a-zA-Z0-9/+=]+")


def asking(version: int, renewer_type: str | None = None) -> bytes:
    """A request for a token; one with a renewer that is no user is told with whom it was."""
    renewers = [] if renewer_type is None else [TokenPrincipal(renewer_type, "x")]
    owner = None if version > 2 else ""
    return request(CreateDelegationTokenRequest(owner, owner, renewers, 86_400_000), version)


class Token(NamedTuple):
    """A delegation token of alice's."""

    id: str
    password: str


def users() -> list[bytes]:
    """Requests that make the users, one mechanism each."""
    return [
        request(
            AlterUserScramCredentialsRequest(
                [],
                [
                    ScramCredentialUpsertion(
                        name,
                        code,
                        ITERATIONS,
                        SALT,
                        hashlib.pbkdf2_hmac(kind, password.encode(), SALT, ITERATIONS),
                    )
                    for name, password in PASSWORDS.items()
                ],
            ),
            0,
        )
        for code, kind in ((1, "sha256"), (2, "sha512"))
    ]


def create_token() -> list[bytes]:
    """Frames, the last of which asks for a token."""
    return [
        handshake(),
        token(ALICE),
        asking(3),
    ]


def created(answer: bytes) -> Token:
    """What the last of `create_token` came to."""
    key: int = CreateDelegationTokenResponse.API_KEY  # type: ignore[attr-defined]
    _, pos = decode_response_header(answer, key, 3)
    told, _ = decode(CreateDelegationTokenResponse, 3, answer, pos)
    assert told.error_code == 0, told
    return Token(told.token_id, base64.b64encode(told.hmac).decode())


def masked(answer: bytes) -> str:
    """An answer without nonces, and without proofs that follow from them."""
    found = FIRST.search(answer)
    if found is not None:
        salt = "the salt" if found["salt"] == base64.b64encode(SALT) else "some salt"
        return f"first with {salt}, {found['iterations']!r}"
    return PROOF.sub(b"v=proof", answer).hex()


TAMPERED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "right": lambda last: last,
    "no proof": lambda last: last.rpartition(b",p=")[0],
    "empty proof": lambda last: last.rpartition(b",p=")[0] + b",p=",
    "short proof": lambda last: last.rpartition(b",p=")[0] + b",p=AAAA",
    "proof of no base64": lambda last: last.rpartition(b",p=")[0] + b",p=!",
    "nonce cut": lambda last: last.replace(b",p=", b"", 1)[:30] + b",p=AAAA",
    "nonce extended": lambda last: last.replace(b",p=", b"x,p="),
    "nonce before": lambda last: last.replace(b",r=", b",r=x"),
    "other binding": lambda last: last.replace(b"c=biws", b"c=eSws"),
    "no binding": lambda last: last.replace(b"c=biws,", b""),
    "extension": lambda last: last.replace(b",p=", b",t=a,p="),
    "behind it": lambda last: last + b",t=a",
    "empty": lambda _: b"",
    "first again": lambda _: b"n,,n=carol,r=abc",
}


def exchange(
    mechanism: str,
    user: str = "carol",
    password: str = "carol-secret",
    *,
    how: str = "right",
    authzid: str = "",
    extensions: str = "",
    bare: bool = False,
) -> list[Sent]:
    """A login, from the handshake on."""
    client = ScramClient(mechanism, user, password)
    # From v1 on the answer tells for how long the token is good.
    version = 0 if "tokenauth=true" in extensions else 2

    def wrapped(data: bytes) -> bytes:
        return framed(data) if bare else token(data, version)

    def last(answer: bytes) -> bytes:
        found = FIRST.search(answer)
        return wrapped(TAMPERED[how](client.last(found.group()) if found else b""))

    begun = handshake(mechanism, 0 if bare else 1)
    return [begun, wrapped(client.first(authzid, extensions)), last]


def scram_exchanges(alices: Token) -> Iterator[tuple[str, list[Sent]]]:
    """Each with its name; `alices` is a token."""
    for mechanism in HASHES:
        for bare in (False, True):
            name = f"{mechanism}{' bare' if bare else ''}"
            for how in TAMPERED:
                yield f"{name}, {how}", [*exchange(mechanism, how=how, bare=bare), ANY]
            for what, sent in _as_whom(mechanism, bare, alices).items():
                yield f"{name}, {what}", [*sent, ANY]
        yield f"{mechanism} and a request", [*exchange(mechanism)[:2], METADATA]
        yield f"{mechanism} and a handshake", [*exchange(mechanism)[:2], handshake(mechanism)]
    yield (
        "the other mechanism's proof",
        [
            handshake("SCRAM-SHA-512"),
            *exchange("SCRAM-SHA-256")[1:],
        ],
    )
    by_token = exchange("SCRAM-SHA-256", *alices, extensions=",tokenauth=true")
    for version in (1, 2, 3):
        yield f"a token by a token, v{version}", [*by_token, asking(version)]
        listed = request(DescribeDelegationTokenRequest(None), version)
        yield f"tokens by a token, v{version}", [*by_token, listed]
        plain = [handshake(), token(ALICE)]
        yield f"a token for a group, v{version}", [*plain, asking(version, "Group")]


def _as_whom(mechanism: str, bare: bool, alices: Token) -> dict[str, list[Sent]]:
    return {
        "wrong": exchange(mechanism, password="x", bare=bare),
        "odd name": exchange(mechanism, "dave,=", "dave-secret", bare=bare),
        "own id": exchange(mechanism, authzid="a=carol", bare=bare),
        "other id": exchange(mechanism, authzid="a=dave", bare=bare),
        "unknown extension": exchange(mechanism, extensions=",e=1", bare=bare),
        "no token": exchange(mechanism, extensions=",tokenauth=true", bare=bare),
        "not by token": exchange(mechanism, extensions=",tokenauth=false", bare=bare),
        "token": exchange(mechanism, *alices, extensions=",tokenauth=true", bare=bare),
        "token as a user": exchange(mechanism, *alices, bare=bare),
        "token, wrong": exchange(
            mechanism, alices.id, "x", extensions=",tokenauth=true", bare=bare
        ),
        "token, own id": exchange(
            mechanism, *alices, authzid="a=alice", extensions=",tokenauth=true", bare=bare
        ),
    }


def scram_renewals() -> Iterator[tuple[str, list[Sent]]]:
    """Within a session that ends."""
    for mechanism in HASHES:
        begun = exchange(mechanism)
        other = exchange(mechanism, "dave,=", "dave-secret")
        yield f"{mechanism} once", [*begun, *exchange(mechanism), ANY]
        yield f"{mechanism} as another", [*begun, *other]
        yield f"{mechanism} wrong", [*begun, *exchange(mechanism, password="x")]
        yield f"{mechanism} of a stranger", [*begun, *exchange(mechanism, "nobody")[:2]]
        yield f"{mechanism} bare", [*begun, *exchange(mechanism, bare=True), ANY]
        yield f"{mechanism} by PLAIN", [*begun, handshake(), token(ALICE)]
        yield f"{mechanism} and a request", [*begun, *exchange(mechanism)[:2], METADATA]
