"""How fast a client may produce, fetch and ask, and how long it is throttled when it was faster.

Made by the first quota that is set; from then on `broker` charges each request, and Produce and
Fetch charge their bytes (Kafka: ClientQuotaManager, ClientRequestQuotaManager). The answer tells
the throttle time, and the broker leaves the connection alone for as long (KIP-219).

A quota counts for all connections of the user and client id that it names. Of several that fit,
the most special one is in force: the order of `_LEVELS`. The time that a request takes is not
measured, since time stands still while the core works: each counts as
`mockbroker.quota.request.time.ms`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from mockbroker.metadata.client_quotas import CLIENT_ID, USER
from mockbroker.security.rate import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.changes import Entity
    from mockbroker.metadata.store import MetadataStore

PRODUCE: Final = "producer_byte_rate"
FETCH: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
UNLIMITED: Final = 2**31 - 1

_ANY: Final = None
"""The name of an entity that stands for each user or client id without a quota of its own."""
_PERCENT_A_MS: Final = 0.1
"""What a millisecond of one thread is of a second, in percent."""


class QuotaManager:
    """The quotas of one node."""

    __slots__ = ("_clock", "_config", "_metadata", "_rates")

    def __init__(self, clock: Clock, config: BrokerConfig, metadata: MetadataStore) -> None:
        self._clock = clock
        self._config = config
        self._metadata = metadata
        self._rates: dict[tuple[str, str, str], Rate] = {}

    def mark(self) -> dict[tuple[str, str, str], Rate]:
        """What was measured up to now."""
        return deepcopy(self._rates)

    def back_to(self, mark: Mapping[tuple[str, str, str], Rate]) -> None:
        """Go on with what was measured up to then."""
        self._rates = dict(mark)

    def charge(self, quota: str, principal: str, client_id: str, value: float) -> int:
        """Record `value` against a quota; how long the client is throttled for it, in ms."""
        found = self._find(quota, principal, client_id)
        if found is None:
            return 0
        limit, rate = found
        now_ms = self._clock.now_ms
        rate.record(value, now_ms)
        measured = rate.measure(now_ms)
        if measured <= limit:
            return 0
        # QuotaUtils.throttleTime: how long until the rate is within the quota again.
        throttle_ms = (measured - limit) / limit * rate.window_ms(now_ms)
        if quota == REQUEST:
            # ClientRequestQuotaManager.throttleTime: a window at most (KIP-124).
            throttle_ms = min(throttle_ms, self._window_ms)
        return int(throttle_ms + 0.5)

    def charge_request(self, principal: str, client_id: str) -> int:
        """Record the time of one request."""
        cost = self._config.float("mockbroker.quota.request.time.ms") * _PERCENT_A_MS
        return self.charge(REQUEST, principal, client_id, cost)

    def take_back(self, quota: str, principal: str, client_id: str, value: float) -> None:
        """Forget what was charged for an answer that is not given (unrecordQuotaSensor)."""
        found = self._find(quota, principal, client_id)
        if found is not None:
            found[1].record(-value, self._clock.now_ms)

    def max_fetch_bytes(self, principal: str, client_id: str) -> int:
        """More than this in one fetch would be throttled for sure (getMaxValueInQuotaWindow)."""
        found = self._find(FETCH, principal, client_id)
        if found is None:
            return UNLIMITED
        windows = self._config.int("quota.window.num") - 1
        return min(UNLIMITED, int(found[0] * windows * self._window_ms / 1000))

    @property
    def _window_ms(self) -> int:
        return self._config.int("quota.window.size.seconds") * 1000

    def _find(self, quota: str, principal: str, client_id: str) -> tuple[float, Rate] | None:
        """The limit in force and what was recorded against it; None: there is no limit."""
        user = principal.partition(":")[2]
        quotas = self._metadata.client_quotas
        for entity, key in _levels(user, client_id):
            values = quotas.get(entity)
            limit = None if values is None else values.get(quota)
            if limit is not None:
                sensor = (quota, *key)
                rate = self._rates.get(sensor)
                if rate is None:
                    samples = self._config.int("quota.window.num")
                    rate = self._rates[sensor] = Rate(samples, self._window_ms)
                return limit, rate
        return None


def _levels(user: str, client_id: str) -> tuple[tuple[Entity, tuple[str, str]], ...]:
    """The entities that name a client, the most special first, and who shares their rate.

    ClientQuotaManager.DefaultQuotaCallback: /users/U/clients/C, /users/U/clients/<default>, ...
    """
    both, of_user, of_client = (user, client_id), (user, ""), ("", client_id)
    return (
        (((CLIENT_ID, client_id), (USER, user)), both),
        (((CLIENT_ID, _ANY), (USER, user)), both),
        (((USER, user),), of_user),
        (((CLIENT_ID, client_id), (USER, _ANY)), both),
        (((CLIENT_ID, _ANY), (USER, _ANY)), both),
        (((USER, _ANY),), of_user),
        (((CLIENT_ID, client_id),), of_client),
        (((CLIENT_ID, _ANY),), of_client),
    )
