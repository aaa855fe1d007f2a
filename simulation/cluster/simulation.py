"""One run of a whole cluster from one seed: `simulate_cluster(seed)` lets it live, heals it, looks.

While it lives, clients work and the operator does what the seed's plan has. Then all is healed, and
the cluster must make progress: every partition has a leader and all its replicas in sync, every
producer gets a batch more into each, every consumer reads to the end, and all replicas are equal.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from mockbroker.metadata.topic_requests import NewTopic
from simulation.cluster.acl_checkers import AclCheckerCrew
from simulation.cluster.administration import AdminCrew
from simulation.cluster.audits.crew import AuditCrew
from simulation.cluster.committers import Committer
from simulation.cluster.consumers import ClusterConsumer
from simulation.cluster.crews import Crew, CrewSetting
from simulation.cluster.editors import EditorCrew
from simulation.cluster.expiries import ExpiryCrew
from simulation.cluster.founders import FounderCrew
from simulation.cluster.groups import GroupCrew
from simulation.cluster.hogs import HogCrew
from simulation.cluster.impostors import ImpostorCrew
from simulation.cluster.inquirers import InquiryCrew
from simulation.cluster.logins import LoginCrew
from simulation.cluster.metadata_followers import QuorumCrew
from simulation.cluster.misproducers import MisproducerCrew
from simulation.cluster.onlookers import OnlookerCrew
from simulation.cluster.operators import ClusterOperator
from simulation.cluster.plan import MAX_SKEW_MS, ClusterPlan
from simulation.cluster.producers import ClusterProducer
from simulation.cluster.scopes import ScopeCrew
from simulation.cluster.seekers import SeekerCrew
from simulation.cluster.session_readers import SessionCrew
from simulation.cluster.sharing import SharingCrew
from simulation.cluster.storage import StorageCrew
from simulation.cluster.strangers import StrangerCrew
from simulation.cluster.supervision import Supervision
from simulation.cluster.telemeters import TelemetryCrew
from simulation.cluster.throttles import ThrottleCrew
from simulation.cluster.transactions import TransactionCrew
from simulation.cluster.truth import Truth, agree
from simulation.cluster.victims import VictimCrew
from simulation.cluster.watchers import WatcherCrew
from simulation.cluster.whereabouts import WhereaboutsCrew
from simulation.cluster.world import ClusterWorld
from simulation.faults import NetworkFaults
from simulation.runner import Report, carry_out
from simulation.turns import KIND as TURNS
from simulation.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulation.cluster.steps import Step

SETTLING_MS = 60_000.0
"""How long a healed cluster may take until all is well."""
MOST_WAITS = 10
"""So many times that, while those who are behind get on: a group may have few ranges at a time."""


def stream_of(seed: int, purpose: str) -> Random:
    """A seed's own randomness for one purpose."""
    return Random(f"cluster/{seed}/{purpose}")


def plan_of(seed: int) -> ClusterPlan:
    """The plan that a seed gives."""
    return ClusterPlan(stream_of(seed, "plan"))


