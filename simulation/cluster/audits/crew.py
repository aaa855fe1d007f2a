"""Audits: what brokers derive, held against what it is derived from, while a run goes on.

Nobody of this crew is a client. A log that was cut is looked at right then, others in turn. What a
run hardly comes to is tried beside the cluster, with objects of their own that nobody else sees.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from simulation.cluster.audits.acl_decisions import wrong_decisions
from simulation.cluster.audits.deaf_stops import DeafStops
from simulation.cluster.audits.departures import Departures
from simulation.cluster.audits.fetch_audits import FetchAudits
from simulation.cluster.audits.fetcher_audits import FetcherAudits
from simulation.cluster.audits.follower_audits import FollowerAudits
from simulation.cluster.audits.follower_trials import FollowerTrials
from simulation.cluster.audits.group_audits import GroupAudits
from simulation.cluster.audits.late_answers import LateAnswers
from simulation.cluster.audits.late_markers import LateMarkers
from simulation.cluster.audits.late_news import LateNews
from simulation.cluster.audits.link_audits import LinkAudits, wrong_proposals
from simulation.cluster.audits.link_probes import LinkProbes
from simulation.cluster.audits.log_audits import wrong_with
from simulation.cluster.audits.log_trials import LogTrials
from simulation.cluster.audits.rehearsals import wrong_rehearsals
from simulation.cluster.audits.replica_trials import ReplicaTrials
from simulation.cluster.audits.replicated_answers import ReplicatedAnswers
from simulation.cluster.audits.runtime_audits import (
    WriteTimeouts,
    unanswered_writes,
    wrong_groups,
    wrong_writes,
)
from simulation.cluster.audits.session_probes import SessionProbes
from simulation.cluster.audits.sharing_audits import SharingAudits
from simulation.cluster.audits.shortages import Shortages
from simulation.cluster.audits.store_audits import wrong_configs
from simulation.cluster.audits.timer_audits import Probes, wrong_timers
from simulation.cluster.audits.transaction_audits import TransactionAudits
from simulation.cluster.audits.transaction_probes import TransactionProbes
from simulation.cluster.audits.view_audits import wrong_views
from simulation.cluster.audits.wait_trials import WaitTrials
from simulation.cluster.audits.waits import Waits
from simulation.cluster.audits.wavering import Wavering
from simulation.cluster.crews import Crew, CrewSetting
from simulation.parked import needless_waits

if TYPE_CHECKING:
    from mockbroker.cluster.nodes import Node
    from mockbroker.coordinator.deferred_writes import DeferredWrite
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.partition import Partition
    from simulation.cluster.truth import ReplicaState

LOOK_EVERY_MS = 100.0
LOOK_AT_PARKED_EVERY_MS = 20.0
SLOW_KINDS = ("memory", "rules")
"""What lets requests wait before anybody looks at them."""


class AuditCrew(Crew):
    """Looks at logs and at what leaders know of their followers."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("audits")
        self._rehearsal_rng = setting.stream("rehearsals")
        self._changed: dict[Partition, int] = {}
        """What grew since it was last looked at, and the broker that it is at."""
        self._passed: dict[UnifiedLog, int] = {}
        """The highest high watermark that each log had."""
        self._unanswered: dict[int, dict[DeferredWrite, str]] = {}
        """What waited at the coordinators of groups at the last look, by broker."""
        self._stopped = self._done = False
        self._reassigns = self.plan.on["reassign"] or self.plan.on["late_answers"]
        self.followers = FollowerAudits(
            setting.world, setting.truth, tails_are_lost=self.plan.on["lose_tail"]
        )
        self.fetchers = FetcherAudits(setting.world, setting.stream("damage"))
        self.groups = GroupAudits(
            upgrades=self.plan.on["consumer_group"] or self.plan.on["founders"],
            max_size=self.plan.group_times.max_size,
        )
        self.departures = Departures(setting.world)
        self.probes = Probes(setting.stream("probes"))
        self.links = LinkAudits(setting.world)
        self.link_probes = LinkProbes(setting.world, setting.operator.verbs)
        LateAnswers(setting.operator)
        LateNews(setting.operator)
        self.shortages = Shortages(setting.operator)
        Wavering(setting.operator)
        DeafStops(setting.operator)
        self.transactions = TransactionAudits(setting.world.cluster.metadata)
        self.transaction_probes = TransactionProbes(setting.stream("transaction probes"))
        refuses = setting.stream("late markers") if self.plan.on["dawdlers"] else None
        self.late_markers = LateMarkers(refuses)
        racks = [*dict.fromkeys(self.plan.racks)]
        self.fetches = FetchAudits(setting.world, setting.stream("fetch audits"), racks)
        self.trials = (
            FollowerTrials(setting.stream("follower trials")),
            ReplicaTrials(setting.stream("replica trials")),
            WaitTrials(setting.stream("wait trials")),
            LogTrials(setting.stream("log trials")),
        )
        self.session_probes = SessionProbes(setting.world, setting.stream("session probes"))
        self._acl_rng = setting.stream("ACL decisions")
        self.sharing = SharingAudits(setting.world, setting.stream("sharing audits"))
        self.waits = Waits(setting.world, setting.truth, frozenset(("consumer",)))
        self.write_timeouts = WriteTimeouts(setting.world)
        self.answers = ReplicatedAnswers(
            setting.world, setting.truth, setting.stream("replicated answers")
        )
        setting.world.on_leaving.append(self._look_at_leaving)
        if not any(self.plan.on[kind] for kind in SLOW_KINDS):
            setting.world.on_answer.append(self.waits.judge)
        setting.truth.on_replica.append(self._on_replica)

    def start(self) -> None:
        self.world.at(LOOK_EVERY_MS, self._look)
        self._look_at_parked()

    def stop(self) -> None:
        """From now on time passes over idle rounds; what is left is looked at when all rests."""
        self._stopped = True
        self.shortages.end()
        self.fetchers.stop()
        self.late_markers.stop()

    def _on_replica(self, at: Node, partition: Partition, before: ReplicaState | None) -> None:
        log = partition.log
        if log is None:
            return
        self._passed[log] = max(self._passed.get(log, 0), log.high_watermark)
        began = before is None or before[4] != partition.leader_epoch
        if began and partition.is_leader and partition.topic == GROUP_METADATA_TOPIC:
            self.world.at(0, partial(self._look_at_groups, at.node_id))
        if before is not None and before[0] is log and log.log_end_offset < before[1]:
            self._audit(partition, at.node_id)
        elif not self._done:
            self._changed[partition] = at.node_id

    def _look(self) -> None:
        if self._changed:
            partition = self._rng.choice(list(self._changed))
            self._audit(partition, self._changed.pop(partition))
        self.session_probes.look()
        self.links.look()
        if self.plan.on["coop"]:
            self.sharing.look()
        for broker in self.world.cluster.brokers:
            for wrong in (
                *wrong_groups(broker, self._rng),
                *self.transactions.wrong_states(broker, self._rng),
                *self.transaction_probes.look(broker),
                *wrong_configs(broker),
                *wrong_timers(broker),
                *(wrong for trial in self.trials for wrong in trial.look(broker)),
                *(wrong_decisions(broker, self._acl_rng) if self._acl_rng.random() < 0.1 else ()),
            ):
                self.world.violate(f"broker {broker.broker_id}: {wrong}")
        if not self._stopped:
            self.world.at(LOOK_EVERY_MS, self._look)

    def _look_at_parked(self) -> None:
        """Who waits at brokers, and what followers and coordinators wait for."""
        self.fetchers.look()
        self.fetches.look()
        for broker in self.world.cluster.brokers:
            self.followers.look(broker)
            self.answers.ask(broker)
            self.write_timeouts.look(broker)
            self._unanswered[broker.broker_id] = unanswered_writes(broker)
            for wrong in (
                *needless_waits(broker, reassigns=self._reassigns),
                *wrong_writes(broker),
                *self.groups.look(broker),
                *self.departures.look(broker),
                *self.transactions.look(broker, self.world.now_ms),
                *self.late_markers.look(broker),
                *self.probes.look(broker, self.world.slack_ms),
                *wrong_proposals(broker, self.world.cluster.metadata),
            ):
                self.world.violate(f"broker {broker.broker_id}: {wrong}")
        if not self._stopped:
            self.world.at(LOOK_AT_PARKED_EVERY_MS, self._look_at_parked)

    def _look_at_leaving(self, node: int) -> None:
        """A broker goes down, after a clean stop: it has answered who waited at the last look.

        A request that was held behind another may have come since, as it was answered.
        """
        broker = self.world.cluster.broker(node)
        for write, wrong in unanswered_writes(broker).items() if broker is not None else ():
            if write in self._unanswered.get(node, {}):
                self.world.violate(f"broker {node} stops: {wrong}")

    def _look_at_groups(self, node: int) -> None:
        """A coordinator has just begun, and what it loaded may not be replicated yet."""
        broker = self.world.cluster.broker(node)
        for wrong in () if broker is None else wrong_groups(broker, self._rng):
            self.world.violate(f"broker {node} has begun: {wrong}")

    def _audit(self, partition: Partition, node: int) -> None:
        log = partition.log
        if log is not None and not partition.deleted:
            cut = self.plan.may_lose or self.plan.on["lose_tail"]
            passed = self._passed.get(log, 0)
            for wrong in wrong_with(log, self._rng, may_be_cut=cut, passed=passed):
                self.world.violate(f"{log!r} of {node}: {wrong}")

    def counts(self) -> dict[str, int]:
        return {"trials": sum(each.tried for each in self.trials)}

    def check(self) -> None:
        """Logs that nobody has looked at since they changed."""
        self._done = True
        for partition, node in self._changed.items():
            broker = self.world.cluster.broker(node)
            if broker is not None and partition in broker.services.replicas.all_partitions():
                self._audit(partition, node)
        self._changed.clear()
        for broker in self.world.cluster.brokers:
            for wrong in wrong_rehearsals(broker, self._rehearsal_rng):
                self.world.violate(f"broker {broker.broker_id}: {wrong}")
        for wrong in wrong_views(self.world.cluster, self._rng):
            self.world.violate(wrong)
