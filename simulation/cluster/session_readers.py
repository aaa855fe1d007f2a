"""Readers of the cluster's simulation that keep a fetch session at each broker (KIP-227).

A reader fetches each partition from its leader or, if it likes, from any replica, by v7 to v18.
What a session told is held against a full fetch of the same broker: what that tells between two
answers of a session, the second of them must have told too; and in the end nothing is left untold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse, ReplicaState
from mockbroker_protocol.versions import FETCH_TOPIC_IDS
from simulation.checkers import check_cache
from simulation.clients import fetch_at_once
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew, CrewSetting
from simulation.consumers import (
    FIRST_VERSION_WITH_HIGH_WATERMARKS,
    FIRST_VERSION_WITH_REPLICA_STATE,
    told_high_watermark,
)
from simulation.record_reader import read_records
from simulation.session_handler import (
    UNKNOWN_HIGH_WATERMARK,
    FetchBody,
    FetchSessionHandler,
    RequestedPartition,
    size_of,
    told_by_key,
    topics_of,
)

if TYPE_CHECKING:
    from random import Random

    from mockbroker_protocol.messages.fetch import FetchResponsePartition
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.session_handler import AnsweredPartition, SessionKey

SESSION_KIND = "fetch_sessions"
READERS = 2
FIRST_VERSION, FIRST_VERSION_FROM_FOLLOWERS = 7, 11
MAX_WAIT_MS = 100
PAUSE_MS = 60
LOOK_EVERY_MS = 100.0
NO_LIMIT = 1 << 20
Part = tuple[str, int]


class NodeSession:
    """A reader's session at one broker."""

    def __init__(self) -> None:
        self.handler = FetchSessionHandler()
        self.untold: dict[SessionKey, AnsweredPartition] = {}
        """What a full fetch told after the last answer, and the session had not."""
        self.asked_ms: dict[SessionKey, float] = {}
        """When it asked for what it was last told of a partition."""


