"""The simulated world driven by rules: whatever hypothesis does to it, its rules hold.

Where a seed of `simulation` lets actors act by themselves, here each act is a rule, so a
failure shrinks to the few acts that matter.
"""

from __future__ import annotations

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from simulation.checkers import check_cache
from simulation.consumer_styles import NO_LIMIT, ConsumerStyle
from simulation.consumers import Consumer
from simulation.faults import NetworkFaults
from simulation.ledger import TrueLog
from simulation.simulation import Run
from tests.support.simulated import quiet_plan

MAX_CONSUMERS = 3
PARTS = st.integers(0, 9)


class FetchWorldMachine(RuleBasedStateMachine):
    """Consumers poll by themselves; all else happens when a rule says so."""

    @initialize(slots=st.sampled_from([7, 8, 1000]), segment_bytes=st.sampled_from([None, 700]))
    def begin(self, slots: int, segment_bytes: int | None) -> None:
        plan = quiet_plan()
        plan.consumers = plan.producers = 0
        plan.cache_slots = slots
        plan.segment_bytes = segment_bytes
        plan.on["delete_records"] = True
        run = self.run = Run(0, plan)
        run.create_topics()
        for idempotent in (False, True):
            producer = run.make_producer(f"producer{idempotent:d}")
            producer.style.idempotent = idempotent
            producer.style.acks = -1
            run.producers.append(producer)
        for client in (run.admin, run.crowd, *run.producers):
            client.start()
            client.stop()
        run.world.run_for(1)

    # -- consumers -------------------------------------------------------------------------

    @precondition(lambda self: len(self.run.consumers) < MAX_CONSUMERS)
    @rule(
        version=st.integers(4, 18),
        committed=st.booleans(),
        max_wait_ms=st.sampled_from([0, 5, 50]),
        min_bytes=st.sampled_from([0, 1, 300]),
        max_bytes=st.sampled_from([0, 150, NO_LIMIT, NO_LIMIT]),
        stubborn=st.booleans(),
    )
    def consumer_comes(
        self,
        version: int,
        committed: bool,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        stubborn: bool,
    ) -> None:
        run = self.run
        name = f"consumer{len(run.consumers)}"
        style = ConsumerStyle(Random(name), run.plan)
        style.version = version
        style.sessionless = version < 7
        style.committed = committed
        style.max_wait_ms, style.min_bytes, style.max_bytes = max_wait_ms, min_bytes, max_bytes
        style.stubborn = stubborn
        style.check_chance = 1.0
        style.keeps_epochs = False
        style.pause_ms = 5.0
        consumer = Consumer(run.setting, name, Random(name), style)
        consumer.closed_by_others = True
        run.consumers.append(consumer)
        consumer.start()

    def consumer(self, which: int) -> Consumer | None:
        consumers = self.run.consumers
        return consumers[which % len(consumers)] if consumers else None

    @rule(which=PARTS, resumes=st.booleans())
    def connection_breaks(self, which: int, resumes: bool) -> None:
        consumer = self.consumer(which)
        if consumer is not None and consumer.channel is not None:
            consumer.style.resume_chance = float(resumes)
            consumer.channel.wire.cut(heard_after_ms=3.0 * resumes)

    @rule(
        which=PARTS,
        habit=st.sampled_from(
            ["hang_up", "replay", "impatient", "wrong_family", "pause", "pipeline"],
        ),
        chance=st.sampled_from([0.0, 0.5]),
    )
    def habits_change(self, which: int, habit: str, chance: float) -> None:
        consumer = self.consumer(which)
        if consumer is not None:
            setattr(consumer.style, f"{habit}_chance", chance)

    # -- data and topics -------------------------------------------------------------------

    @rule(
        duration_ms=st.integers(1, 20),
        idempotent=st.booleans(),
        version=st.sampled_from([9, 13]),
    )
    def produce(self, duration_ms: int, idempotent: bool, version: int) -> None:
        run = self.run
        producer = run.producers[idempotent]
        producer.style.version = version
        producer.go_on()
        run.world.run_for(duration_ms)
        producer.stop()

    @rule(name=st.sampled_from(["t0", "t1"]), act=st.sampled_from(["delete", "create", "grow"]))
    def admin_acts(self, name: str, act: str) -> None:
        admin = self.run.admin
        if admin.busy or admin.channel is None:
            return
        known = admin.topics.get(name)
        if known is None and act == "create":
            admin.create(name, 2)
        elif known is not None and act == "delete":
            admin.delete(name)
        elif known is not None and act == "grow" and len(known.leader_epochs) < 5:
            admin.grow(name, len(known.leader_epochs) + 1)

    def live_log(self, which: int) -> TrueLog | None:
        live = [log for log in self.run.ledger.logs() if not log.deleted]
        return live[which % len(live)] if live else None

    @rule(
        which=PARTS,
        act=st.sampled_from(["delete_records", "raise_leader_epoch", "transact"]),
    )
    def operator_acts(self, which: int, act: str) -> None:
        log = self.live_log(which)
        if log is not None:
            getattr(self.run.operator, act)(log)

    # -- sessions and the network ----------------------------------------------------------

    @rule(steals=st.booleans())
    def crowd_acts(self, steals: bool) -> None:
        crowd = self.run.crowd
        if crowd.channel is None or crowd.channel.waiting:
            return
        if steals:
            crowd.close_session(crowd.somebodys_session())
        else:
            crowd.open_session()

    @rule(
        max_delay_ms=st.sampled_from([0.0, 2.0]),
        split_chance=st.sampled_from([0.0, 0.5]),
        lose_chance=st.sampled_from([0.0, 0.0, 0.2]),
    )
    def network_changes(self, max_delay_ms: float, split_chance: float, lose_chance: float) -> None:
        self.run.world.faults = NetworkFaults(max_delay_ms, split_chance, 0.0, lose_chance)

    @rule(duration_ms=st.sampled_from([1, 10, 60]))
    def time_passes(self, duration_ms: int) -> None:
        self.run.world.run_for(duration_ms)

    # -- what always holds -----------------------------------------------------------------

    @invariant()
    def no_rule_is_broken(self) -> None:
        run = self.run
        run.answers.check_overdue()
        check_cache(run.world)
        assert not run.world.violations, "\n".join((*run.world.trace.last(), *run.world.violations))

    def teardown(self) -> None:
        if hasattr(self, "run") and not self.run.world.violations:
            self.run.calm()
            self.run.leave()
            self.no_rule_is_broken()


TestFetchWorld = FetchWorldMachine.TestCase
TestFetchWorld.settings = settings(max_examples=100, stateful_step_count=30)
