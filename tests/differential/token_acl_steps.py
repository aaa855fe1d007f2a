"""Who may make, see, renew and end whose delegation tokens, with ACLs (KIP-48, KIP-373).

Each connection is a login: `admin` is a super user, `alice`, `bob`, `carol` and `dave` are users of
SCRAM, and `by token` logs in with the first token that alice made. Nobody is allowed anything that
no ACL allows.
"""

from __future__ import annotations

import base64
import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mockbroker_protocol.messages.acls import (
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
    TokenPrincipal,
)
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from simulation.scram_client import ScramClient
from tests.differential.acl_steps import (
    ALL,
    ALLOW,
    ALTER,
    DENY,
    DESCRIBE,
    LITERAL,
    PREFIXED,
    acl,
    wanted,
)
from tests.differential.steps import ask
from tests.differential.wire import ClosedError, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.steps import Known, Step

DELEGATION_TOKEN, USER = 6, 7
CREATE_TOKENS, DESCRIBE_TOKENS = 13, 14
USERS: Final = ("alice", "bob", "carol", "dave")
EVERYONE: Final = ("admin", *USERS, "by token")
_HOUR_MS: Final = 3_600_000
_MECHANISM: Final = "SCRAM-SHA-256"
_ITERATIONS: Final = 4096
_SCRAM_SHA_256: Final = 1
_LOGINS: Final = 100
"""How often a login is tried: Kafka knows a user or a token a moment after it has answered."""


def user(name: str, kind: str = "User") -> TokenPrincipal:
    return TokenPrincipal(kind, name)


def connect(port: int) -> Callable[[str, Known], Wire]:
    """What opens a connection and logs in as the one it is named by."""

    def opened(name: str, known: Known) -> Wire:
        for _ in range(_LOGINS):
            wire = Wire("127.0.0.1", port)
            try:
                if _logs_in(wire, name, known):
                    return wire
            except ClosedError:
                pass
            wire.close()
        message = f"{name} cannot log in"
        raise AssertionError(message)

    return opened


def _logs_in(wire: Wire, name: str, known: Known) -> bool:
    if name == "admin":
        wire.ask(SaslHandshakeRequest("PLAIN"), 1)
        return bool(_shows(wire, b"\0admin\0admin-secret").error_code == 0)
    wire.ask(SaslHandshakeRequest(_MECHANISM), 1)
    by_token = name == "by token"
    login = known["token 1"] if by_token else (name, f"{name}-secret")
    client = ScramClient(_MECHANISM, *login)
    told = _shows(wire, client.first(extensions=",tokenauth=true" if by_token else ""))
    if told.error_code == 0:
        told = _shows(wire, client.last(bytes(told.auth_bytes)))
    return bool(told.error_code == 0)


def _shows(wire: Wire, data: bytes) -> Any:
    return wire.ask(SaslAuthenticateRequest(data), 2)


def users_steps() -> list[Step]:
    credentials = [
        ScramCredentialUpsertion(
            name,
            _SCRAM_SHA_256,
            _ITERATIONS,
            name.encode(),
            hashlib.pbkdf2_hmac("sha256", f"{name}-secret".encode(), name.encode(), _ITERATIONS),
        )
        for name in USERS
    ]
    request = AlterUserScramCredentialsRequest([], credentials)
    return ask("users", 0, request, connection="admin")


class Tokens:
    """Steps that make tokens and tell how many there are."""

    def __init__(self) -> None:
        self.made = 0
        self.there = 0

    def create(
        self, who: str, owner: str | None, *renewers: TokenPrincipal,
        version: int = 3, kind: str = "User", fails: bool = False,
    ) -> list[Step]:  # fmt: skip
        """Make one, which `token N` names from then on, and wait until the broker has it."""
        request = CreateDelegationTokenRequest(
            kind if owner else "", owner or "", list(renewers), 24 * _HOUR_MS
        )
        title = f"{who} makes a token of {owner or 'their own'}"
        if fails:
            return ask(title, version, request, connection=who)
        self.made += 1
        self.there += 1
        name = f"token {self.made}"

        def learn(known: Known, answer: Any) -> None:
            if answer.error_code == 0:
                known[name] = (answer.token_id, base64.b64encode(answer.hmac).decode())
                known[f"hmac of {name}"] = bytes(answer.hmac)

        made = ask(title, version, request, connection=who, learn=learn)
        return [*made, *self.are_there()]

    def are_there(self) -> list[Step]:
        count = self.there
        return ask(
            f"{count} tokens", 3, DescribeDelegationTokenRequest(None),
            connection="admin", until=lambda answer: len(answer.tokens) == count,
        )  # fmt: skip

    def end(self, who: str, number: int, *, fails: bool = False) -> list[Step]:
        self.there -= not fails
        return [*expire(who, number, -1), *self.are_there()]


