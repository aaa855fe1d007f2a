"""What each API asks the authorizer before it works, and how it answers where that says no.

`registry` puts `guard` before the handlers of a broker with an authorizer; those of others do not
know that there is such a thing. A guard refuses a request as a whole, or takes out of it what its
sender may not touch: the rest is handled, and the answer tells both (Kafka: the checks of
KafkaApis, AclApis and ControllerApis).

Guards are in a table by API; one that is missing there lets everybody pass, and a test knows which.
Answers that come later pass through the guard as well: it stands in for the responder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from mockbroker.apis.context import PARKED
from mockbroker.apis.guards.asked import Asked
from mockbroker.apis.guards.table import GUARDS
from mockbroker_protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import RequestContext, Responder, Services
    from mockbroker.apis.registry import Handle

OPEN: Final = frozenset(
    {ApiKey.API_VERSIONS, ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}
)
"""What anybody may ask, in Apache Kafka too."""


def guard(key: ApiKey, handle: Handle) -> Handle:
    """The handler behind its guard."""
    check = GUARDS.get(key)
    if check is None:
        return handle

    def guarded(services: Services, ctx: RequestContext, request: object) -> object:
        asked = Asked(services, ctx, request)
        refused = check(asked)
        if refused is not None:
            return refused
        try:
            if not asked.amendments:
                return handle(services, ctx, request)
            ctx.responder = _Amending(ctx.responder, asked.amend)
            response = handle(services, ctx, request)
        finally:
            services.fetch.gate = None
        return response if response is PARKED else asked.amend(response)

    return guarded


class _Amending:
    """Stands between a parked request and its responder."""

    __slots__ = ("_amend", "_responder")

    def __init__(self, responder: Responder, amend: Callable[[object], object]) -> None:
        self._responder = responder
        self._amend = amend

    @property
    def broker_id(self) -> int:
        """The node's, for the journal."""
        return cast("int", getattr(self._responder, "broker_id", -1))

    def is_connected(self, connection_id: int) -> bool:
        """Whether a connection is still there."""
        known = getattr(self._responder, "is_connected", None)
        return known is None or bool(known(connection_id))

    def complete(self, ctx: RequestContext, response: object) -> None:
        """Queue the answer of a parked request."""
        self._responder.complete(ctx, self._amend(response))

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """Make the answer of a parked request inside the request boundary, and queue it."""
        self._responder.complete_by(ctx, lambda: self._amend(make()))
