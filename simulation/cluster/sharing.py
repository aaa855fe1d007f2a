"""The crew of those who share a partition, where a seed draws "coop".

Healed, they must get to its end: all that consumers are given is committed, and nothing else was
told to be. At rest the log of individual commits says just what its coordinator knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import ic_records
from mockbroker.coop.assignor import cut
from mockbroker.coop.extension import extension_of
from mockbroker.coop.ic_shard import CommittedRanges, IndividualCommitShard
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from simulation.cluster.crews import Crew
from simulation.cluster.sharers import PART, Sharer
from simulation.cluster.sharers import Setting as MemberSetting
from simulation.cluster.sharing_book import SharingBook
from simulation.cluster.sharing_members import ClassicSharer, ConsumerSharer
from simulation.cluster.sharing_plan import SharingPlan
from simulation.cluster.sharing_processors import SharingProcessor
from simulation.cluster.steps import Step
from simulation.cluster.transaction_checks import TransactionChecks
from simulation.cluster.transaction_ledger import TransactionLedger
from simulation.cluster.transactors import Setting

if TYPE_CHECKING:
    from mockbroker.node.broker import Broker
    from simulation.cluster.crews import CrewSetting

KINDS = {"alone": Sharer, "classic": ClassicSharer, "consumer": ConsumerSharer}


class SharingGroup:
    """One group."""

    def __init__(self, crew: CrewSetting, name: str, group: SharingPlan) -> None:
        self.name = name
        self.group = group
        self.book = SharingBook(crew.world, crew.truth, name, PART)
        self.book.read_committed = group.read_committed
        self.book.in_slices = crew.plan.on["limits"]
        lease_ms = crew.plan.sharing.lease_ms
        setting = MemberSetting(self.book, crew.truth, crew.plan, group, lease_ms)
        make = KINDS[group.protocol]
        self.members = [
            make(setting, each, crew.stream(each)) for each in crew.names(f"{name}m", group.members)
        ]
        if group.protocol == "alone" and not group.by_leases:
            for member, ranges in zip(self.members, cut(len(self.members)), strict=True):
                member.ranges = ranges

    def hire_processors(self, crew: CrewSetting, shared: Setting) -> None:
        """Those of its group that commit in transactions."""
        for name in crew.names(f"{self.name}txn", self.group.processors):
            SharingProcessor(shared, shared.ledger.lineage(name), crew.stream(name), self.book)


class SharingCrew(Crew):
    """All groups of a run that share its partition."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.groups: list[SharingGroup] = []
        self._rng = setting.stream("sharing")
        self._operator = setting.operator
        for number in range(self.plan.sharing.groups if self.plan.on["coop"] else 0):
            name = f"sharing{number}"
            plan = SharingPlan(setting.stream(name))
            self.groups.append(SharingGroup(setting, name, plan))
            self.world.note(name, str(plan))
        self.clients = [member for group in self.groups for member in group.members]
        self.ledger = TransactionLedger(self.world)
        shared = Setting(self.world, self.truth, self.plan, self.ledger, self.clients)
        for group in self.groups if self.plan.on["transactions"] else ():
            group.hire_processors(setting, shared)

    def counts(self) -> dict[str, int]:
        books = [group.book for group in self.groups]
        return {
            "shared standings": sum(book.checks for book in books),
            "shared records": sum(book.given for book in books),
            "dealt": sum(book.dealt for book in books),
            "in transactions": sum(
                one.in_transactions for one in self.clients if isinstance(one, SharingProcessor)
            ),
        }

    def stop(self) -> None:
        super().stop()
        self._calm_down()

    def _calm_down(self) -> None:
        for group in self.groups:
            for member in group.members:
                member.calm_down()

    def finish(self) -> None:
        """What an operator does who finds that the two topics are on different brokers."""
        super().finish()
        self._calm_down()
        self._come_together()

    def _come_together(self) -> None:
        """Until all went home: more may be written for a group that is at the end by now."""
        if self.world.violations or all(member.stopped for member in self.clients):
            return
        if not all(group.book.is_at_end for group in self.groups):
            self.world.operate(self._bring_together)
        self.world.at(1_000.0, self._come_together)

    def _bring_together(self) -> None:
        verbs, topics = self._operator.verbs, self.world.cluster.metadata.topics
        groups = topics.get(GROUP_METADATA_TOPIC)
        if groups is None:
            return
        state, name = groups.partitions[0], INDIVIDUAL_COMMITS_TOPIC
        known = topics.get(name)
        if known is None or known.partitions[0].leader == state.leader:
            return
        if state.leader in known.partitions[0].replicas:
            verbs.perform(Step(0.0, "move_leader", topic=name, partition=0, to=state.leader))
        elif not known.partitions[0].adding:
            replicas = list(state.replicas)
            verbs.perform(Step(0.0, "reassign", topic=name, partition=0, replicas=replicas))

    def behind(self) -> str:
        """A group that has not committed all there is; one that has goes home."""
        for group in self.groups:
            if group.book.is_at_end:
                for member in group.members:
                    member.stop()
            else:
                told, end = group.book.stable, self.truth.end_offset(*PART)
                return f"{group.name} ({group.group}) at {told} of {end}"
        return ""

    def check(self) -> None:
        """All is committed: there are no ranges left, in memory or in the log."""
        topic = self.world.cluster.metadata.topics.get(INDIVIDUAL_COMMITS_TOPIC)
        if not self.groups or topic is None:
            return
        broker = self.world.cluster.broker(topic.partitions[0].leader)
        assert broker is not None
        commits = extension_of(broker.services).commits
        replayed = _picture(replayed_shard(broker))
        for what, runtime_of in (
            ("written", commits.runtime.shard_for),
            ("replicated", commits.runtime.committed_for),
        ):
            for group in self.groups:
                shard = runtime_of(group.name)
                known = {} if shard is None else _picture(shard)
                if known != replayed:
                    self.world.violate(f"{what} ranges are {known}, and the log says {replayed}")
        if self.plan.on["transactions"]:
            TransactionChecks(self.world, self.ledger).check([PART], [], [])
        for group in self.groups:
            part = commits.ranges_of(group.name, *PART, live=True)
            left = [] if part is None else [*part.beyond(group.book.stable), *part.all_pending()]
            if left:
                self.world.violate(f"{group.name} has committed all, and has {left} left")


def replayed_shard(broker: Broker) -> IndividualCommitShard:
    """What the log of individual commits says, read from its start."""
    services = broker.services
    shard = IndividualCommitShard(0)
    log = InternalLog(INDIVIDUAL_COMMITS_TOPIC, services.replicas, services.clock)
    for entry in log.read(0):
        if isinstance(entry, EndOfTransaction):
            shard.end_transaction(entry.producer_id, commit=entry.commit)
            continue
        offset, producer_id, key, value = entry
        record = ic_records.decode(key, value)
        assert record is not None
        shard.replay(offset, producer_id, record)
    return shard


def _picture(shard: IndividualCommitShard) -> dict[tuple[str, str, int], object]:
    return {(group, topic, index): _ranges(part) for group, topic, index, part in shard.parts()}


def _ranges(part: CommittedRanges) -> object:
    pending = {producer: list(ranges) for producer, ranges in part.pending.items()}
    return list(part.keys), list(part.stray), pending