def renew(who: str, number: int, period_ms: int = _HOUR_MS, version: int = 2) -> list[Step]:
    return ask(
        f"{who} renews token {number} by {period_ms}", version,
        lambda known: RenewDelegationTokenRequest(known[f"hmac of token {number}"], period_ms),
        connection=who,
    )  # fmt: skip


def expire(who: str, number: int, period_ms: int = _HOUR_MS, version: int = 2) -> list[Step]:
    return ask(
        f"{who} ends token {number} by {period_ms}", version,
        lambda known: ExpireDelegationTokenRequest(known[f"hmac of token {number}"], period_ms),
        connection=who,
    )  # fmt: skip


def described(*who: str) -> list[Step]:
    """What each sees of all, of their own, of alice's and bob's, and of nobody's."""
    steps = []
    for name in who or EVERYONE:
        filters: dict[str, list[TokenPrincipal] | None] = {
            "all": None,
            "nobody's": [],
            "alice's": [user("alice")],
            "their own": [user(name)],
            "alice's and bob's": [user("bob"), user("alice"), user("bob")],
            "a group's": [user("alice", "Group")],
        }
        for what, owners in filters.items():
            request = DescribeDelegationTokenRequest(owners)
            versions = (1, 2, 3) if what == "all" else 3
            steps += ask(f"{name} sees {what}", versions, request, connection=name)
    return steps


def for_each_user(of: Callable[[str], list[Step]]) -> list[Step]:
    return [step for name in EVERYONE for step in of(name)]


def allow(
    kind: int, name: str | Callable[[Known], str], operation: int, who: str,
    permission: int = ALLOW, *, pattern: int = LITERAL, host: str = "*",
) -> list[Step]:  # fmt: skip
    """Create an ACL, and wait until the broker's authorizer knows it."""

    def made(known: Known) -> Any:
        named = name if isinstance(name, str) else name(known)
        return acl(
            kind, named, operation, permission, pattern=pattern, principal=f"User:{who}", host=host
        )

    def exactly(known: Known) -> DescribeAclsRequest:
        one = made(known)
        return DescribeAclsRequest(*wanted(
            kind, one.resource_name, operation, pattern=pattern, permission=permission,
            principal=one.principal, host=host,
        ))  # fmt: skip

    return [
        *ask("CreateAcls", 3, lambda known: CreateAclsRequest([made(known)]), connection="admin"),
        *ask(
            "see an ACL", 3, exactly, connection="admin", compared=False,
            until=lambda answer: answer.resources != [],
        ),
    ]  # fmt: skip


def no_acls() -> list[Step]:
    every = wanted()
    deletion = DeleteAclsRequest([DeleteAclsFilter(*every)])
    return [
        *ask(
            "DeleteAcls", 3, deletion, connection="admin", compared=False,
            until=lambda answer: answer.filter_results[0].error_code == 0,
        ),
        *ask(
            "see no ACL", 3, DescribeAclsRequest(*every), connection="admin",
            until=lambda answer: answer.resources == [],
        ),
    ]  # fmt: skip


def token_acl_steps() -> list[Step]:
    tokens = Tokens()
    return [
        *users_steps(),
        *_without_acls(tokens),
        *_of_owners(tokens),
        *_of_descriptions(),
        *_of_one_token(),
        *_of_times(tokens),
    ]


def _without_acls(tokens: Tokens) -> list[Step]:
    """One's own token is anyone's right; another's only a super user's."""
    steps = [
        *tokens.create("alice", None, user("bob")),
        *tokens.create("alice", "alice", version=3),
        *tokens.create("bob", None, version=1),
        *tokens.create("bob", None, user("carol"), user("dave"), user("carol"), version=2),
        *tokens.create("admin", "alice"),
        *tokens.create("admin", "nobody", user("bob")),
        *tokens.create("alice", "bob", fails=True),
        *tokens.create("alice", "alice", kind="Group", fails=True),
        *tokens.create("admin", "alice", user("x", "Group"), fails=True),
        *tokens.create("alice", "bob", user("x", "Group"), fails=True),
        *tokens.create("by token", None, fails=True),
        *tokens.create("by token", "bob", fails=True),
        *described(),
    ]
    for number in range(1, tokens.made + 1):
        steps += for_each_user(partial(renew, number=number))
        steps += for_each_user(partial(expire, number=number))
    return steps


