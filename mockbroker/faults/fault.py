"""One fault rule: a frozen value, the same in Python, JSON and on the command line.

Made by users, checked here for what can be known without a broker and by `checking` for the rest.
Field names are the keys of the JSON form (`from_dict`, `to_dict`). docs/faults.md explains them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, cast

from mockbroker.faults.errors import FaultError, nearest
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from mockbroker.faults.request_view import RequestView

BEFORE: Final = "before"
AFTER: Final = "after"
MAX_DELAY_MS: Final = 1e12

_BY_NAME: Final = {spec.name.lower(): int(key) for key, spec in API_SPECS.items()}
_BY_NAME.update({ApiKey(key).name.lower(): int(key) for key in API_SPECS})

_REQUEST_ACTS: Final = (
    "error",
    "delay_ms",
    "drop",
    "disconnect",
    "reset",
    "half_close",
    "truncate_at",
    "corrupt_at",
    "correlation_shift",
    "throttle_ms",
    "park",
    "twice",
    "bad_crc",
    "evict_session",
    "expire_token",
    "revoke_acl",
    "observe",
)
NETWORK_ACTS: Final = ("latency_ms", "bandwidth", "slice_bytes", "refuse")
HANDSHAKE_ACTS: Final = ("break_handshake", "certificate")
LOGIN_ACTS: Final = ("fail_login",)
_ALL_ACTS: Final = (*_REQUEST_ACTS, *NETWORK_ACTS, *HANDSHAKE_ACTS, *LOGIN_ACTS)
CONNECTIONS: Final = "connections"
HANDSHAKES: Final = "handshakes"
LOGINS: Final = "logins"
REQUESTS: Final = "requests"
_ABOUT: Final = (
    (CONNECTIONS, NETWORK_ACTS, ()),
    (HANDSHAKES, HANDSHAKE_ACTS, ("nth", "count", "probability")),
    (LOGINS, LOGIN_ACTS, ("nth", "count", "probability", "principal")),
)
"""What else than requests a rule may be about, what it does then, and what more it may have."""
_OF_REQUESTS: Final[dict[str, object]] = dict.fromkeys(
    (
        *("api", "versions", "topic", "partition", "group", "transactional_id", "when"),
        *("principal", "nth", "count"),
    )
) | {"probability": 1.0}
"""What a rule about connections cannot have, and its value where it is not given."""
_NOBODY_YET: Final = ("refuse", *HANDSHAKE_ACTS)
_CHOICES: Final[dict[str, tuple[str | None, ...]]] = {
    "stage": (BEFORE, AFTER),
    "level": (None, "top", "partition"),
    "certificate": (None, "expired", "foreign"),
}
ANY_OPERATION: Final = "ANY"
OPERATIONS: Final = (
    *(ANY_OPERATION, "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
    *("DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS"),
)
"""Of ACLs, by Kafka's names."""
_ENDS: Final = ("drop", "disconnect", "reset", "half_close", "expire_token", "error")
"""Of these one rule has one: each is what becomes of the request."""
_MANGLES: Final = ("truncate_at", "corrupt_at", "correlation_shift", "throttle_ms", "bad_crc")


