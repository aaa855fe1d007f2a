"""Users of SCRAM in the cluster's simulation: their credentials come and go, and they log in.

Each broker is held to the credentials that it has heard of: who knows the password that one was
made of is served, nobody else is, and a server proves that it has the credential. Alterations are
answered user by user, and what is acknowledged is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.scram import MECHANISMS
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from simulation.scram_client import ScramClient, salted_password

if TYPE_CHECKING:
    from random import Random

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.store import MetadataStore
    from simulation.cluster.talks import Talk

USERS: Final = ("sally", "sam,a=b")
STRANGER: Final = "stan"
CONFIGURED: Final = "carol", "carol-secret"
"""A user of the listener's JAAS entry, by SCRAM-SHA-256 alone."""
PASSWORDS: Final = ("spring", "summer")
SALTS: Final = (b"one-salt", b"other-salt")
ITERATIONS: Final = 4096
CODES: Final = {name: code for code, name in MECHANISMS.items()}
UNREACHABLE: Final = frozenset((ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER))
DENIED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

SPOILT: Final = ("nonce", "proof", "short", "empty", "final", "first", "identity")
"""What a client may do wrong: another nonce, a proof that is another or too short, a last or a
first message that is none, the name of another.
"""


class ScramLogin(NamedTuple):
    """How a login went."""

    served: bool
    principal: str
    lifetime_ms: int
    wrong: str
    """What the broker did wrong in it; empty: nothing."""


def log_in(
    talk: Talk, mechanism: str, user: str, password: str, *, token: bool = False, spoil: str = ""
) -> ScramLogin:
    """Log in as a client does; `token`: by a delegation token, `spoil`: one of `SPOILT`."""
    client = ScramClient(mechanism, user, password)
    first = client.first(
        "a=somebody" if spoil == "identity" else "", ",tokenauth=true" if token else ""
    )
    chosen = talk.choose(mechanism)
    if chosen is None or chosen.error_code:
        return ScramLogin(False, "", 0, f"{mechanism} is not served: {chosen}")
    answer = talk.token(first[2:] if spoil == "first" else first)
    if answer is None:
        return ScramLogin(talk.is_served(), talk.principal, 0, "")
    last = _spoilt(client.last(bytes(answer.auth_bytes)), spoil)
    proved = talk.token(last)
    if proved is None:
        return ScramLogin(talk.is_served(), talk.principal, 0, "")
    wrong = "" if client.is_server(bytes(proved.auth_bytes)) else "the server proves nothing"
    return ScramLogin(talk.is_served(), talk.principal, proved.session_lifetime_ms, wrong)


def _spoilt(last: bytes, spoil: str) -> bytes:
    head, _, proof = last.rpartition(b",p=")
    if spoil == "nonce":
        return head + b"0,p=" + proof
    if spoil == "proof":
        return head + b",p=" + (b"B" if proof[:1] == b"A" else b"A") + proof[1:]
    if spoil in ("short", "empty"):
        return head + b",p=" + proof[: 8 if spoil == "short" else 0]
    return head if spoil == "final" else last


