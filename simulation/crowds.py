"""Clients that come to disturb: they open sessions and leave them, and close those of others.

A crowd fills the session cache, so that sessions are refused and evicted; some of it poses as a
follower, whose sessions are privileged. A thief closes a session that is not its own, which any
connection may do (KIP-227 has no owner of a session).
"""

from __future__ import annotations

from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from simulation.clients import Client
from simulation.session_handler import RequestedPartition, SessionKey, topics_of

VERSION = 12


class Crowd(Client):
    """Opens a session, or closes one of somebody, again and again."""

    def ready(self) -> None:
        mean_ms = self.plan.active_ms / 10
        self.after(self.rng.expovariate(1 / mean_ms) * self.plan.time_scale, self._act)

    def _act(self) -> None:
        if self.stopped:
            return
        on = self.plan.on
        if on["thief"] and (not on["crowd"] or self.rng.random() < 0.5):
            self.close_session(self.somebodys_session())
        else:
            self.open_session()

    def open_session(self) -> None:
        """A full fetch, of which the answer's session is forgotten."""
        wanted: dict[SessionKey, RequestedPartition] = {
            (name, index): RequestedPartition(0, 1000, -1)
            for name in self.plan.topics
            for index in range(self.rng.randint(0, 4))
        }
        # The only replica there is: a follower that claims to be it is served, and privileged.
        replica_id = self.world.broker.broker_id if self.rng.random() < 0.2 else -1
        request = FetchRequest(
            replica_id=replica_id, session_epoch=0, topics=topics_of(wanted, by_id=False)
        )
        self.call(request, VERSION, FetchResponse, self._opened)

    def close_session(self, session_id: int) -> None:
        """End a session, whoever opened it."""
        self.call(FetchRequest(session_id=session_id), VERSION, FetchResponse, self._closed)

    def _opened(self, answer: FetchResponse) -> None:
        self.world.note(self.name, f"opened {answer.session_id}")
        if answer.error_code:
            self.world.violate(f"{self.name}: a full fetch answers {answer.error_code}")
        self.ready()

    def _closed(self, answer: FetchResponse) -> None:
        self.world.note(self.name, "closed a session")
        if answer.error_code or answer.session_id:
            self.world.violate(f"{self.name}: closing answers {answer.error_code}")
        self.ready()

    def somebodys_session(self) -> int:
        """The id of a session that is open, if there is any."""
        shards = self.world.broker.services.fetch.cache.shards
        ids = [session_id for shard in shards for session_id in shard.sessions]
        return self.rng.choice(ids) if ids else self.rng.randrange(1, 2**31)
