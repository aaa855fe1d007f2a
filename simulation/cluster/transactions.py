"""The crew of transactions: producers, processors, and readers of what is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.committed_readers import CommittedReader
from simulation.cluster.crews import Crew
from simulation.cluster.processors import Processor
from simulation.cluster.transaction_checks import TransactionChecks
from simulation.cluster.transaction_ledger import TransactionLedger
from simulation.cluster.transactors import Setting, Transactor

if TYPE_CHECKING:
    from simulation.cluster.crews import CrewSetting


class TransactionCrew(Crew):
    """A seed without transactions has none of them."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        world, plan = self.world, self.plan
        self.ledger = TransactionLedger(world)
        shared = Setting(world, self.truth, plan, self.ledger, self.clients)
        self.readers: list[CommittedReader] = []
        if not plan.on["transactions"]:
            return
        for kind, stem, count in (
            (Transactor, "txn", plan.transactors),
            (Processor, "ctp", plan.processors),
        ):
            for name in setting.names(stem, count):
                kind(shared, self.ledger.lineage(name), setting.stream(name))
        for name in setting.names("reader", plan.committed_readers):
            reader = CommittedReader(shared, name, setting.stream(name))
            self.readers.append(reader)
            self.clients.append(reader)

    def counts(self) -> dict[str, int]:
        actors = [each for each in self.clients if isinstance(each, Transactor)]
        return {
            "commits": sum(each.commits for each in actors),
            "aborts": sum(each.aborts for each in actors),
            "incarnations": len(actors),
        }

    def behind(self) -> str:
        """A transaction that its coordinator has not ended, or a reader that is not at the end."""
        for node in self.world.cluster.nodes:
            broker = node.broker
            if broker is None or not broker.services.transactions.in_use:
                continue
            for shard in broker.services.transactions.service.runtime.shards():
                for metadata in shard.transactions.values():
                    if not metadata.may_be_forgotten:
                        return f"broker {node.node_id} with {metadata.transactional_id}"
        for reader in self.readers:
            for part, position in reader.positions.items():
                if position != self.truth.end_offset(*part):
                    return f"{reader.name} with {part[0]}-{part[1]}"
        return ""

    def check(self) -> None:
        if not self.plan.on["transactions"]:
            return
        parts = [
            (topic, index) for topic, count in self.plan.topics.items() for index in range(count)
        ]
        processors = [
            each for each in self.clients if isinstance(each, Processor) and each.is_latest
        ]
        TransactionChecks(self.world, self.ledger).check(parts, self.readers, processors)
