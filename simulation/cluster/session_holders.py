"""Clients whose sessions end (KIP-368): by the network, with bearer tokens that are soon over.

A session lasts as long as its login was told: until then it is served, and nobody ends it; behind
that its first request closes the connection, unless its client has logged in anew before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from simulation.cluster.bearer_logins import MECHANISM, first_message
from simulation.cluster.bearer_tokens import SCOPE, SUBJECT, part_of
from simulation.cluster.clients import REQUEST_TIMEOUT_MS, ClusterClient
from simulation.cluster.plan import LOGIN_LISTENER

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.stage import Wire

LIVES_MS: Final = (50, 150, 400, 5_000)
PAUSE_MS: Final = 40.0
RENEWALS_EVERY_MS: Final = 1_100.0
"""Within a second of the last a login is none."""


class SessionHolder(ClusterClient):
    """Has one session after another."""

    listener = LOGIN_LISTENER

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.served = self.renewed = 0
        self._node = 0
        self._session: Wire | None = None
        """The connection on which it has logged in."""
        self._sure_until_ms = self._over_by_ms = 0.0
        self._renewed_ms = -RENEWALS_EVERY_MS

    def begin(self) -> None:
        wire = self._session
        if wire is None or not wire.open:
            self._session, self._renewed_ms = None, -RENEWALS_EVERY_MS
            self._node = self.any_node()
            old = self.wire_to(self._node)
            if old is not None:
                old.close()
            self._log_in()
        elif self.rng.random() < 0.1 and self.world.now_ms - self._renewed_ms > RENEWALS_EVERY_MS:
            self._renewed_ms = self.world.now_ms
            self.renewed += 1
            self._log_in()
        else:
            self._use(wire)

    def _log_in(self) -> None:
        def chosen(answer: SaslHandshakeResponse | None) -> None:
            if answer is None or answer.error_code:
                self._session = None
                self.later()
            else:
                self._may_be_closed()
                self._show()

        request = SaslHandshakeRequest(MECHANISM)
        self.ask(self._node, request, 1, SaslHandshakeResponse, chosen)
        self._may_be_closed()

    def _may_be_closed(self) -> None:
        wire = self.wire_to(self._node)
        if wire is not None:
            wire.may_be_closed = True

    def _show(self) -> None:
        broker, wire = self.world.cluster.broker(self._node), self.wire_to(self._node)
        if broker is None or wire is None or not wire.open:
            self._session = None
            self.later()
            return
        sent_ms = self.world.now_ms
        expires_ms = broker.services.clock.wall_ms() + self.rng.choice(LIVES_MS)
        claims = {"sub": SUBJECT, "exp": expires_ms / 1000, "scope": [SCOPE]}
        token = f"{part_of({'alg': 'none'})}.{part_of(claims)}."

        def answered(answer: SaslAuthenticateResponse | None) -> None:
            if answer is None or answer.error_code or answer.auth_bytes:
                self._session = None  # it was slow: the token was over before it came
            else:
                life_ms = answer.session_lifetime_ms
                self.note(f"has a session of {life_ms} ms at {self._node}")
                self._session = wire
                self._sure_until_ms = sent_ms + life_ms
                self._over_by_ms = self.world.now_ms + life_ms
            self.later(1.0)

        request = SaslAuthenticateRequest(first_message(token))
        self.ask(self._node, request, 2, SaslAuthenticateResponse, answered)

    def _use(self, wire: Wire) -> None:
        sent_ms = self.world.now_ms

        def answered(answer: MetadataResponse | None) -> None:
            if answer is None:
                self._session = None
                now_ms = self.world.now_ms
                gave_up = now_ms - sent_ms >= REQUEST_TIMEOUT_MS
                if not wire.was_cut and not gave_up and now_ms < self._sure_until_ms:
                    self.world.violate(
                        f"{self.name}: its session ended before {self._sure_until_ms:.3f}"
                    )
            else:
                self.served += 1
                if sent_ms > self._over_by_ms + 1:
                    self.world.violate(
                        f"{self.name}: its session was over at {self._over_by_ms:.3f}, and it is "
                        "served"
                    )
            self.later(self.rng.random() * PAUSE_MS)

        request = MetadataRequest(None)
        self.ask(self._node, request, 5, MetadataResponse, answered)
