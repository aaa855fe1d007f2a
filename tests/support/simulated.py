"""A simulated world without faults, and actors that do only what the test tells them."""

from __future__ import annotations

from random import Random

from simulation.admins import Admin
from simulation.checkers import AnswerChecker
from simulation.clients import Setting
from simulation.consumer_styles import NO_LIMIT, ConsumerStyle
from simulation.consumers import Consumer
from simulation.crowds import Crowd
from simulation.faults import NetworkFaults, SwarmPlan
from simulation.ledger import Ledger
from simulation.operators import Operator
from simulation.producers import Producer, ProducerStyle
from simulation.world import World

TOPICS = {"t0": 2, "t1": 1}


def quiet_plan() -> SwarmPlan:
    """A plan in which nothing goes wrong."""
    plan = SwarmPlan(Random(0))
    plan.on = dict.fromkeys(plan.on, False)
    plan.time_scale = 1.0
    plan.topics = dict(TOPICS)
    plan.active_ms = 100
    plan.max_bytes = plan.segment_bytes = None
    plan.network = NetworkFaults()
    return plan


class Simulated:
    """A world of one node with topics `t0` (two partitions) and `t1`, with its checkers."""

    def __init__(self, faults: NetworkFaults | None = None, **config: str) -> None:
        self.plan = quiet_plan()
        self.world = World(
            {name.replace("_", "."): value for name, value in config.items()},
            TOPICS,
            substream=lambda purpose: Random(f"0/{purpose}"),
            faults=faults or NetworkFaults(),
        )
        self.ledger = Ledger(self.world)
        self.answers = AnswerChecker(self.world)
        self.setting = Setting(self.world, self.answers, self.ledger, self.plan)
        self._actors = 0

    def _name(self, kind: str) -> str:
        self._actors += 1
        return f"{kind}{self._actors}"

    def consumer(self, version: int = 12, **style: object) -> Consumer:
        """A consumer of all topics; it has not begun."""
        chosen = ConsumerStyle(Random(0), self.plan)
        chosen.version = version
        chosen.sessionless = chosen.committed = False
        chosen.sends_leader_epochs = True
        chosen.stubborn = chosen.sends_high_watermarks = False
        chosen.max_wait_ms, chosen.min_bytes = 20, 1
        chosen.max_bytes = chosen.partition_max_bytes = NO_LIMIT
        chosen.pause_ms = 1.0
        chosen.check_chance = 1.0
        for key, value in style.items():
            setattr(chosen, key, value)
        name = self._name("consumer")
        return Consumer(self.setting, name, Random(name), chosen)

    def producer(self, **style: object) -> Producer:
        """A producer to all topics; it has not begun."""
        chosen = ProducerStyle(Random(0), self.plan)
        chosen.version, chosen.acks, chosen.idempotent = 9, -1, True
        chosen.timeout_ms, chosen.pause_ms = 30, 2.0
        chosen.compression_chance = 0.0
        for key, value in style.items():
            setattr(chosen, key, value)
        name = self._name("producer")
        return Producer(self.setting, name, Random(name), chosen)

    def admin(self) -> Admin:
        return Admin(self.setting, self._name("admin"), Random(1))

    def crowd(self) -> Crowd:
        return Crowd(self.setting, self._name("crowd"), Random(1))

    def operator(self) -> Operator:
        return Operator(self.setting, self._name("operator"), Random(1))

    @property
    def violations(self) -> list[str]:
        return self.world.violations

    def produce_for(self, duration_ms: float, **style: object) -> Producer:
        """Let a producer append for some time, then stop it."""
        producer = self.producer(**style)
        producer.start()
        self.world.run_for(duration_ms)
        producer.stop()
        assert self.world.run_until(lambda: producer.idle, 1_000)
        return producer
