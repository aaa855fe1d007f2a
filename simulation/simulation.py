"""One run from one seed: `simulate(seed)` builds a world, lets it live, calms it and looks.

A run has rounds. In each, actors act and faults strike for some time; then producers, admin and
operator stop, the network is perfect, readers read to the end, and every session's view is held
against full fetches. At last all leave, and nothing may be left behind.

The report of a failed run says which rules were broken, what happened last, and how to run the
seed again. Nothing but the seed decides: two runs of it have one trace hash.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from mockbroker.metadata.topic_requests import NewTopic
from simulation.admins import SEGMENT_CONFIG, Admin
from simulation.checkers import (
    AnswerChecker,
    check_cache,
    check_no_sessions,
    check_nothing_waits,
    check_segments,
)
from simulation.clients import Setting
from simulation.consumer_styles import ConsumerStyle
from simulation.consumers import Consumer
from simulation.crowds import Crowd
from simulation.faults import NetworkFaults, SwarmPlan
from simulation.ledger import Ledger
from simulation.operators import Operator
from simulation.parked import needless_waits
from simulation.producers import Producer, ProducerStyle
from simulation.runner import Report, carry_out
from simulation.session_audits import SessionAudits
from simulation.turns import KIND as TURNS
from simulation.turns import Turns
from simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

SETTLING_MS = 30_000.0
"""How long readers may take to read to the end once nothing changes, before slow motion."""
CUT_HEARD_WITHIN_MS = 10.0


def stream_of(seed: int, purpose: str) -> Random:
    """A seed's own randomness for one purpose."""
    return Random(f"{seed}/{purpose}")


def swarm_plan_of(seed: int) -> SwarmPlan:
    """The plan that a seed gives."""
    return SwarmPlan(stream_of(seed, "plan"))


