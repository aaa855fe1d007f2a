"""Whom a node asks for a login, and how logins went, by listener and mechanism.

`apis.context.Services` has one. Nothing is imported for it until a listener wants a login.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from mockbroker.config.listeners import security_protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.security.authenticator import Authenticator
    from mockbroker.security.mechanisms import Mechanisms

HANDSHAKE: Final = "TLS"
"""Stands for the mechanism of TLS handshakes."""


class ClientLogin(NamedTuple):
    """A login that would succeed, as fault rules look at it; it is no request."""

    connection_id: int
    client_id: str
    principal: str
    listener: str
    broker_id: int
    api_key: int = -1
    api_version: int = 0


class RuleThatFired(Protocol):
    """A fault rule."""

    @property
    def id(self) -> str: ...


class LoginRules(Protocol):
    """The armed fault rules: `faults.fault_set`."""

    def meet_login(self, asking: ClientLogin) -> RuleThatFired | None:
        """The rule that a login sets off which would else succeed."""

    def spent_by(self, token: str) -> str | None:
        """The id of the rule that made a token expire."""


class Outcomes:
    """How many logins ended well and badly; renewals are those within a session (KIP-368)."""

    __slots__ = ("done", "failed", "renewals_done", "renewals_failed")

    def __init__(self) -> None:
        self.done = 0
        self.failed = 0
        self.renewals_done = 0
        self.renewals_failed = 0


class Admission:
    """That of one node. `dice` are the substream of salts and nonces, made when they are wanted."""

    __slots__ = ("_clock", "_config", "_dice", "_mechanisms", "_metadata", "outcomes", "rules")

    def __init__(
        self,
        config: BrokerConfig,
        metadata: MetadataStore,
        clock: Clock,
        dice: Callable[[], Random],
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._clock = clock
        self._dice = dice
        self._mechanisms: Mechanisms | None = None
        self.rules: LoginRules | None = None
        """The armed fault rules, while any is about logins or their tokens."""
        self.outcomes: dict[tuple[str, str], Outcomes] = {}
        """By listener and mechanism; "" of who chose none."""

    def authenticator(self, listener: str) -> Authenticator | None:
        """Who says whether a new client is who it says it is; None where a listener asks nobody."""
        if not security_protocol(self._config, listener).has_sasl:
            return None
        from mockbroker.security.authenticator import Authenticator

        if self._mechanisms is None:
            from mockbroker.security.mechanisms import Mechanisms

            self._mechanisms = Mechanisms(
                self._config, self._metadata, self._dice(), self._clock, self.spent_by
            )
        return Authenticator(self._config, listener, self._mechanisms.make)

    def make_token(self, listeners: Sequence[str], wanted: Sequence[Any]) -> str:
        """A token for one of the listeners; `wanted` as `own_tokens.WantedToken`. ValueError."""
        from mockbroker.security.own_tokens import WantedToken, make_token

        return make_token(self._config, listeners, WantedToken(*wanted), self._clock.wall_ms())

    def spent_by(self, token: str) -> str | None:
        """The id of the fault rule that made a token expire, by `Mechanism.token`."""
        return None if self.rules is None else self.rules.spent_by(token)

    def refused_by(self, login: ClientLogin) -> str | None:
        """The id of the fault rule that a login sets off which would else succeed."""
        rule = None if self.rules is None else self.rules.meet_login(login)
        return None if rule is None else rule.id

    def count(
        self, listener: str, mechanism: str | None, *, failed: bool, renewed: bool = False
    ) -> None:
        """A login, or a TLS handshake, ended."""
        key = listener, mechanism or ""
        outcomes = self.outcomes.get(key)
        if outcomes is None:
            outcomes = self.outcomes[key] = Outcomes()
        if renewed and failed:
            outcomes.renewals_failed += 1
        elif renewed:
            outcomes.renewals_done += 1
        elif failed:
            outcomes.failed += 1
        else:
            outcomes.done += 1
