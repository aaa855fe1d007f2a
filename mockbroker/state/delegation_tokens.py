"""Delegation tokens (KIP-48) that a test makes, looks at and ends without a client.

They are those that clients make and describe, under the same configs; who may have one is not
asked. Called by `admin` and `testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.delegation_token_control import Wanted, create_token, end_token
from mockbroker.metadata.delegation_tokens import SECRET_KEY
from mockbroker.metadata.names import random_uuid
from mockbroker_protocol.primitives import uuid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.delegation_tokens import DelegationToken

_USER: Final = "User:"


class NewToken(NamedTuple):
    """What a token is to be; principals are users, `alice` or `User:alice`."""

    owner: str
    renewers: Sequence[str] = ()
    lifetime_ms: int | None = None
    """None: as `delegation.token.max.lifetime.ms` and `delegation.token.expiry.time.ms` say."""


def make(cluster: Cluster, wanted: NewToken) -> DelegationToken:
    """A new token, which its owner asked for. Raises ValueError."""
    if wanted.lifetime_ms is not None and wanted.lifetime_ms <= 0:
        raise ValueError(f"lifetime_ms {wanted.lifetime_ms}: allowed: 1 or more")
    owner = _user(wanted.owner)
    _, token = create_token(
        cluster.metadata,
        cluster.clock,
        Wanted(
            uuid_text(random_uuid(cluster.controller.rng)),
            owner,
            owner,
            [_user(renewer) for renewer in wanted.renewers],
            wanted.lifetime_ms or 0,
        ),
    )
    if token is None:
        raise ValueError(f"there are no delegation tokens: start it with {SECRET_KEY}")
    return token


def listed(cluster: Cluster, owner: str | None = None) -> list[DelegationToken]:
    """The tokens that there are, of one owner or of all, by id and without their HMACs."""
    store, clock = cluster.metadata, cluster.clock
    return [
        token._replace(hmac=b"")
        for _, token in sorted(store.delegation_tokens.items())
        if (owner is None or token.owner == _user(owner))
        and not token.is_removed(store.config, clock)
    ]


def find(cluster: Cluster, token_id: str) -> DelegationToken | None:
    """The token of an id, also one that has expired and is not removed yet."""
    token = cluster.metadata.delegation_tokens.get(token_id)
    if token is None or token.is_removed(cluster.metadata.config, cluster.clock):
        return None
    return token


def expire(cluster: Cluster, token_id: str, after_ms: int | None) -> None:
    """Let a token end after so many ms of the broker's clock; None: now, and it is gone.

    Raises ValueError where there is none of that id, or it has expired.
    """
    token = find(cluster, token_id)
    if token is None:
        raise ValueError(f"there is no delegation token {token_id!r}")
    if after_ms is not None and after_ms < 0:
        raise ValueError(f"after_ms {after_ms}: allowed: 0 or more")
    if after_ms is not None and token.is_expired(cluster.clock.wall_ms()):
        raise ValueError(f"the delegation token {token_id!r} has expired")
    period_ms = -1 if after_ms is None else after_ms
    end_token(cluster.metadata, cluster.clock, token_id, period_ms)


def _user(name: str) -> str:
    return name if name.startswith(_USER) else _USER + name
