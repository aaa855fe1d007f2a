"""How delegation tokens come and go by request (KIP-48; Kafka: DelegationTokenControlManager).

Handlers have the controller carry these out. Snapshots and scopes bring tokens back by
`replace_delegation_tokens`. Tokens that expired are removed when the next one is made, and are not
found any more from the round on that would have removed them (`DelegationToken.is_removed`).
"""

from __future__ import annotations

from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from mockbroker.metadata.changes import DelegationTokenChanged
from mockbroker.metadata.delegation_tokens import SECRET_KEY, DelegationToken, token_hmac
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.clock import Clock
    from mockbroker.metadata.store import MetadataStore

MAX_LIFETIME: Final = "delegation.token.max.lifetime.ms"
EXPIRY_TIME: Final = "delegation.token.expiry.time.ms"
_LATEST_MS: Final = (1 << 63) - 1


class Wanted(NamedTuple):
    """A token that somebody asks for; `max_lifetime_ms` 0 or less: as the config says."""

    token_id: str
    owner: str
    requester: str
    renewers: Sequence[str]
    max_lifetime_ms: int


def create_token(
    store: MetadataStore, clock: Clock, wanted: Wanted
) -> tuple[ErrorCode, DelegationToken | None]:
    """Make a token."""
    config = store.config
    if not config.text(SECRET_KEY):
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, None
    now = clock.wall_ms()
    lifetime_ms = config.int(MAX_LIFETIME)
    if wanted.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, wanted.max_lifetime_ms)
    latest = _later(now, lifetime_ms)
    for old in list(store.delegation_tokens.values()):
        if old.is_removed(config, clock):
            store.apply(DelegationTokenChanged(old.token_id, None))
    token = DelegationToken(
        wanted.token_id,
        wanted.owner,
        wanted.requester,
        tuple(wanted.renewers),
        now,
        latest,
        min(latest, _later(now, config.int(EXPIRY_TIME))),
        token_hmac(config, wanted.token_id),
    )
    store.apply(DelegationTokenChanged(token.token_id, token))
    return ErrorCode.NONE, token


def renew_token(
    store: MetadataStore, clock: Clock, principal: str, hmac: bytes, period_ms: int
) -> tuple[ErrorCode, int]:
    """Let a token live longer, but not beyond its longest life; when it expires then."""
    error, token = _find(store, clock, principal, hmac)
    now = clock.wall_ms()
    if token is None:
        return error, 0
    if token.is_expired(now):
        return ErrorCode.DELEGATION_TOKEN_EXPIRED, 0
    if error:
        return error, 0
    life_ms = store.config.int(EXPIRY_TIME)
    if period_ms > 0:
        life_ms = min(life_ms, period_ms)
    return _set_expiry(store, token, now + life_ms)


def expire_token(
    store: MetadataStore, clock: Clock, principal: str, hmac: bytes, period_ms: int
) -> tuple[ErrorCode, int]:
    """Let a token end after so many ms, or, for a negative number, at once."""
    error, token = _find(store, clock, principal, hmac)
    now = clock.wall_ms()
    if token is None or error:
        return error, 0
    if period_ms >= 0 and token.is_expired(now):
        return ErrorCode.DELEGATION_TOKEN_EXPIRED, 0
    return ErrorCode.NONE, end_token(store, clock, token.token_id, period_ms)


def end_token(store: MetadataStore, clock: Clock, token_id: str, period_ms: int) -> int:
    """Let a token of an id that there is end so; when that is, or was."""
    now = clock.wall_ms()
    if period_ms < 0:
        store.apply(DelegationTokenChanged(token_id, None))
        return now
    return _set_expiry(store, store.delegation_tokens[token_id], _later(now, period_ms))[1]


def expire_now(store: MetadataStore, clock: Clock, token_id: str) -> None:
    """Let a token expire now, unless it did before: it is found until it is removed."""
    token = store.delegation_tokens.get(token_id)
    if token is not None and not token.is_expired(clock.wall_ms()):
        _set_expiry(store, token, clock.wall_ms())


def replace_delegation_tokens(
    store: MetadataStore, wanted: Mapping[str, DelegationToken | None]
) -> None:
    """Make these tokens be, or, by None, not be; one that is not named stays as it is."""
    for token_id, token in wanted.items():
        proved = token and token._replace(hmac=token_hmac(store.config, token_id))
        if store.delegation_tokens.get(token_id) != proved:
            store.apply(DelegationTokenChanged(token_id, proved))


def _find(
    store: MetadataStore, clock: Clock, principal: str, hmac: bytes
) -> tuple[ErrorCode, DelegationToken | None]:
    """The token, and the error where the principal may not renew it."""
    if not store.config.text(SECRET_KEY):
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, None
    for token in store.delegation_tokens.values():
        if compare_digest(token.hmac, hmac) and not token.is_removed(store.config, clock):
            if token.is_of(principal):
                return ErrorCode.NONE, token
            return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, token
    return ErrorCode.DELEGATION_TOKEN_NOT_FOUND, None


def _set_expiry(
    store: MetadataStore, token: DelegationToken, expiry_wall_ms: int
) -> tuple[ErrorCode, int]:
    expiry_wall_ms = min(token.max_wall_ms, expiry_wall_ms)
    changed = token._replace(expiry_wall_ms=expiry_wall_ms)
    store.apply(DelegationTokenChanged(token.token_id, changed))
    return ErrorCode.NONE, expiry_wall_ms


def _later(now: int, duration_ms: int) -> int:
    return min(_LATEST_MS, now + duration_ms)
