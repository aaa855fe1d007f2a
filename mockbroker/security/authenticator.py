"""How far the client of one connection has come with proving who it is.

One for each connection of a SASL listener; `node.sasl_gate` asks it what may come next, and the
handlers of SaslHandshake and SaslAuthenticate tell it what came (Kafka: SaslServerAuthenticator,
and KafkaChannel for a session that ends; KIP-43, KIP-152, KIP-368).

Invariant: `principal` is that of the last exchange that succeeded; it never changes within a
connection.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from mockbroker.config.listeners import listener_int
from mockbroker.config.logins import enabled_mechanisms
from mockbroker.security.mechanism import SaslAuthenticationError, SaslError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.security.mechanism import Mechanism

    MakeMechanism = Callable[[str, str], Mechanism]

_MAX_SIZE: Final = "sasl.server.max.receive.size"
_MAX_REAUTH: Final = "connections.max.reauth.ms"
_WRONG: Final = {
    "PLAIN": "Authentication failed: Invalid username or password",
    "OAUTHBEARER": '{"status":"invalid_token"}',
}
"""What the client learns of a wrong password or token; of the other mechanisms none is told."""
_LEAST_REAUTH_INTERVAL_MS: Final = 1000
"""KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS."""


class State(Enum):
    """What the connection waits for."""

    INITIAL = auto()
    """ApiVersions or SaslHandshake."""
    HANDSHAKE = auto()
    """SaslHandshake: ApiVersions was answered."""
    TOKENS = auto()
    """SaslAuthenticate, or bare tokens after a handshake of version 0."""
    OTHER_MECHANISM = auto()
    """Nothing: a session may not go on with another mechanism; its next frame is told so."""
    COMPLETE = auto()
    """Any request: the client is known."""


class Authenticator:
    """The logins of one connection; `make` makes the exchange of a mechanism at a listener."""

    __slots__ = (
        "_config",
        "_exchange",
        "_listener",
        "_make",
        "_renewed_ms",
        "bare_tokens",
        "by_token",
        "expires_ms",
        "mechanism",
        "principal",
        "renews",
        "state",
        "token",
        "wanted",
    )

    def __init__(self, config: BrokerConfig, listener: str, make: MakeMechanism) -> None:
        self._config = config
        self._listener = listener
        self._make = make
        self._exchange: Mechanism | None = None
        self._renewed_ms: float | None = None
        self.state = State.INITIAL
        self.mechanism: str | None = None
        self.wanted = ""
        """Another one, with which the session was to go on."""
        self.bare_tokens = False
        """Whether tokens come without SaslAuthenticate around them."""
        self.principal: str | None = None
        self.by_token = False
        """Whether the client logged in with a delegation token."""
        self.token: str | None = None
        """What names the token that the client logged in with (`Mechanism.token`)."""
        self.renews = False
        """Whether this is a login of a client that was known before."""
        self.expires_ms: float | None = None
        """When the session ends, on the core's clock; None: never."""

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms of the listener, in the order in which Kafka tells them."""
        return hash_set_order(enabled_mechanisms(self._config, self._listener))

    @property
    def max_token_bytes(self) -> int:
        """No frame may be larger before the client is known."""
        return listener_int(self._config, self._listener, _MAX_SIZE)

    def versions_told(self) -> None:
        """A good ApiVersions was answered: a second one would be out of order."""
        if self.state is State.INITIAL:
            self.state = State.HANDSHAKE

    def choose(self, mechanism: str, *, bare_tokens: bool) -> None:
        """The client goes on with one of `mechanisms`."""
        if self.renews and mechanism != self.mechanism:
            self.wanted = mechanism
            self.state = State.OTHER_MECHANISM
            return
        self.mechanism = mechanism
        self.bare_tokens = bare_tokens
        self._exchange = self._make(mechanism, self._listener)
        self.state = State.TOKENS

    def evaluate(
        self,
        token: bytes,
        now_ms: float,
        wall_ms: int,
        refused_by: Callable[[str], str | None] | None = None,
    ) -> tuple[bytes, int]:
        """The answer to a token, and once it is the last the life of the session (0: no end).

        `refused_by` has the id of the fault rule by which the login of a principal is to fail.
        Raises SaslError; what its client is told of that is `told`.
        """
        exchange = self._exchange
        assert exchange is not None
        answer = exchange.evaluate(token)
        if not exchange.complete:
            return answer, 0
        principal = f"User:{exchange.authorization_id}"
        if self.principal not in (None, principal):
            raise SaslAuthenticationError(
                "Cannot change principals during re-authentication from "
                f"{_dotted(self.principal)}: {_dotted(principal)}"
            )
        rule = None if refused_by is None else refused_by(principal)
        if rule is not None:
            raise self._broken_off(rule)
        self._exchange = None
        self.principal = principal
        self.by_token = exchange.by_token
        self.token = exchange.token
        self.state = State.COMPLETE
        lifetime_ms = self._lifetime_ms(exchange.expires_wall_ms, wall_ms)
        self.expires_ms = None if lifetime_ms is None else now_ms + lifetime_ms
        return answer, lifetime_ms or 0

    def _broken_off(self, rule: str) -> SaslError:
        """What a client is told whose password or token is wrong."""
        told = _WRONG.get(self.mechanism or "")
        reason = f"broken off by {rule}"
        return SaslError(reason) if told is None else SaslAuthenticationError(told, reason)

    def told(self, error: SaslError) -> str:
        """What the client is told of a login that failed."""
        if isinstance(error, SaslAuthenticationError):
            return str(error)
        # The rest might tell who exists.
        return (
            f"Authentication failed during {'re-' if self.renews else ''}authentication due to "
            f"invalid credentials with SASL mechanism {self.mechanism}"
        )

    def begin_renewal(self, now_ms: float) -> bool:
        """A handshake came within a session: whether a login begins anew (KIP-368).

        Not where sessions last for ever, and not more than once a second.
        """
        if self.expires_ms is None or (
            self._renewed_ms is not None and now_ms - self._renewed_ms < _LEAST_REAUTH_INTERVAL_MS
        ):
            return False
        self._renewed_ms = now_ms
        self.renews = True
        self.state = State.HANDSHAKE
        return True

    def is_expired(self, now_ms: float) -> bool:
        """Whether the session has ended."""
        return self.expires_ms is not None and now_ms > self.expires_ms

    def _lifetime_ms(self, expires_wall_ms: int | None, wall_ms: int) -> int | None:
        """How long the session lasts from now on; None: for ever."""
        lives = [] if expires_wall_ms is None else [expires_wall_ms - wall_ms]
        assert self.mechanism is not None
        most_ms = listener_int(self._config, self._listener, _MAX_REAUTH, self.mechanism)
        if most_ms > 0:
            lives.append(most_ms)
        return max(0, min(lives)) if lives else None


def session_expired(rule: str | None = None) -> str:
    """Why a connection ends whose session is over; `rule` is the fault rule that ended it."""
    reason = "the session of its login has expired"
    return reason if rule is None else f"{reason}, by {rule}"


def hash_set_order(texts: Iterable[str]) -> list[str]:
    """Texts in the order in which a Java HashSet of them is walked."""
    distinct = dict.fromkeys(texts)
    buckets = 16
    while buckets < len(distinct) / 0.75 + 1:
        buckets *= 2
    return sorted(distinct, key=lambda text: _java_spread_hash(text) & (buckets - 1))


def _java_spread_hash(text: str) -> int:
    code = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        code = (code * 31 + unit) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _dotted(principal: str | None) -> str:
    return (principal or "").replace(":", ".", 1)