class DataCrew(Crew):
    """Those who produce, consume and commit offsets in every run."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        plan = self.plan
        self.producers = setting.hire(ClusterProducer, "producer", plan.producers)
        self.consumers = setting.hire(ClusterConsumer, "consumer", plan.consumers)
        self.committers = setting.hire(Committer, "committer", plan.committers)
        self.clients = [*self.producers, *self.consumers, *self.committers]

    def counts(self) -> dict[str, int]:
        return {
            "acknowledged": sum(producer.acknowledged for producer in self.producers),
            "read": sum(consumer.records for consumer in self.consumers),
            "from followers": sum(consumer.from_followers for consumer in self.consumers),
            "offsets": sum(committer.checks for committer in self.committers),
        }

    def behind(self) -> str:
        for consumer in self.consumers:
            for part, position in consumer.positions.items():
                if position != self.truth.end_offset(*part):
                    return f"{consumer.name} with {part[0]}-{part[1]}"
        return ""

    def check(self) -> None:
        """Nothing is there twice that may be there once."""
        once = {value for producer in self.producers for value in producer.once}
        for name, count in self.plan.all_topics.items():
            for index in range(count):
                truth = self.truth.find(name, index)
                assert truth is not None
                values = Counter(content.partition(b"=")[2] for _, content in truth.led())
                for value, times in values.items():
                    if times > 1 and value in once:
                        self.world.violate(f"{truth.name} holds {value!r} {times} times")


CREWS: tuple[type[Crew], ...] = (
    DataCrew,
    TransactionCrew,
    GroupCrew,
    SessionCrew,
    StorageCrew,
    AdminCrew,
    SeekerCrew,
    MisproducerCrew,
    ScopeCrew,
    InquiryCrew,
    StrangerCrew,
    VictimCrew,
    HogCrew,
    TelemetryCrew,
    WatcherCrew,
    SharingCrew,
    ExpiryCrew,
    AuditCrew,
    ImpostorCrew,
    AclCheckerCrew,
    LoginCrew,
    ThrottleCrew,
    WhereaboutsCrew,
    QuorumCrew,
    OnlookerCrew,
    EditorCrew,
    FounderCrew,
)


class ClusterRun:
    """The actors of one seed; `plan` in place of the one that the seed gives, `steps` of its
    operator's own.
    """

    def __init__(
        self, seed: int, plan: ClusterPlan | None = None, steps: Sequence[Step] | None = None
    ) -> None:
        self.seed = seed
        self.command = "python -m simulation --cluster"
        plan = self.plan = plan or plan_of(seed)
        with plan.limits.lowered():
            self.world = ClusterWorld(
                plan.config(),
                brokers=plan.brokers,
                racks=plan.racks,
                substream=self.stream,
                faults=plan.network,
            )
        if plan.on[TURNS]:
            self.world.turns = Turns(self.stream(TURNS))
        self.world.skips = plan.on["skip_idle"]
        self.truth = Truth(self.world)
        self.supervision = Supervision(self.world)
        self.operator = ClusterOperator(self.world, self.stream("operator"), plan)
        self._steps = steps
        setting = CrewSetting(self.world, self.truth, plan, self.operator, self.stream)
        self.crews = [crew(setting) for crew in CREWS]
        self._cut_rng = self.stream("cuts")
        self._group_crews = [crew for crew in self.crews if isinstance(crew, GroupCrew)]
        self._last_busy: Crew | None = None
        self._unwell_version = -1
        self._was_well = False
        self._lagging: Callable[[], str] = str
        """Who was behind at the last look."""

    def counts(self) -> dict[str, int]:
        """What the run did, by name."""
        counts = {
            "elections": self.truth.elections,
            "unclean": self.truth.unclean_elections,
            "fencings": self.supervision.fencings,
        }
        for crew in self.crews:
            counts.update(crew.counts())
        return counts

    def stream(self, purpose: str) -> Random:
        """The seed's own randomness for one purpose."""
        return stream_of(self.seed, purpose)

    def live(self) -> None:
        """From the first topic to the last check."""
        with self.plan.limits.lowered():
            self._live()

    def _live(self) -> None:
        self._create_topics()
        if self._steps is None:
            self.operator.start()
        else:
            self.operator.play(self._steps)
        for crew in self.crews:
            crew.start()
        self._cut_later()
        self.world.run_for(self.plan.active_ms)
        for crew in self.crews:
            crew.stop()
        self.operator.heal()
        self.world.faults = NetworkFaults()
        if not self.world.violations and self._settle():
            self._check_logs()
            for crew in self.crews:
                crew.check()
            self._go_back()

    def _create_topics(self) -> None:
        plan = self.plan
        topics = [
            NewTopic(name, n, configs=plan.topic_configs(name))
            for name, n in plan.all_topics.items()
        ]
        self.world.operate(lambda: self.world.cluster.controller.create_topics(topics))

    def _cut_later(self) -> None:
        mean_ms = self.world.faults.cut_every_ms
        if mean_ms:
            self.world.at(self._cut_rng.expovariate(1 / mean_ms), self._cut)

    def _cut(self) -> None:
        """One client's connection breaks."""
        wires = [wire for wire in self.world.wires() if wire.open]
        if wires and self.world.faults.cut_every_ms:
            self._cut_rng.choice(wires).cut(self._cut_rng.random() * 10)
        self._cut_later()

    # -- after the faults ------------------------------------------------------------------

    def _settle(self) -> bool:
        """All gets well: first the cluster, then what its clients still want."""
        world = self.world
        if not world.run_until(self._is_well, SETTLING_MS):
            world.violate(f"the cluster does not get well: {self._unwell()}")
            return False
        for crew in self.crews:
            crew.finish()
        # A transaction that began by a clock ahead is not overdue until the others have caught up:
        # nobody aborts it before, and who reads the offsets of its group waits for that.
        limit_ms = SETTLING_MS + (2 * MAX_SKEW_MS if self.plan.on["skew"] else 0)
        if not world.run_until(lambda: not self._is_busy(), limit_ms):
            world.violate(f"{self._busy()} do not get on")
            return False
        if not self._catch_up(limit_ms):
            world.violate(f"not all is read or replicated: {self._behind()}")
            return False
        for crew in self.crews:
            for client in crew.clients:
                client.stop()
        return True

    def _catch_up(self, patience_ms: float) -> bool:
        """Until nobody is behind, as long as who is behind gets on."""
        for _ in range(MOST_WAITS):
            before = self._behind()
            if self.world.run_until(lambda: not self._behind(), patience_ms):
                return True
            if self._behind() == before:
                break
        return False

    def _is_busy(self) -> bool:
        """Whether anybody is: asked after each event, so whoever was last is asked first.

        Groups are asked each time, as those that are stable are stopped then.
        """
        if any(crew.is_busy() for crew in self._group_crews):
            return True
        last = self._last_busy
        if last is None or not last.is_busy():
            last = self._last_busy = next((crew for crew in self.crews if crew.is_busy()), None)
        return last is not None

    def _busy(self) -> list[str]:
        return [name for crew in self.crews for name in crew.busy()]

    def _is_well(self) -> bool:
        """Whether nothing is `_unwell`, looked at when the controller decided something."""
        version = self.world.cluster.metadata.version
        if version != self._unwell_version:
            self._unwell_version = version
            self._was_well = not self._unwell()
        return self._was_well

    def _unwell(self) -> str:
        """A partition without a leader or with a replica that is not in sync; empty: all well."""
        for topic in self.world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                if state.leader < 0 or set(state.isr) != set(state.replicas) or state.adding:
                    return (
                        f"{topic.name}-{index} leader {state.leader} epoch {state.leader_epoch} "
                        f"isr {state.isr} of {state.replicas}"
                    )
        return ""

    def _behind(self) -> str:
        """A replica that does not know all, or somebody who has not read all: first who was."""
        told = self._lagging()
        for tell in () if told else self._all_readers():
            told = tell()
            if told:
                self._lagging = tell
                break
        return told

    def _all_readers(self) -> Iterator[Callable[[], str]]:
        """What tells of each whether he is behind."""
        for topic in self.world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                for node in state.replicas:
                    yield partial(self._lags, topic.name, index, node)
        for crew in self.crews:
            yield crew.behind

    def _lags(self, name: str, index: int, node: int) -> str:
        topic = self.world.cluster.metadata.topics.get(name)
        if topic is None or node not in topic.partitions[index].replicas:
            return ""  # it is none any more
        broker = self.world.cluster.broker(node)
        assert broker is not None
        replica = broker.services.replicas.partition(name, index)
        end, leader = self.truth.end_offset(name, index), topic.partitions[index].leader
        knows = replica is not None and (not end or replica.high_watermark == end)
        if not knows:
            return f"broker {node} with {name}-{index}"
        if leader < 0 or not end:
            return ""
        log, leaders = (self.world.controls.log(name, index, each) for each in (node, leader))
        if log is None or leaders is None or log.log_start_offset >= leaders.log_start_offset:
            return ""
        return f"broker {node} with the start of {name}-{index}"

    def _check_logs(self) -> None:
        """Replicas are equal, from where each has records."""
        for topic in self.world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                truth = self.truth.partitions[topic.id, index]
                mirrors = [truth.mirrors[node] for node in state.replicas if node in truth.mirrors]
                start = max((mirror.log_start_offset for mirror in mirrors), default=0)
                logs = [
                    (mirror.still_there() if self.plan.may_lose else mirror.entries)[start:]
                    for mirror in mirrors
                ]
                if any(
                    len(entries) != len(logs[0]) or not all(map(agree, entries, logs[0]))
                    for entries in logs
                ):
                    self.world.violate(f"{topic.name}-{index}: the replicas are not equal")
                self._check_loss(topic.name, index)

    def _check_loss(self, name: str, index: int) -> None:
        """What was committed is lost by unclean elections alone, or with the tails of several."""
        truth, plan = self.truth.find(name, index), self.plan
        assert truth is not None
        if truth.lost and not plan.may_lose:
            self.world.violate(f"{truth.name}: {truth.lost} committed records are lost")

    def _go_back(self) -> None:
        """End a scope, restore a snapshot: the rules of replication know nothing of either."""
        for crew in self.crews:
            if isinstance(crew, ScopeCrew) and self.plan.on["scope"]:
                crew.live_through(self._write_on, self._look_away)
        for crew in self.crews:
            if isinstance(crew, StorageCrew) and self.plan.on["snapshot"]:
                self._look_away()
                crew.restore_a_snapshot()
        for crew in self.crews:
            crew.check_again()

    def _write_on(self) -> None:
        """A batch more to each partition from each producer."""
        data = self.crews[0]
        data.finish()
        if not self.world.run_until(lambda: not data.busy(), SETTLING_MS):
            self.world.violate(f"{data.busy()} do not write on")

    def _look_away(self) -> None:
        """From now on nobody looks at replicas."""
        looks = self.world.on_step
        looks[:] = [look for look in looks if look not in (self.truth.look, self.supervision.look)]


def simulate_cluster(seed: int, watch: Callable[[ClusterRun], None] | None = None) -> Report:
    """Run a seed. `watch` is given the run before it starts, for those who want to look in."""
    run = ClusterRun(seed)
    if watch is not None:
        watch(run)
    return carry_out(run)


def replay(seed: int, steps: Sequence[Step], **changes: object) -> Report:
    """Run a seed with these steps in place of its operator's, and its plan changed so."""
    plan = plan_of(seed)
    plan.change(changes)
    return carry_out(ClusterRun(seed, plan, steps))