class SessionReader(ClusterClient):
    """Reads all partitions, broker by broker."""

    reads_on = True

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.may_lose = plan.may_lose
        self.version = rng.choice((FIRST_VERSION, 11, 12, 13, 15, 17, 18))
        self.from_followers = self.version >= FIRST_VERSION_FROM_FOLLOWERS and rng.random() < 0.5
        self.tells_high_watermarks = (
            self.version >= FIRST_VERSION_WITH_HIGH_WATERMARKS and rng.random() < 0.5
        )
        self.positions = dict.fromkeys(self.parts, 0)
        self.checks = 0
        self._homes: dict[Part, int] = {}
        self._sessions: dict[int, NodeSession] = {}
        self._ids = {name: world.cluster.metadata.topics[name].id for name in plan.topics}

    @property
    def by_id(self) -> bool:
        """Whether its version names topics by id."""
        return self.version >= FETCH_TOPIC_IDS

    def begin(self) -> None:
        missing = [part for part in self.parts if part not in self._homes]
        if missing and not all(part in self.leaders for part in missing):
            self.learn()
            return
        for part in missing:
            self._homes[part] = self._home(part)
        if self.rng.random() < 0.03:
            self._leave(self.rng.choice(self.parts))
            self.later(1.0)
            return
        self._poll(self.rng.choice(sorted(set(self._homes.values()))))

    def _home(self, part: Part) -> int:
        if self.from_followers and self.rng.random() < 0.5:
            truth = self.truth.find(*part)
            assert truth is not None
            return self.rng.choice(truth.state.replicas)
        return self.leaders[part][0]

    def _leave(self, part: Part) -> None:
        """Read it elsewhere, or ask who leads it."""
        self._homes.pop(part, None)
        self.forget(part)

    def _key(self, part: Part) -> SessionKey:
        return (self._ids[part[0]] if self.by_id else part[0]), part[1]

    def _name(self, topic: str | bytes) -> str:
        """Of a topic as the session goes."""
        if isinstance(topic, str):
            return topic
        return next(name for name, topic_id in self._ids.items() if topic_id == topic)

    # -- polling ---------------------------------------------------------------------------

    def _poll(self, node: int) -> None:
        session = self._sessions.setdefault(node, NodeSession())
        wanted = {
            self._key(part): RequestedPartition(
                self.positions[part],
                NO_LIMIT,
                -1,
                high_watermark=told_high_watermark(session.handler, self._key(part))
                if self.tells_high_watermarks
                else UNKNOWN_HIGH_WATERMARK,
            )
            for part, home in self._homes.items()
            if home == node
        }
        body = session.handler.build(wanted, by_id=self.by_id)
        full, asked_ms = session.handler.is_full, self.world.now_ms

        def answered(answer: FetchResponse | None) -> None:
            if answer is None:
                self.note(f"no answer of {node}")
                session.handler.lost()
                session.untold = {}
                for part in [part for part, home in self._homes.items() if home == node]:
                    self._leave(part)
                self.later()
                return
            self._take(node, session, answer, full=full)
            if not answer.error_code:
                told = told_by_key(answer, by_id=self.by_id)
                session.asked_ms.update(dict.fromkeys(told, asked_ms))
            self.later(self.rng.random() * PAUSE_MS)

        self.ask(node, self._request(body, MAX_WAIT_MS), self.version, FetchResponse, answered)

    def _request(self, body: FetchBody, max_wait_ms: int) -> FetchRequest:
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=NO_LIMIT,
            session_id=body.session_id,
            session_epoch=body.epoch,
            topics=body.topics,
            forgotten_topics_data=body.forgotten,
            replica_state=ReplicaState()
            if self.version >= FIRST_VERSION_WITH_REPLICA_STATE
            else None,
        )

    def _take(self, node: int, session: NodeSession, answer: FetchResponse, *, full: bool) -> None:
        before = dict(session.handler.view)
        wrong = session.handler.accept(answer)
        if wrong is not None:
            self.world.violate(f"{self.name}: {wrong}")
        if answer.error_code:
            self.note(f"session at {node} ends with {answer.error_code}")
            session.untold = {}
            return
        told = told_by_key(answer, by_id=self.by_id)
        if not full:
            self._check_told(node, session, told)
            self._check_high_watermarks(node, session, before, told)
        for topic in answer.responses:
            name = self._name(topic.topic_id if self.by_id else topic.topic)
            for data in topic.partitions:
                self._read(node, (name, data.partition_index), data)
        self._look(node, session)

    def _read(self, node: int, part: Part, data: FetchResponsePartition) -> None:
        if self._homes.get(part) != node:
            return
        if data.error_code:
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and node == self.leaders[part][0]:
                self.positions[part] = 0  # after an unclean election
            self._leave(part)
            return
        reading = read_records(data, self.positions[part], committed=False)
        if reading.wrong is not None:
            self.world.violate(f"{self.name}: {reading.wrong}")
        for offset, value in reading.records:
            self.truth.was_read(self.name, *part, offset, value)
        if size_of(data):
            self.note(f"read {part[0]}-{part[1]} to {reading.end} at {node}")
        self.positions[part] = reading.end

    # -- what must hold --------------------------------------------------------------------

    def _check_told(
        self, node: int, session: NodeSession, told: dict[SessionKey, AnsweredPartition]
    ) -> None:
        """What was untold before this answer must be in it, if it is so still.

        A follower's high watermark may have gone back, and come again to what the session has.
        """
        untold = session.untold
        missing = [key for key in untold if key in session.handler.asked and key not in told]
        if missing:
            self._look(node, session)
        for key in missing:
            if session.untold.get(key) == untold[key]:
                self.world.violate(
                    f"{self.name}: its session at {node} does not tell {untold[key]} of {key}"
                )

    def _check_high_watermarks(
        self,
        node: int,
        session: NodeSession,
        before: dict[SessionKey, AnsweredPartition],
        told: dict[SessionKey, AnsweredPartition],
    ) -> None:
        """They go back only where `Truth` has seen that since: a new leader's is behind."""
        for key, now in told.items():
            was = before.get(key)
            if was is None or was.error or now.error or self.may_lose:
                continue
            if now.high_watermark >= was.high_watermark:
                continue
            lowered_ms = self.truth.lowered_ms(self._name(key[0]), key[1], node)
            if lowered_ms < session.asked_ms[key]:
                self.world.violate(
                    f"{self.name}: the high watermark of {key} at {node} went back from "
                    f"{was.high_watermark} to {now.high_watermark}"
                )

    def _look(self, node: int, session: NodeSession) -> None:
        """A full fetch of what the session has, past the network."""
        handler = session.handler
        broker = self.world.cluster.broker(node)
        session.untold = {}
        if broker is None or handler.is_full:
            return
        request = self._request(FetchBody(0, -1, topics_of(handler.asked, self.by_id), []), 0)
        full = fetch_at_once(self.world, request, self.version, broker)
        for key, tells in told_by_key(full, by_id=self.by_id).items():
            held = handler.view.get(key)
            if held is not None and not tells.error and not held.error and held != tells:
                session.untold[key] = tells
        self.checks += 1

    def untold(self) -> str:
        """What a session has not told yet; empty: nothing."""
        for node, session in self._sessions.items():
            if session.untold and node in self._homes.values():
                return f"{self.name} is not told {session.untold} by {node}"
        return ""


class SessionCrew(Crew):
    """The readers with sessions, and a look into all brokers' caches now and then."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.readers: list[SessionReader] = []
        self._setting = setting
        self._calm = False

    def start(self) -> None:
        """The topics are there now."""
        if not self.plan.on[SESSION_KIND]:
            return
        self.readers = self._setting.hire(SessionReader, "session", READERS)
        self.clients = [*self.readers]
        super().start()
        self.world.at(LOOK_EVERY_MS, self._look)

    def _look(self) -> None:
        for broker in self.world.cluster.brokers:
            check_cache(self.world, broker)
        if not self._calm:
            self.world.at(LOOK_EVERY_MS, self._look)

    def stop(self) -> None:
        super().stop()
        self._calm = True

    def counts(self) -> dict[str, int]:
        return {"sessions' answers": sum(reader.checks for reader in self.readers)}

    def behind(self) -> str:
        for reader in self.readers:
            for part, position in reader.positions.items():
                if position != self.truth.end_offset(*part):
                    return f"{reader.name} with {part[0]}-{part[1]}"
            told = reader.untold()
            if told:
                return told
        return ""

    def check(self) -> None:
        self._look()
