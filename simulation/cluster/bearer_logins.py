"""Who logs in by OAUTHBEARER in the cluster's simulation, with tokens of `bearer_tokens`.

At one listener nobody signs tokens, at another they are signed by keys that come and go. A token
that is valid lets in whose it is for as long as it is good; one that is not is answered by why, as
far as its client may know, and by nothing more. A token that the broker made for a test is valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simulation.cluster.bearer_tokens import BearerToken, Keys, signed, unsecured

if TYPE_CHECKING:
    from random import Random

    from mockbroker.node.broker import Broker
    from simulation.cluster.talks import Talk
    from simulation.world import World

MECHANISM: Final = "OAUTHBEARER"
LONGEST_MS: Final = 60_000
"""How long a session lasts at most: `connections.max.reauth.ms`."""
TOLD_NOTHING: Final = b"\x01"


def first_message(token: str, scheme: str = "Bearer", authzid: str = "", extra: str = "") -> bytes:
    """What a client sends first."""
    name = f"a={authzid}" if authzid else ""
    return f"n,{name},\x01auth={scheme} {token}\x01{extra}\x01".encode()


class BearerLogins:
    """Those of a run."""

    def __init__(self, world: World, rng: Random, listeners: tuple[str, str]) -> None:
        self._rng = rng
        self.unsecured, self.signed = listeners
        self.keys = Keys()
        for node in world.cluster.nodes:
            node.config.token_keys[self.signed] = self.keys

    def log_in(self, talk: Talk, listener: str) -> str:
        """Try a token; what is wrong with what came of it, empty: nothing."""
        now_ms = talk.broker.services.clock.wall_ms()
        if listener == self.signed:
            if self._rng.random() < 0.2:
                self.keys.change(self._rng)
            token = signed(self._rng, now_ms, self.keys)
        elif self._rng.random() < 0.15:
            return self._spoil(talk, unsecured(self._rng, now_ms))
        else:
            token = unsecured(self._rng, now_ms)
        asked_before = self.keys.asked_anew
        wrong = self._show(talk, token, now_ms)
        if (self.keys.asked_anew > asked_before) != token.misses_key and not wrong:
            wrong = f"keys were asked for {self.keys.asked_anew - asked_before} times"
        return f"a token {token.what}: {wrong}" if wrong else ""

    def _show(self, talk: Talk, token: BearerToken, now_ms: int) -> str:
        if talk.choose(MECHANISM) is None:
            return ""
        answer = talk.token(first_message(token.text))
        if answer is None:
            return ""
        told = bytes(answer.auth_bytes)
        if token.principal is None:
            if told != token.status:
                return f"is answered {told!r}, not {token.status!r}"
            again = talk.token(TOLD_NOTHING)
            return "lets somebody in" if again is not None or talk.is_served() else ""
        lifetime_ms = max(0, min(LONGEST_MS, token.expires_ms - now_ms))
        if answer.error_code or told or answer.session_lifetime_ms != lifetime_ms:
            return f"is answered {answer}, not a session of {lifetime_ms} ms"
        wanted = f"User:{token.principal}"
        return "" if talk.principal == wanted else f"is of {talk.principal}, not of {wanted}"

    def _spoil(self, talk: Talk, token: BearerToken) -> str:
        """A first message that is none, or for somebody else."""
        text = token.text
        messages = {
            "without anything": b"",
            "without an end": first_message(text)[:-1],
            "of another scheme": first_message(text, "Basic"),
            "without a token": first_message(""),
            "in the name of another": first_message(text, authzid="admin"),
            "of a byte": TOLD_NOTHING,
        }
        what = self._rng.choice([*messages])
        if talk.choose(MECHANISM) is None:
            return ""
        answer = talk.token(messages[what])
        is_told = token.principal is None and what == "in the name of another"
        if (answer is not None and not is_told) or talk.is_served():
            return f"a message {what} is answered {answer}"
        return ""

    def log_in_with_an_own(self, talk: Talk, broker: Broker, listener: str) -> str:
        """One that the broker makes for a test."""
        if listener == self.signed and not (self.keys.is_readable and "curve" in self.keys.there):
            return ""
        wanted = "tester", listener, 30_000, self._rng.choice((None, {"more": 1}))
        text = broker.services.admission.make_token([self.unsecured, self.signed], wanted)
        now_ms = broker.services.clock.wall_ms()
        expires_ms = (now_ms + 30_000) // 1000 * 1000
        return self._show(talk, BearerToken(text, "of a test", "tester", expires_ms), now_ms)
