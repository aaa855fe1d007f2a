"""Delegation tokens over the admin API: verbs of `RemoteViews`."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.client import AdminClient, segment
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.testing.broker_views import BrokerViews
from mockbroker.testing.remote.refusals import refused_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.testing.polling import PollingBridge

__tracebackhide__ = True

_PATH: Final = "/v1/delegation-tokens"


class RemoteDelegationTokens(BrokerViews):
    """Those of a broker elsewhere."""

    _caller: PollingBridge[AdminClient]

    def delegation_token(
        self,
        owner: str = "client",
        *,
        renewers: Sequence[str] = (),
        lifetime_ms: int | None = None,
    ) -> DelegationToken:
        wanted = {"owner": owner, "renewers": list(renewers), "lifetime_ms": lifetime_ms}

        def make(client: AdminClient) -> DelegationToken:
            with refused_as(ValueError):
                return _token(client.send("POST", _PATH, wanted))

        return self._caller.call(make)

    def delegation_tokens(self, owner: str | None = None) -> list[DelegationToken]:
        of_owner = {} if owner is None else {"owner": owner}

        def look(client: AdminClient) -> list[DelegationToken]:
            return [_token(one) for one in client.pages(_PATH, "delegation_tokens", **of_owner)]

        return self._caller.call(look)

    def expire_delegation_token(self, token_id: str, *, after_ms: int | None = None) -> None:
        def expire(client: AdminClient) -> None:
            with refused_as(ValueError):
                client.send("POST", f"{_PATH}/{segment(token_id)}/expire", {"after_ms": after_ms})

        return self._caller.call(expire)


def _token(found: dict[str, Any]) -> DelegationToken:
    return DelegationToken(
        found["token_id"],
        found["owner"],
        found["requester"],
        tuple(found["renewers"]),
        found["issue_ms"],
        found["max_ms"],
        found["expiry_ms"],
        b64decode(found.get("hmac", "")),
    )
