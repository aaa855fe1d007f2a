"""Exchanges with a listener that wants a login, frame by frame: right ones and wrong ones.

An exchange is what one connection sends. None has a nonce of the server in its answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.registry import Registry
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.acls import DescribeAclsRequest
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from mockbroker_protocol.plan import encode
from tests.support.hostile import seeds
from tests.support.logins import bearer, bearer_token, encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_REQUESTS: Final = {(ApiKey.DESCRIBE_ACLS, version) for version in (1, 2, 3)}
"""Which cannot be read with the values that fields have unless they are told."""
LONG_AGO: Final = 1_000_000_000
FAR: Final = 4_000_000_000


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def request(message: object, version: int) -> bytes:
    key: int = message.API_KEY  # type: ignore[attr-defined]
    header = encode_request_header(key, version, 1, "probe")
    return framed(header + b"".join(encode(message, version)))


def bare(key: int, version: int, body: bytes = b"") -> bytes:
    return framed(encode_request_header(key, version, 1, "probe") + body)


def handshake(mechanism: str = "PLAIN", version: int = 1) -> bytes:
    return request(SaslHandshakeRequest(mechanism), version)


def token(data: bytes, version: int = 2) -> bytes:
    return request(SaslAuthenticateRequest(data), version)


ALICE: Final = b"\0alice\0alice-secret"
ADMIN: Final = b"\0admin\0admin-secret"
ANY: Final = request(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 1)
"""What is answered alike by both, once it is served."""
VERSIONS: Final = request(ApiVersionsRequest(), 0)
NEWER: Final = request(ApiVersionsRequest("probe", "1"), 3)
INVALID: Final = request(ApiVersionsRequest("", ""), 3)
METADATA: Final = request(MetadataRequest(), 1)


def exchanges() -> Iterator[tuple[str, list[bytes]]]:
    """Each with its name."""
    yield from _orders()
    for name, data in _plain().items():
        yield f"PLAIN {name}", [handshake(), token(data), ANY]
        yield f"PLAIN v0 {name}", [handshake(), token(data, 0), ANY]
        yield f"PLAIN bare {name}", [handshake(version=0), framed(data), ANY]
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        for name, data in _scram().items():
            yield f"{mechanism} {name}", [handshake(mechanism), token(data), ANY]
            yield f"{mechanism} bare {name}", [handshake(mechanism, 0), framed(data)]
    for name, shown in _tokens().items():
        sent = [bearer(shown), b"\x01"]
        yield f"token {name}", [handshake("OAUTHBEARER"), *(token(one, 0) for one in sent)]
        yield f"token bare {name}", [handshake("OAUTHBEARER", 0), *map(framed, sent)]
    for name, data in _bearers().items():
        yield f"bearer {name}", [handshake("OAUTHBEARER"), token(data, 0), ANY]
        yield f"bearer bare {name}", [handshake("OAUTHBEARER", 0), framed(data), ANY]
    expired = bearer(bearer_token("alice", LONG_AGO - 9, LONG_AGO))
    right = bearer(bearer_token("alice", LONG_AGO, FAR))
    for name, data in (("a right one", right), ("a request", b""), ("it again", expired)):
        behind = token(data, 0) if data else METADATA
        yield (
            f"{name} behind an expired one",
            [handshake("OAUTHBEARER"), token(expired, 2), behind, ANY],
        )


def renewals() -> Iterator[tuple[str, list[bytes]]]:
    """Within a session that ends."""
    begun = [handshake(), token(ALICE)]
    yield "once", [*begun, handshake(), token(ALICE), ANY]
    yield "twice", [*begun, handshake(), token(ALICE), handshake(), ANY]
    yield "as another", [*begun, handshake(), token(ADMIN), ANY]
    yield "with a wrong password", [*begun, handshake(), token(b"\0alice\0x"), ANY]
    yield "with another mechanism", [*begun, handshake("SCRAM-SHA-256"), token(ALICE)]
    yield "with none that is known", [*begun, handshake("NONE")]
    yield "with bare tokens", [*begun, handshake(version=0), framed(ALICE), ANY]
    yield "as another, bare", [*begun, handshake(version=0), framed(ADMIN), ANY]
    yield "and another request", [*begun, handshake(), METADATA]
    yield "and versions", [*begun, handshake(), VERSIONS]


def others() -> Iterator[tuple[str, list[bytes]]]:
    """A request of each API and version in place of a token."""
    registry = Registry("4.4")
    for data in seeds():
        key, version = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big")
        api = registry.get(key)
        known = api is not None and api.min_version <= version <= api.max_version
        if known and (key, version) not in NO_REQUESTS and key != ApiKey.SASL_AUTHENTICATE:
            yield f"{ApiKey(key).name} v{version} for a token", [handshake(), framed(data)]


def _orders() -> Iterator[tuple[str, list[bytes]]]:
    yield "versions first", [NEWER, handshake(), token(ALICE, 1), ANY]
    yield "versions twice", [VERSIONS, VERSIONS]
    yield "invalid versions first", [INVALID, INVALID, NEWER, handshake(), token(ALICE)]
    yield "versions of the future", [bare(18, 9, b"\0"), handshake(), token(ALICE)]
    yield "no login", [METADATA]
    yield "no login after versions", [VERSIONS, METADATA]
    yield "no handshake", [token(ALICE)]
    yield "no Kafka", [framed(b"\x60\x01\x02")]
    yield "no API", [bare(999, 0)]
    yield "no such handshake", [bare(17, 9, b"\0\x05PLAIN")]
    for name in ("GSSAPI", "plain", ""):
        for version in (0, 1):
            yield f"mechanism {name!r} v{version}", [handshake(name, version), ANY]
    yield "another request", [handshake(), METADATA]
    yield "half a request", [handshake(), framed(METADATA[4:-2])]
    for version in (0, 1, 2, 3, 4):
        asked = request(ApiVersionsRequest("probe", "1"), version)
        yield f"versions v{version} too late", [handshake(), asked]
    yield "handshake twice", [handshake(), handshake()]
    yield "handshake twice, bare", [handshake(), handshake(version=0)]
    yield "no such token", [handshake(), bare(36, 9, bytes(4))]
    yield "a byte", [handshake(), framed(b"\1")]
    yield "too large", [handshake(), (524_289).to_bytes(4, "big") + bytes(1000)]
    yield "too large at first", [(524_289).to_bytes(4, "big") + bytes(1000)]
    yield "handshake after all", [handshake(), token(ALICE), handshake(), handshake("X", 0), ANY]
    yield "tokens after all", [handshake(), token(ALICE), token(ALICE), token(b"", 0), ANY]
    yield "versions after all", [handshake(), token(ALICE), INVALID, ANY]


def _plain() -> dict[str, bytes]:
    return {
        "right": ALICE,
        "wrong": b"\0alice\0x",
        "stranger": b"\0bob\0x",
        "empty": b"",
        "no name": b"\0\0x",
        "no password": b"\0alice\0",
        "1 part": b"alice",
        "2 parts": b"a\0b",
        "4 parts": b"a\0b\0c\0d",
        "5 parts": b"a\0b\0c\0d\0e",
        "own id": b"alice" + ALICE,
        "other id": b"bob" + ALICE,
        "other id, wrong": b"bob\0alice\0x",
        "no text": b"\0\xff\0\xfe",
        "space": b"\0alice \0alice-secret",
    }


def _scram() -> dict[str, bytes]:
    return {
        "stranger": b"n,,n=bob,r=abc",
        "stranger with an id": b"n,a=x,n=bob,r=abc",
        "token": b"n,,n=bob,r=abc,tokenauth=true",
        "no message": b"hello",
        "empty": b"",
        "bound": b"p=tls-unique,,n=bob,r=abc",
        "bad name": b"n,,n=b=ob,r=abc",
        "bad extension": b"n,,n=bob,r=abc,1=2",
        "last first": b"c=biws,r=abc,p=AAAA",
    }


def _tokens() -> dict[str, str]:
    claims = {"sub": "alice", "iat": LONG_AGO, "exp": FAR}
    none = {"alg": "none"}
    return {
        "expired": bearer_token("alice", LONG_AGO - 9, LONG_AGO),
        "future": bearer_token("alice", FAR - 9, FAR),
        "reversed": bearer_token("alice", LONG_AGO, LONG_AGO - 9),
        "no subject": encoded(none, {**claims, "sub": ""}),
        "number": encoded(none, {**claims, "sub": 7}),
        "null": encoded(none, {"exp": FAR}),
        "no expiry": encoded(none, {"sub": "alice"}),
        "text as expiry": encoded(none, {**claims, "exp": "x"}),
        "text as issue": encoded(none, {**claims, "iat": "x"}),
        "signed": encoded(none, claims) + "c2ln",
        "another algorithm": encoded({"alg": "RS256"}, claims),
        "no token": "abc",
        "no token of 3": "abc.def.ghi",
        "2 parts": "e30.e30",
        "4 parts": "e30.e30.e30.e30",
        "dots": "e30..e30",
    }


def _bearers() -> dict[str, bytes]:
    right = bearer_token("alice", LONG_AGO, FAR)
    return {
        "right": bearer(right),
        "own id": bearer(right, "a=alice"),
        "other id": bearer(right, "a=bob"),
        "bad id": bearer(right, "alice"),
        "extension": bearer(right, extensions="traceId=123\x01"),
        "extensions": bearer(right, extensions="traceId=123\x01cluster=a b\x01"),
        "bad extension": bearer(right, extensions="trace-id=123\x01"),
        "extension auth": bearer(right, extensions="auth=Bearer x\x01"),
        "lower case": bearer(right).replace(b"Bearer", b"bearer"),
        "basic": bearer(right).replace(b"Bearer", b"Basic"),
        "no auth": b"n,,\x01host=a\x01\x01",
        "nothing": b"n,,\x01\x01",
        "empty": b"",
        "a byte": b"\x01",
        "bound": bearer(right).replace(b"n,,", b"y,,", 1),
        "cut": bearer(right)[:-1],
        "two spaces": bearer(right).replace(b"Bearer ", b"Bearer  "),
    }
