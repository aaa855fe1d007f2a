"""Delegation tokens in the cluster's simulation (KIP-48): who gets one, and who logs in with it.

A user who has logged in makes tokens, for itself or to be renewed by another, lets them live longer
and end. What is answered follows from who asks and what that broker's controller knows; who logs in
with a token is its owner, for as long as it is good, and gets no token of its own.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)
from simulation.cluster.plan import TOKEN_ROUNDS_MS

if TYPE_CHECKING:
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.node.broker import Broker
    from simulation.cluster.talks import Talk

LIFETIMES_MS: Final = (200, 1_000, 60_000)
LATE: Final = ErrorCode.REQUEST_TIMED_OUT
NOT_ALLOWED: Final = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
MISMATCH: Final = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
EXPIRED: Final = ErrorCode.DELEGATION_TOKEN_EXPIRED
NOT_FOUND: Final = ErrorCode.DELEGATION_TOKEN_NOT_FOUND


class Made(NamedTuple):
    """A token that was told to who made it."""

    token_id: str
    hmac: bytes
    owner: str
    renewers: tuple[str, ...]

    @property
    def password(self) -> str:
        """What a client logs in with."""
        return b64encode(self.hmac).decode()


class DelegationTokens:
    """Those that were made in a run. What asks gives what is wrong with the answer; empty: nothing.

    Everything is asked as `principal`, who has logged in.
    """

    def __init__(self, cluster: Cluster, rng: Random) -> None:
        self._cluster = cluster
        self._rng = rng
        self.made: list[Made] = []

    def is_good(self, broker: Broker, token: Made) -> bool:
        """Whether a broker has to let one in who has it."""
        known = broker.services.metadata.delegation_tokens.get(token.token_id)
        return known is not None and not _is_removed(known, broker.services.clock)

    def known(self, token: Made) -> DelegationToken | None:
        """What the controller knows of it."""
        return self._cluster.metadata.delegation_tokens.get(token.token_id)

    def act(self, talk: Talk, principal: str) -> str:
        """Something that one who may have tokens does."""
        acts = (self.create, self.renew, self.expire, self.describe)
        return self._rng.choice(acts)(talk, principal)

    def create(self, talk: Talk, principal: str) -> str:
        """Make one."""
        renewers = self._rng.choice(((), ("admin",), ("bob",)))
        kind = "User" if self._rng.random() < 0.9 else "Group"
        request = CreateDelegationTokenRequest(
            "", "", [TokenPrincipal(kind, one) for one in renewers], self._rng.choice(LIFETIMES_MS)
        )
        version = self._rng.randint(1, 3)
        answer = talk.ask(request, version, CreateDelegationTokenResponse)
        if answer is None or answer.error_code == LATE:
            return ""
        if renewers and kind != "User":
            wanted = ErrorCode.INVALID_PRINCIPAL_TYPE
            return "" if answer.error_code == wanted else f"a token is answered {answer}"
        owner = f"{answer.principal_type}:{answer.principal_name}"
        if answer.error_code or owner != principal:
            return f"{principal} asks for a token, and is answered {answer}"
        names = tuple(f"User:{one}" for one in renewers)
        made = Made(answer.token_id, bytes(answer.hmac), principal, names)
        self.made.append(made)
        known = self.known(made)
        times = answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms
        if known is None or known.hmac != made.hmac or known.renewers != names:
            return f"{made} is told, and {known} is there"
        if times != (known.issue_wall_ms, known.expiry_wall_ms, known.max_wall_ms):
            return f"{times} are told of {known}"
        if times[2] - times[0] != request.max_lifetime_ms or times[1] > times[2]:
            return f"{times} are told for {request.max_lifetime_ms} ms"
        return ""

    def renew(self, talk: Talk, principal: str) -> str:
        """Let one live longer, perhaps one of somebody else."""
        token, known = self._some(talk)
        wanted = NOT_FOUND
        if known is not None:
            wanted = ErrorCode.NONE if _may_change(known, principal) else MISMATCH
            if _end(known) < talk.broker.services.clock.wall_ms():
                wanted = EXPIRED
        hmac = b"nobody's" if token is None else token.hmac
        request = RenewDelegationTokenRequest(hmac, self._rng.choice((-1, 50, 10_000)))
        answer = talk.ask(request, self._rng.randint(1, 2), RenewDelegationTokenResponse)
        if answer is None or answer.error_code == LATE:
            return ""
        if answer.error_code != wanted:
            return f"{principal} renews {token}, and is answered {answer}, not {wanted}"
        known = None if token is None else self.known(token)
        if not wanted and (known is None or known.expiry_wall_ms != answer.expiry_timestamp_ms):
            return f"{answer} is told of {known}"
        return ""

    def expire(self, talk: Talk, principal: str) -> str:
        """Let one end, at once or after a while."""
        token, known = self._some(talk)
        period_ms = self._rng.choice((-1, 0, 100))
        wanted = NOT_FOUND
        if known is not None:
            is_late = period_ms >= 0 and _end(known) < talk.broker.services.clock.wall_ms()
            wanted = EXPIRED if is_late else ErrorCode.NONE
            wanted = wanted if _may_change(known, principal) else MISMATCH
        hmac = b"nobody's" if token is None else token.hmac
        request = ExpireDelegationTokenRequest(hmac, period_ms)
        answer = talk.ask(request, self._rng.randint(1, 2), ExpireDelegationTokenResponse)
        if answer is None or answer.error_code == LATE:
            return ""
        if answer.error_code != wanted:
            return f"{principal} ends {token}, and is answered {answer}, not {wanted}"
        known = None if token is None else self.known(token)
        if not wanted and period_ms < 0 and known is not None:
            return f"{known} was to end, and is there"
        return ""

    def _some(self, talk: Talk) -> tuple[Made | None, DelegationToken | None]:
        """A token, or none, and what there is of it to the broker that is asked."""
        if not self.made or self._rng.random() < 0.1:
            return None, None
        token, services = self._rng.choice(self.made), talk.broker.services
        known = self.known(token)
        is_gone = known is None or _is_removed(known, services.clock)
        return token, None if is_gone else known

    def describe(self, talk: Talk, principal: str) -> str:
        """Ask for all, for those of somebody, or for none."""
        services = talk.broker.services
        if services.authorizer is not None:
            return ""  # who may see which is another matter
        owners = self._rng.choice((None, [], ["alice"], ["admin", "bob"]))
        asked = None if owners is None else [TokenPrincipal("User", one) for one in owners]
        request = DescribeDelegationTokenRequest(asked)
        answer = talk.ask(request, self._rng.randint(1, 3), DescribeDelegationTokenResponse)
        if answer is None:
            return ""
        wanted = {
            (token.token_id, token.hmac, token.expiry_wall_ms)
            for token in services.metadata.delegation_tokens.values()
            if not _is_removed(token, services.clock)
            and (
                owners is None
                or {f"User:{one}" for one in owners}
                & {token.owner, token.requester, *token.renewers}
            )
        }
        told = {(one.token_id, bytes(one.hmac), one.expiry_timestamp) for one in answer.tokens}
        if answer.error_code or told != wanted:
            return f"{principal} is told {answer} of {owners}, not {wanted}"
        return ""

    def is_refused(self, talk: Talk) -> str:
        """Who has no login of its own, or one by a token, gets and changes none."""
        requests: tuple[tuple[object, type[Any]], ...] = (
            (CreateDelegationTokenRequest(), CreateDelegationTokenResponse),
            (RenewDelegationTokenRequest(b"x"), RenewDelegationTokenResponse),
            (ExpireDelegationTokenRequest(b"x"), ExpireDelegationTokenResponse),
            (DescribeDelegationTokenRequest(None), DescribeDelegationTokenResponse),
        )
        request, kind = self._rng.choice(requests)
        answer = talk.ask(request, 1, kind)
        if answer is not None and answer.error_code != NOT_ALLOWED:
            return f"{talk.principal} asks {request}, and is answered {answer}"
        return ""


def _may_change(token: DelegationToken, principal: str) -> bool:
    """Its owner and its renewers may change how long it lives."""
    return principal in (token.owner, *token.renewers)


def _end(token: DelegationToken) -> int:
    """From then on it is good no more."""
    return min(token.max_wall_ms, token.expiry_wall_ms)


def _is_removed(token: DelegationToken, clock: Clock) -> bool:
    """Whether it had expired when the controller last looked (KIP-48)."""
    looked_ms = clock.epoch_ms + int(clock.now_ms) // TOKEN_ROUNDS_MS * TOKEN_ROUNDS_MS
    return _end(token) < looked_ms