def _of_owners(tokens: Tokens) -> list[Step]:
    """CREATE_TOKENS on a user, literally, by prefix and for all; denied, and by other ACLs."""

    def tried() -> list[Step]:
        return [
            step
            for owner in ("alice", "bob", "bobby", "dave")
            for step in tokens.create("carol", owner, fails=True)
        ]

    given: list[tuple[str, int, dict[str, Any]]] = [
        ("User:alice", DESCRIBE_TOKENS, {}),
        ("User:alice", DESCRIBE, {}),
        ("alice", CREATE_TOKENS, {}),
        ("User:alice", CREATE_TOKENS, {"host": "10.0.0.1"}),
        ("User:", CREATE_TOKENS, {}),
    ]
    steps = []
    for name, operation, how in given:
        steps += [*allow(USER, name, operation, "carol", **how), *tried(), *no_acls()]
    steps += [
        *allow(USER, "User:bob", CREATE_TOKENS, "carol"),
        *tokens.create("carol", "alice", fails=True),
        *tokens.create("carol", "bobby", fails=True),
        *tokens.create("dave", "bob", fails=True),
        *tokens.create("carol", "bob", user("dave")),
        *described(),
        *no_acls(),
        # It is bob's, whoever asked for it.
        *described("carol"),
        *renew("carol", tokens.made),
        *renew("bob", tokens.made),
        *renew("dave", tokens.made),
        *allow(USER, "User:bob", CREATE_TOKENS, "carol", pattern=PREFIXED),
        *tokens.create("carol", "alice", fails=True),
        *tokens.create("carol", "bobby"),
        *allow(USER, "User:bobby", CREATE_TOKENS, "carol", DENY),
        *tokens.create("carol", "bobby", fails=True),
        *tokens.create("carol", "bob"),
        *no_acls(),
        *allow(USER, "*", CREATE_TOKENS, "carol"),
        *tokens.create("carol", "dave"),
        *tokens.create("carol", "dave", kind="Group"),
        *allow(USER, "User:dave", ALL, "*", DENY),
        *tokens.create("carol", "dave", fails=True),
        *tokens.create("admin", "dave"),
        *tokens.create("dave", None),
        *no_acls(),
        *allow(USER, "User:alice", ALL, "*"),
        *tokens.create("bob", "alice"),
        *tokens.create("by token", "alice", fails=True),
        *described(),
        *no_acls(),
    ]
    return steps


def _of_descriptions() -> list[Step]:
    """DESCRIBE_TOKENS on a user: all that is theirs, and nothing else of them."""
    given: list[tuple[int, str, int, int, dict[str, Any]]] = [
        (USER, "User:alice", DESCRIBE_TOKENS, ALLOW, {}),
        (USER, "User:alice", CREATE_TOKENS, ALLOW, {}),
        (USER, "User:alice", DESCRIBE, ALLOW, {}),
        (USER, "User:a", DESCRIBE_TOKENS, ALLOW, {"pattern": PREFIXED}),
        (USER, "*", DESCRIBE_TOKENS, ALLOW, {}),
        (USER, "*", ALL, ALLOW, {}),
        (DELEGATION_TOKEN, "*", DESCRIBE, ALLOW, {}),
        (DELEGATION_TOKEN, "*", ALTER, ALLOW, {}),
        (DELEGATION_TOKEN, "*", DESCRIBE_TOKENS, ALLOW, {}),
        (DELEGATION_TOKEN, "*", ALL, ALLOW, {}),
    ]
    steps = []
    for kind, name, operation, permission, how in given:
        steps += allow(kind, name, operation, "dave", permission, **how)
        steps += [*described("dave"), *renew("dave", 2), *expire("dave", 2)]
        steps += [*allow(kind, name, operation, "*", DENY, **how), *described(), *no_acls()]
    return steps


def _of_one_token() -> list[Step]:
    """An ACL about a token by its id."""

    def first(known: Known) -> str:
        return str(known["token 1"][0])

    def start(known: Known) -> str:
        return first(known)[:8]

    return [
        *allow(DELEGATION_TOKEN, first, DESCRIBE, "carol"),
        *described("carol", "dave"),
        *renew("carol", 1),
        *allow(USER, "User:alice", DESCRIBE_TOKENS, "carol", DENY),
        *described("carol"),
        *allow(DELEGATION_TOKEN, first, DESCRIBE, "carol", DENY),
        *described("carol"),
        *no_acls(),
        *allow(DELEGATION_TOKEN, start, DESCRIBE, "carol", pattern=PREFIXED),
        *described("carol", "dave"),
        # Whoever owns it or may renew it sees it, whatever is denied.
        *allow(DELEGATION_TOKEN, first, ALL, "*", DENY),
        *described(),
        *renew("bob", 1),
        *no_acls(),
    ]


def _of_times(tokens: Tokens) -> list[Step]:
    """Renewal and expiry with odd periods, by those who may and those who may not."""
    steps = []
    for period_ms in (-1, 0, 600_000, 48 * _HOUR_MS, 2**62):
        for who in ("alice", "bob", "dave"):
            steps += renew(who, 1, period_ms, version=1)
        if period_ms > 0:
            steps += expire("bob", 1, period_ms + 100_000, version=1)
    unknown = RenewDelegationTokenRequest(b"unknown", 1), ExpireDelegationTokenRequest(b"", 1)
    for request in unknown:
        steps += ask("a token that is not there", (1, 2), request, connection="alice")
    return [
        *steps,
        *tokens.end("dave", 4),
        *tokens.end("carol", 5, fails=True),
        *tokens.end("admin", 5, fails=True),
        *tokens.end("alice", 5),
        *renew("alice", 5),
        *described("alice", "bob", "dave"),
    ]
