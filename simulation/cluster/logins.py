"""Those who log in at a listener of simulated brokers that wants it, by PLAIN, rightly and wrongly.

Each asks past the network, between two events, all frames at once: who is served is told by how
many answers there are, since a login that fails is told later and ends the connection. Nothing is
served before a login, and who proves anew who it is (KIP-368) may be nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from simulation.clients import frame_of
from simulation.cluster.crews import Crew
from simulation.cluster.plan import LOGIN_LISTENER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulation.cluster.crews import CrewSetting

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
)


class LoginCrew(Crew):
    """Tries some now and then, where a seed draws "logins"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("logins")
        self._stopped = not self.plan.on["logins"]
        self.tried = 0

    def counts(self) -> Mapping[str, int]:
        return {"logins": self.tried}

    def start(self) -> None:
        self.world.at(EVERY_MS, self._act)

    def stop(self) -> None:
        self._stopped = True

    def _act(self) -> None:
        if self._stopped:
            return
        brokers = self.world.cluster.brokers
        if brokers:
            for attempt in self._rng.sample(ATTEMPTS, AT_ONCE):
                self._try(attempt, self._rng.randrange(len(brokers)))
        self.world.at(EVERY_MS, self._act)

    def _try(self, attempt: Attempt, at: int) -> None:
        broker = self.world.cluster.brokers[at]
        frames = [
            frame_of(request, version, number, "logins")
            for number, (request, version) in enumerate(attempt.frames)
        ]
        answers = self.world.probe(b"".join(frames), broker, listener=LOGIN_LISTENER)
        self.tried += 1
        slow = self.plan.on["limits"]  # what is made in slices is not answered at once
        if len(answers) > attempt.answers or (len(answers) < attempt.answers and not slow):
            self.world.violate(
                f"broker {broker.broker_id} answers {len(answers)} requests of {attempt.who}, not "
                f"{attempt.answers}"
            )