@dataclass(frozen=True, slots=True)
class Delay:
    """How long, in ms: `low` alone is fixed, with `high` evenly spread between the two.

    With `mean` and `deviation` it is normally distributed, never below 0.
    """

    low: float = 0.0
    high: float | None = None
    mean: float | None = None
    deviation: float = 0.0

    def draw(self, rng: Random) -> float:
        """One delay."""
        if self.mean is not None:
            return max(0.0, rng.gauss(self.mean, self.deviation))
        return self.low if self.high is None else rng.uniform(self.low, self.high)

    @classmethod
    def parse(cls, field: str, value: object) -> Delay:
        """A number, {"low", "high"} or {"mean", "deviation"}. Raises FaultError."""
        if isinstance(value, Delay):
            value = value.to_json()
        allowed = 'milliseconds, {"low": …, "high": …} or {"mean": …, "deviation": …}'
        if not isinstance(value, dict):
            return cls(_milliseconds(field, value, allowed))
        known = ({"low", "high"}, {"mean", "deviation"})
        if set(value) not in known:
            raise FaultError(field, f"{value!r} is no delay", allowed)
        numbers = {key: _milliseconds(field, number, allowed) for key, number in value.items()}
        if numbers.get("high", 0.0) < numbers.get("low", 0.0):
            raise FaultError(field, f"{value!r} is no range", allowed)
        return cls(**numbers)

    def to_json(self) -> float | dict[str, float]:
        """The JSON form."""
        if self.mean is not None:
            return {"mean": self.mean, "deviation": self.deviation}
        return self.low if self.high is None else {"low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Whom it hits, how often, and what it does. Raises FaultError when it makes no sense.

    Texts of `client`, `principal`, `listener`, `topic`, `group` and `transactional_id` are glob
    patterns; `when` is a condition: an expression (see `expression`), or a function of a
    `RequestView`. Times are on the broker's clock. `stage` says whether the broker processes the
    request first. `maybe`: it is in order that the rule never fires. `of_preset` names the preset
    that made it.
    """

    # whom
    api: str | int | tuple[str | int, ...] | None = None
    versions: tuple[int, int] | None = None
    client: str | None = None
    principal: str | None = None
    listener: str | None = None
    broker: int | None = None
    connection: int | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    when: str | Callable[[RequestView], object] | None = None
    # how often
    nth: int | None = None
    probability: float = 1.0
    seed: int | None = None
    count: int | None = None
    after_ms: float = 0.0
    for_ms: float | None = None
    maybe: bool = False
    # what
    stage: str = BEFORE
    error: str | int | None = None
    level: str | None = None
    delay_ms: float | Delay | None = None
    park: bool = False
    drop: bool = False
    disconnect: bool = False
    reset: bool = False
    half_close: bool = False
    truncate_at: int | None = None
    corrupt_at: int | None = None
    correlation_shift: int | None = None
    throttle_ms: int | None = None
    twice: bool = False
    bad_crc: bool = False
    evict_session: bool = False
    expire_token: bool = False
    revoke_acl: str | None = None
    observe: bool = False
    # what, on the network
    latency_ms: float | Delay | None = None
    bandwidth: int | None = None
    slice_bytes: int | None = None
    refuse: bool = False
    # what, while a connection begins
    break_handshake: bool = False
    certificate: str | None = None
    fail_login: bool = False
    # by which name
    id: str | None = None
    of_preset: str | None = None

    def __post_init__(self) -> None:
        for name in _TEXTS:
            _check_text(name, getattr(self, name))
        for name, (low, high) in _WHOLE.items():
            _check_whole(name, getattr(self, name), low, high)
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise FaultError(name, f"{getattr(self, name)!r} is neither", "true or false")
        assert all(key in API_SPECS for key in self.api_keys or ())
        assert self.error is None or self.error_code is not ErrorCode.NONE
        assert self.revoke_acl is None or self.revoked_operation
        self._check_when()
        self._check_times()
        self._check_acts()

    def _check_when(self) -> None:
        when: object = self.when
        if when in (BEFORE, AFTER):
            raise FaultError("when", "it is a condition", f"stage={when!r} for the stage")
        if isinstance(when, str):
            from mockbroker.faults.expression import Expression, ExpressionError

            try:
                Expression(when)
            except ExpressionError as error:
                raise FaultError("when", str(error)) from None
        elif when is not None and not callable(when):
            raise FaultError("when", f"{when!r} is no condition", "an expression, or a function")

    def _check_times(self) -> None:
        number: object = self.probability
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 1:
            raise FaultError("probability", f"{number!r} is none", "above 0 and at most 1")
        _milliseconds("after_ms", self.after_ms)
        if self.for_ms is not None and _milliseconds("for_ms", self.for_ms) <= 0:
            raise FaultError("for_ms", "it would never match", "milliseconds above 0")
        for name in ("delay_ms", "latency_ms"):
            value = getattr(self, name)
            if value is not None:
                Delay.parse(name, value)
        versions: object = self.versions
        if versions is not None and (
            not isinstance(versions, tuple)
            or len(versions) != 2
            or not all(isinstance(v, int) and not isinstance(v, bool) for v in versions)
            or not 0 <= versions[0] <= versions[1]
        ):
            raise FaultError("versions", f"{versions!r} is no range", "[first, last]")

    def _check_acts(self) -> None:
        acts = self.acts
        if not acts:
            raise FaultError(
                "error", "the rule does nothing", f"at least one of {', '.join(_ALL_ACTS)}"
            )
        for field, known in _CHOICES.items():
            if getattr(self, field) not in known:
                problem = f"{getattr(self, field)!r} is unknown"
                raise FaultError(field, problem, ", ".join(filter(None, known)))
        if self.level is not None and self.error is None:
            raise FaultError("level", "there is no error whose level it could be")
        ends = [name for name in _ENDS if name in acts]
        if len(ends) > 1:
            raise FaultError(ends[1], f"it excludes {ends[0]}", f"one of {', '.join(_ENDS)}")
        if self.observe and len(acts) > 1:
            other = next(name for name in acts if name != "observe")
            raise FaultError(other, "a rule that observes does nothing else")
        silent = [name for name in ends if name != "error"]
        mangled = [name for name in _MANGLES if name in acts]
        if silent and mangled:
            raise FaultError(mangled[0], f"with {silent[0]} there is no answer to change")
        if self.twice and (silent or self.error is not None) and self.stage == BEFORE:
            raise FaultError("twice", f"with {ends[0]} before it the request is not processed")
        for about, known, more in _ABOUT:
            wanted = [name for name in known if name in acts]
            if wanted:
                self._check_others(about, wanted[0], known, more)

    def _check_others(
        self, about: str, act: str, known: tuple[str, ...], more: tuple[str, ...]
    ) -> None:
        """A rule about something else than requests."""
        for name in self.acts:
            if name not in known:
                raise FaultError(name, f"{act} is about {about}: make two rules")
        for name, unset in _OF_REQUESTS.items():
            if name not in more and getattr(self, name) != unset:
                raise FaultError(name, f"{act} is about {about}, not requests")
        for name in ("client", "connection"):
            if act in _NOBODY_YET and getattr(self, name) is not None:
                raise FaultError(name, "who is refused has not yet said who it is")
        if self.break_handshake and self.certificate:
            raise FaultError("certificate", "a handshake that is broken off shows none")

    # -- as others read it -----------------------------------------------------------------

    @property
    def acts(self) -> tuple[str, ...]:
        """The names of the fields that say what it does."""
        return tuple(name for name in _ALL_ACTS if _given(getattr(self, name)))

    @property
    def about(self) -> str:
        """What it meets: `requests`, `connections`, `handshakes` or `logins`."""
        for about, acts, _ in _ABOUT:
            if any(_given(getattr(self, name)) for name in acts):
                return about
        return REQUESTS

    @property
    def api_keys(self) -> tuple[int, ...] | None:
        """The keys of the APIs that it names; None: any."""
        if self.api is None:
            return None
        named = self.api if isinstance(self.api, tuple) else (self.api,)
        if not named:
            raise FaultError("api", "it names none, so it would never match")
        return tuple(api_key(name) for name in named)

    @property
    def error_code(self) -> ErrorCode:
        """The error that it answers; NONE when it has none."""
        if self.error is None:
            return ErrorCode.NONE
        return error_code(self.error)

    @property
    def revoked_operation(self) -> str:
        """The operation whose ACLs go, by Kafka's name; "ANY": all. Raises FaultError."""
        name = str(self.revoke_acl).upper()
        if name not in OPERATIONS:
            allowed = ", ".join(OPERATIONS)
            raise FaultError("revoke_acl", f"{self.revoke_acl!r} is no operation", allowed)
        return name

    @property
    def delay(self) -> Delay | None:
        """How long it holds a request back."""
        return None if self.delay_ms is None else Delay.parse("delay_ms", self.delay_ms)

    @property
    def latency(self) -> Delay | None:
        """How long it holds bytes back."""
        return None if self.latency_ms is None else Delay.parse("latency_ms", self.latency_ms)

    # -- plain data ------------------------------------------------------------------------

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Fault:
        """A rule from plain data, such as JSON. Raises FaultError that names the field."""
        values: dict[str, object] = {}
        for key, value in data.items():
            if key not in _FIELDS:
                raise FaultError(str(key), "there is no such field", nearest(str(key), _FIELDS))
            if value is None:
                continue
            values[key] = tuple(value) if isinstance(value, list) else value
        if isinstance(values.get("versions"), str | int):
            values["versions"] = _parse_versions(values["versions"])
        for key in ("delay_ms", "latency_ms"):
            if key in values:
                values[key] = Delay.parse(key, values[key])
        return cls(**cast("dict[str, Any]", values))

    def to_dict(self) -> dict[str, object]:
        """The fields that differ from their defaults, as JSON has them."""
        data: dict[str, object] = {}
        for field in fields(self):
            value: object = getattr(self, field.name)
            if value != field.default:
                data[field.name] = _plain(value)
        return data


_FIELDS: Final = tuple(field.name for field in fields(Fault))
_TEXTS: Final = (
    *("client", "principal", "listener", "topic", "group", "transactional_id"),
    *("revoke_acl", "certificate", "id", "of_preset"),
)
_FLAGS: Final = (
    "park",
    "drop",
    "disconnect",
    "reset",
    "half_close",
    "twice",
    "bad_crc",
    "evict_session",
    "expire_token",
    "observe",
    "maybe",
    "refuse",
    "break_handshake",
    "fail_login",
)
_INT32: Final = 2**31 - 1
_WHOLE: Final = {
    "broker": (0, _INT32),
    "connection": (1, 2**63),
    "partition": (0, _INT32),
    "nth": (1, 2**63),
    "seed": (-(2**63), 2**63),
    "count": (1, 2**63),
    "truncate_at": (0, _INT32),
    "corrupt_at": (-_INT32, _INT32),
    "correlation_shift": (-_INT32, _INT32),
    "throttle_ms": (1, _INT32),
    "bandwidth": (1, 2**63),
    "slice_bytes": (1, _INT32),
}


def _given(value: object) -> bool:
    return value is not None and value is not False


def api_key(name: object) -> int:
    """The key of an API by name (Fetch, FETCH, fetch) or key. Raises FaultError."""
    if isinstance(name, str):
        key = _BY_NAME.get(name.lower().replace("-", "_"))
        if key is not None:
            return key
    elif isinstance(name, int) and not isinstance(name, bool) and name in API_SPECS:
        return int(name)
    raise FaultError("api", f"{name!r} is no API", "Kafka's names, such as Fetch, or keys")


def error_code(name: object) -> ErrorCode:
    """An error by Kafka's name or number, but not NONE. Raises FaultError."""
    allowed = "Kafka's names, such as NOT_LEADER_OR_FOLLOWER, or numbers"
    try:
        code = ErrorCode[name.upper()] if isinstance(name, str) else ErrorCode(cast("int", name))
    except (KeyError, ValueError):
        raise FaultError("error", f"{name!r} is no error of Kafka", allowed) from None
    if code is ErrorCode.NONE or isinstance(name, bool):
        raise FaultError("error", f"{name!r} is no error", allowed)
    return code


def _check_text(name: str, value: object) -> None:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise FaultError(name, "it has half of a surrogate pair", "characters") from None
    if value is not None and (not isinstance(value, str) or not value):
        raise FaultError(name, f"{value!r} is no text")


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FaultError(name, f"{value!r} is out of range", f"a whole number from {low}")
    if name == "correlation_shift" and not value:
        raise FaultError(name, "0 shifts nothing", "a whole number other than 0")


def _milliseconds(field: str, value: object, allowed: str = "milliseconds, 0 or more") -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not isfinite(number := float(cast("float", value))) or number < 0:
        raise FaultError(field, f"{value!r} is no time", allowed)
    if number > MAX_DELAY_MS:
        raise FaultError(field, f"{value!r} is too long", allowed)
    return number


def _parse_versions(value: object) -> tuple[int, int]:
    """4, "4", "4-12"."""
    first, dash, last = str(value).partition("-")
    try:
        return int(first), int(last if dash else first)
    except ValueError:
        raise FaultError("versions", f"{value!r} is no range", '4, "4-12" or [4, 12]') from None


def _plain(value: object) -> object:
    if isinstance(value, Delay):
        return value.to_json()
    if isinstance(value, tuple):
        return list(value)
    if callable(value):
        return f"<function {getattr(value, '__qualname__', value)}>"
    return int(value) if isinstance(value, ApiKey | ErrorCode) else value