class ScramUsers:
    """The users that there may be, and what their passwords are."""

    def __init__(self, cluster: Cluster, rng: Random) -> None:
        self._cluster = cluster
        self._rng = rng
        self._passwords: dict[bytes, str] = {}
        """By the salted password."""

    def knows(self, store: MetadataStore, mechanism: str, user: str, password: str) -> bool:
        """Whether a broker with these metadata has to let one in who has this password."""
        known = store.scram_credentials.get((user, CODES[mechanism]))
        if known is None:
            return mechanism == "SCRAM-SHA-256" and (user, password) == CONFIGURED
        return known.salt == _salt_of(password)

    def alter(self, talk: Talk) -> str:
        """Set or remove some; what is wrong with the answer."""
        rng = self._rng
        code, user, password = rng.choice((1, 2)), rng.choice(USERS), rng.choice(PASSWORDS)
        salt = _salt_of(password)
        salted = salted_password(MECHANISMS[code], password, salt, ITERATIONS)
        upsertion = ScramCredentialUpsertion(user, code, ITERATIONS, salt, salted)
        deletion = ScramCredentialDeletion(user, code)
        there = (user, code) in self._cluster.metadata.scram_credentials
        bad, none = ErrorCode.UNACCEPTABLE_CREDENTIAL, ErrorCode.NONE
        mechanism = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        kinds: tuple[tuple[int, AlterUserScramCredentialsRequest], ...] = (
            (none, AlterUserScramCredentialsRequest(upsertions=[upsertion])),
            (none, AlterUserScramCredentialsRequest(upsertions=[upsertion])),
            (
                none if there else ErrorCode.RESOURCE_NOT_FOUND,
                AlterUserScramCredentialsRequest([deletion]),
            ),
            (
                ErrorCode.DUPLICATE_RESOURCE,
                AlterUserScramCredentialsRequest([deletion], [upsertion]),
            ),
            (bad, _of(ScramCredentialUpsertion("", code, ITERATIONS, salt, salted))),
            (bad, _of(ScramCredentialUpsertion(user, code, ITERATIONS - 1, salt, salted))),
            (bad, _of(ScramCredentialUpsertion(user, code, 16_385, salt, salted))),
            (mechanism, _of(ScramCredentialUpsertion(user, 3, ITERATIONS, salt, salted))),
        )
        wanted, request = rng.choice(kinds)
        if wanted == ErrorCode.DUPLICATE_RESOURCE and not there:
            return ""  # it is refused for what is not there, or for coming twice
        before = self._cluster.metadata.scram_credentials.get((user, code))
        answer = talk.ask(request, 0, AlterUserScramCredentialsResponse)
        if answer is None:
            return ""
        errors = {one.error_code for one in answer.results}
        if errors & {DENIED, *UNREACHABLE}:
            return ""
        now = self._cluster.metadata.scram_credentials.get((user, code))
        if errors != {wanted}:
            return f"{request} is answered {errors}, not {wanted}"
        if wanted:
            return "" if now == before else f"{request} is refused, and has changed {user!r}"
        if (now is not None and now.salt == salt) != bool(request.upsertions):
            return f"{request} is acknowledged, and {user!r} has {now and now.salt!r}"
        return ""

    def describe(self, talk: Talk) -> str:
        """Ask for all of them, for some, or for one twice; what is wrong with the answer."""
        known = talk.broker.services.metadata.scram_credentials
        names = self._rng.choice(((), USERS, (USERS[0], STRANGER), (USERS[0], USERS[0])))
        request = DescribeUserScramCredentialsRequest([UserName(name) for name in names])
        answer = talk.ask(request, 0, DescribeUserScramCredentialsResponse)
        if answer is None or answer.error_code == DENIED:
            return ""
        told = {
            one.user: (
                one.error_code,
                {(info.mechanism, info.iterations) for info in one.credential_infos},
            )
            for one in answer.results
        }
        wanted: dict[str, tuple[int, set[tuple[int, int]]]] = {}
        for name in names or {user for user, _ in known}:
            infos = {(code, one.iterations) for (user, code), one in known.items() if user == name}
            if len(set(names)) < len(names):
                wanted[name] = ErrorCode.DUPLICATE_RESOURCE, set()
            else:
                wanted[name] = ErrorCode.NONE if infos else ErrorCode.RESOURCE_NOT_FOUND, infos
        return "" if told == wanted else f"of users is told {told}, not {wanted}"


def _of(upsertion: ScramCredentialUpsertion) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(upsertions=[upsertion])


def _salt_of(password: str) -> bytes:
    """Each password has a salt of its own: so a credential tells of what it was made."""
    return dict(zip(PASSWORDS, SALTS, strict=True)).get(password, b"")