class Run:
    """The actors of one seed in their world; `plan` in place of the one that the seed gives."""

    def __init__(self, seed: int, plan: SwarmPlan | None = None) -> None:
        self.seed = seed
        self.command = "python -m simulation"
        plan = self.plan = plan or swarm_plan_of(seed)
        config = {
            "max.incremental.fetch.session.cache.slots": str(plan.cache_slots),
            "min.incremental.fetch.session.eviction.ms": str(plan.eviction_ms),
            "auto.create.topics.enable": "false",
        }
        with plan.limits.lowered():
            self.world = World(config, {}, substream=self.stream, faults=NetworkFaults())
        if plan.on[TURNS]:
            self.world.turns = Turns(self.stream(TURNS))
        self.ledger = Ledger(self.world)
        self.answers = AnswerChecker(self.world)
        self.sessions = SessionAudits(
            self.world, self.answers, self.stream("sessions"), plan.eviction_ms, plan.time_scale
        )
        self.world.on_step.append(self._look_at_parked)
        setting = self.setting = Setting(self.world, self.answers, self.ledger, plan)
        self.admin = Admin(setting, "admin", self.stream("admin"))
        self.crowd = Crowd(setting, "crowd", self.stream("crowd"))
        self.operator = Operator(setting, "operator", self.stream("operator"))
        consumers = (f"consumer{n}" for n in range(plan.consumers))
        producers = (f"producer{n}" for n in range(plan.producers))
        self.consumers = [self.make_consumer(n) for n in consumers if n not in plan.without]
        self.producers = [self.make_producer(n) for n in producers if n not in plan.without]
        self._cut_rng = self.stream("cuts")

    def counts(self) -> dict[str, int]:
        """What the run did, by name."""
        cache = self.world.broker.services.fetch.cache
        return {
            "answers": self.answers.answers,
            "records": sum(consumer.reading.records for consumer in self.consumers),
            "views": sum(consumer.checks for consumer in self.consumers),
            "evictions": cache.evictions,
            "expired": self.world.broker.services.replicas.fetch_purgatory.expired,
        }

    def stream(self, purpose: str) -> Random:
        """The seed's own randomness for one purpose."""
        return stream_of(self.seed, purpose)

    def _look_at_parked(self) -> None:
        for needless in needless_waits(self.world.broker):
            self.world.violate(needless)

    def make_consumer(self, name: str) -> Consumer:
        """A consumer in the style that the seed gives it."""
        rng = self.stream(name)
        return Consumer(self.setting, name, rng, ConsumerStyle(rng, self.plan))

    def make_producer(self, name: str) -> Producer:
        """A producer in the style that the seed gives it."""
        rng = self.stream(name)
        return Producer(self.setting, name, rng, ProducerStyle(rng, self.plan))

    # -- phases ----------------------------------------------------------------------------

    def live(self) -> None:
        """From the first connection to the last check."""
        with self.plan.limits.lowered():
            self.create_topics()
            for number in range(self.plan.rounds):
                self._live(first=not number)
                if not self.calm():
                    break
            self.leave()

    def create_topics(self) -> None:
        """The topics are there before anyone comes, with the segments of the plan."""
        configs: tuple[tuple[str, str], ...] = ()
        if self.plan.segment_bytes is not None:
            configs = ((SEGMENT_CONFIG, str(self.plan.segment_bytes)),)
        for name, partitions in self.plan.topics.items():
            self.world.cluster.controller.create_topics(
                [NewTopic(name, partitions, configs=configs)]
            )

    def _live(self, *, first: bool) -> None:
        """Everybody acts, and the faults of the plan strike."""
        world, plan = self.world, self.plan
        world.faults = replace(plan.network)
        if first:
            for actor in (self.admin, self.crowd, *self.consumers, *self.producers):
                actor.start()
            self.operator.start()
        else:
            for actor in (self.admin, self.crowd, *self.producers):
                actor.go_on()
            self.operator.go_on()
            for consumer in self.consumers:
                consumer.quiet_since = None
        if plan.network.cut_every_ms:
            self._cut_later()
        world.run_for(plan.active_ms * plan.time_scale)
        check_cache(world)

    def _cut_later(self) -> None:
        mean_ms = self.world.faults.cut_every_ms
        if mean_ms:
            delay_ms = self._cut_rng.expovariate(1 / mean_ms) * self.plan.time_scale
            self.world.at(delay_ms, self._cut)

    def _cut(self) -> None:
        """One connection breaks."""
        wires = [wire for wire in self.world.wires() if wire.open]
        if wires and self.world.faults.cut_every_ms:
            heard_after_ms = self._cut_rng.random() * CUT_HEARD_WITHIN_MS
            self._cut_rng.choice(wires).cut(heard_after_ms)
        self._cut_later()

    def calm(self) -> bool:
        """Nothing new, no faults: all is read, and views agree. False when it is not reached."""
        for actor in (self.admin, self.crowd, *self.producers):
            actor.stop()
        self.operator.calm()
        for consumer in self.consumers:
            consumer.style.behave()
        self.world.faults = NetworkFaults()
        limit_ms = SETTLING_MS * self.plan.time_scale
        if not self.world.run_until(self._writers_idle, limit_ms):
            self.world.violate("producers or admin do not get their answers")
            return False
        for consumer in self.consumers:
            consumer.begin_quiet()
        self.world.run_until(self._settled_or_stuck, limit_ms)
        done = all(consumer.settled for consumer in self.consumers)
        self.answers.check_overdue()
        check_cache(self.world)
        if not done:
            for consumer in self.consumers:
                if not consumer.settled:
                    self.world.violate(
                        consumer.behind() or f"{consumer.name} ({consumer}) does not settle"
                    )
        return done

    def _settled_or_stuck(self) -> bool:
        consumers = self.consumers
        return any(consumer.stuck for consumer in consumers) or all(
            consumer.settled for consumer in consumers
        )

    def _writers_idle(self) -> bool:
        return self.admin.idle and all(producer.idle for producer in self.producers)

    def leave(self) -> None:
        """All leave, somebody closes every session that is still there; then the last checks."""
        world = self.world
        for actor in (self.admin, self.crowd, *self.consumers, *self.producers):
            actor.leave()
        world.run_until(lambda: not world.wires(), SETTLING_MS)
        check_nothing_waits(world)
        self.sessions.opens = False
        self._close_sessions()
        check_no_sessions(world, self.ledger)
        check_nothing_waits(world)
        check_segments(world)
        self.ledger.check()

    def _close_sessions(self) -> None:
        shards = self.world.broker.services.fetch.cache.shards
        closer = Crowd(self.setting, "closer", self.stream("closer"))
        closer.stop()
        closer.open_channel()
        for session_id in [session_id for shard in shards for session_id in shard.sessions]:
            closer.close_session(session_id)
        channel = closer.channel
        assert channel is not None
        self.world.run_until(lambda: not channel.waiting, SETTLING_MS)
        closer.leave()
        self.world.run_until(lambda: not self.world.wires(), SETTLING_MS)


def simulate(seed: int, watch: Callable[[Run], None] | None = None) -> Report:
    """Run a seed. `watch` is given the run before it starts, for those who want to look in."""
    run = Run(seed)
    if watch is not None:
        watch(run)
    return carry_out(run)


def replay(seed: int, **changes: object) -> Report:
    """Run a seed with its plan changed so."""
    plan = swarm_plan_of(seed)
    plan.change(changes)
    return carry_out(Run(seed, plan))
