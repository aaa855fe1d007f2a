"""Those who log in at listeners of simulated brokers that want it, rightly and wrongly.

Each asks past the network, between two events. Nothing is served before a login; who proves anew
who it is (KIP-368) may be nobody else, nor by another mechanism. Users of SCRAM, delegation tokens
and bearer tokens, and what must come of them, are in modules of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from simulation.clients import frame_of
from simulation.cluster.bearer_logins import BearerLogins
from simulation.cluster.crews import Crew
from simulation.cluster.plan import LOGIN_LISTENER, SIGNED_LISTENER
from simulation.cluster.scram_logins import (
    CODES,
    CONFIGURED,
    PASSWORDS,
    SPOILT,
    STRANGER,
    USERS,
    ScramUsers,
    log_in,
)
from simulation.cluster.session_holders import SessionHolder
from simulation.cluster.talks import talk
from simulation.cluster.token_logins import DelegationTokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.node.broker import Broker
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.talks import Talk

EVERY_MS = 100.0
AT_ONCE = 4
METADATA: Final = (MetadataRequest(None), 5)
VERSIONS: Final = (ApiVersionsRequest("logins", "1.0"), 3)
HANDSHAKE: Final = (SaslHandshakeRequest("PLAIN"), 1)
Frames = tuple[tuple[object, int], ...]


class Attempt(NamedTuple):
    """What somebody sends, and how many answers come at once."""

    who: str
    frames: Frames
    answers: int


def _login(token: bytes) -> Frames:
    return (HANDSHAKE, (SaslAuthenticateRequest(token), 2), METADATA)


ALICE: Final = b"\0alice\0alice-secret"
ATTEMPTS: Final = (
    Attempt("a user", _login(ALICE), 3),
    Attempt("a user by its own name", _login(b"alice" + ALICE), 3),
    Attempt("another password", _login(b"\0alice\0admin-secret"), 1),
    Attempt("a stranger", _login(b"\0mallory\0alice-secret"), 1),
    Attempt("a user in the name of another", _login(b"admin" + ALICE), 1),
    Attempt("nobody", (METADATA,), 0),
    Attempt("nobody who has asked for versions", (VERSIONS, METADATA), 1),
    Attempt("nobody who has chosen a mechanism", (HANDSHAKE, METADATA), 1),
    Attempt("a user again", (*_login(ALICE), *_login(ALICE)), 6),
    Attempt("another user", (*_login(ALICE), *_login(b"\0admin\0admin-secret")), 4),
    Attempt(
        "a user by another mechanism",
        (*_login(ALICE), (SaslHandshakeRequest("SCRAM-SHA-256"), 1), METADATA),
        4,
    ),
    Attempt("a mechanism that there is not", ((SaslHandshakeRequest("GSSAPI"), 1), METADATA), 0),
    Attempt("a user without a password", _login(b"\0alice\0"), 1),
    Attempt("a name without more", _login(b"alice"), 1),
    Attempt("a user who has not chosen PLAIN", ((SaslAuthenticateRequest(ALICE), 2), METADATA), 0),
    Attempt("a user who logs in twice", (*_login(ALICE), (SaslAuthenticateRequest(ALICE), 2)), 4),
)


class LoginCrew(Crew):
    """Tries some now and then, where a seed draws "logins"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("logins")
        self._stopped = not self.plan.on["logins"]
        self._slow = self.plan.on["limits"]
        """What is made in slices is not answered at once."""
        self.tried = 0
        self.holders = setting.hire(SessionHolder, "holder", int(self.plan.on["logins"]))
        self.clients = [*self.holders]
        if self._stopped:
            return
        cluster = self.world.cluster
        self.users = ScramUsers(cluster, self._rng)
        self.tokens = DelegationTokens(cluster, self._rng)
        self.bearers = BearerLogins(self.world, self._rng, (LOGIN_LISTENER, SIGNED_LISTENER))
        self._acts: tuple[Callable[[Broker], str], ...] = (
            self._by_scram,
            partial(self._in_the_clear, self.users.alter),
            partial(self._in_the_clear, self.users.describe),
            partial(self._in_the_clear, self.tokens.is_refused),
            self._by_password,
            self._by_password,
            self._by_token,
            partial(self._by_bearer, LOGIN_LISTENER),
            partial(self._by_bearer, SIGNED_LISTENER),
            self._by_own_token,
            self._by_bare_tokens,
            self._by_rule,
        )

    def counts(self) -> Mapping[str, int]:
        return {"logins": self.tried, "in sessions": sum(each.served for each in self.holders)}

    def start(self) -> None:
        super().start()
        self.world.at(EVERY_MS, self._act)

    def stop(self) -> None:
        super().stop()
        self._stopped = True

    def _act(self) -> None:
        if self._stopped:
            return
        brokers = self.world.cluster.brokers
        if brokers:
            for attempt in self._rng.sample(ATTEMPTS, AT_ONCE):
                self._try(attempt, self._rng.randrange(len(brokers)))
            for act in self._rng.sample(self._acts, AT_ONCE):
                self._do(act, self._rng.choice(brokers))
            self.world.operate(lambda: None)  # what was changed goes to all
        self.world.at(EVERY_MS, self._act)

    def _do(self, act: Callable[[Broker], str], broker: Broker) -> None:
        self.tried += 1
        wrong = act(broker)
        if wrong:
            self.world.violate(f"broker {broker.broker_id}: {wrong}")

    def _try(self, attempt: Attempt, at: int) -> None:
        broker = self.world.cluster.brokers[at]
        frames = [
            frame_of(request, version, number, "logins")
            for number, (request, version) in enumerate(attempt.frames)
        ]
        answers = self.world.probe(b"".join(frames), broker, listener=LOGIN_LISTENER)
        self.tried += 1
        if len(answers) > attempt.answers or (len(answers) < attempt.answers and not self._slow):
            self.world.violate(
                f"broker {broker.broker_id} answers {len(answers)} requests of {attempt.who}, not "
                f"{attempt.answers}"
            )

    def _is_wrong(self, served: bool, wanted: bool) -> bool:
        return served > wanted or (served < wanted and not self._slow)

    # -- one attempt ---------------------------------------------------------------------------

    def _in_the_clear(self, ask: Callable[[Talk], str], broker: Broker) -> str:
        """Where nobody has to log in."""
        with talk(self.world, broker, "PLAINTEXT") as one:
            return ask(one)

    def _by_scram(self, broker: Broker) -> str:
        rng = self._rng
        mechanism = rng.choice([*CODES])
        user, password = rng.choice(
            (CONFIGURED, (STRANGER, PASSWORDS[0]), *((rng.choice(USERS), one) for one in PASSWORDS))
        )
        spoil = rng.choice(SPOILT) if rng.random() < 0.3 else ""
        knows = self.users.knows(broker.services.metadata, mechanism, user, password)
        with talk(self.world, broker, LOGIN_LISTENER) as one:
            login = log_in(one, mechanism, user, password, spoil=spoil)
        wanted = knows and not spoil
        if self._is_wrong(login.served, wanted) or (
            login.served and login.principal != f"User:{user}"
        ):
            return f"{user!r} by {mechanism} {spoil or 'as it should be'}: {login}"
        return login.wrong if wanted and not self._slow else ""

    def _by_password(self, broker: Broker) -> str:
        """A user who has logged in does something with delegation tokens."""
        name = self._rng.choice(("alice", "admin"))
        with talk(self.world, broker, LOGIN_LISTENER) as one:
            one.choose("PLAIN")
            one.token(f"\0{name}\0{name}-secret".encode())
            if not one.is_served():
                return "" if self._slow else f"{name} is not served"
            return self.tokens.act(one, f"User:{name}")

    def _by_token(self, broker: Broker) -> str:
        """Somebody who has a delegation token, perhaps of before, or a part of one."""
        rng = self._rng
        if not self.tokens.made:
            return ""
        token = rng.choice(self.tokens.made[-4:])
        is_whole = rng.random() < 0.8
        password = token.password if is_whole else token.password[:-4]
        known = broker.services.metadata.delegation_tokens.get(token.token_id)
        wanted = is_whole and self.tokens.is_good(broker, token)
        with talk(self.world, broker, LOGIN_LISTENER) as one:
            login = log_in(one, rng.choice([*CODES]), token.token_id, password, token=True)
            # A round may have removed it while it logged in.
            stays = login.served or self.tokens.is_good(broker, token)
            if stays and self._is_wrong(login.served, wanted):
                return f"{token}: {login}, of {known}"
            if not login.served:
                return ""
            assert known is not None
            left_ms = known.expiry_wall_ms - broker.services.clock.wall_ms()
            told = login.principal, login.lifetime_ms
            if told != (token.owner, max(0, min(60_000, left_ms))):
                return f"{token} of {left_ms} ms: {login}"
            return self.tokens.is_refused(one)

    def _by_bearer(self, listener: str, broker: Broker) -> str:
        with talk(self.world, broker, listener) as one:
            wrong = self.bearers.log_in(one, listener)
        return "" if self._slow and "lets" not in wrong else wrong

    def _by_own_token(self, broker: Broker) -> str:
        listener = self._rng.choice((LOGIN_LISTENER, SIGNED_LISTENER))
        with talk(self.world, broker, listener) as one:
            wrong = self.bearers.log_in_with_an_own(one, broker, listener)
        return "" if self._slow else wrong

    def _by_bare_tokens(self, broker: Broker) -> str:
        """After a handshake v0 tokens come without a request around them."""
        is_right = self._rng.random() < 0.5
        with talk(self.world, broker, LOGIN_LISTENER) as one:
            one.choose("PLAIN", 0)
            answer = one.bare_token(ALICE if is_right else b"\0alice\0wrong")
            if answer != (b"" if is_right else None) and not (self._slow and answer is None):
                return f"a bare token is answered {answer!r}"
            served = one.is_served()
        return f"a bare token: {served}" if self._is_wrong(served, is_right) else ""

    def _by_rule(self, broker: Broker) -> str:
        """While a fault rule fails the logins of a user, that one is told of a wrong password."""
        faults, mechanism = self.world.cluster.faults, self._rng.choice(("PLAIN", "SCRAM-SHA-256"))
        name = "alice" if mechanism == "PLAIN" else CONFIGURED[0]
        rule = {"fail_login": True, "principal": f"User:{name[:2]}*", "client": "log*"}
        armed: list[str] = []
        self.world.operate(lambda: armed.extend(faults.add(rule)))
        served = [self._logs_in(broker, mechanism, name), self._logs_in(broker, "PLAIN", "admin")]
        hits = next(one.hits for one in faults.list() if one.id == armed[0])
        self.world.operate(lambda: faults.remove(armed[0]))
        served.append(self._logs_in(broker, mechanism, name))
        if served[0] or (not all(served[1:]) and not self._slow):
            return f"{name} by {mechanism}, admin, and {name} without a rule: {served}"
        return "" if hits == 1 or self._slow else f"a rule about {name} fired {hits} times"

    def _logs_in(self, broker: Broker, mechanism: str, name: str) -> bool:
        """Whether a user with the right password is served."""
        with talk(self.world, broker, LOGIN_LISTENER) as one:
            if mechanism != "PLAIN":
                return log_in(one, mechanism, name, f"{name}-secret").served
            one.choose(mechanism)
            one.token(f"\0{name}\0{name}-secret".encode())
            return one.is_served()
