"""What expires in the cluster's simulation: transactional ids, and producers that are silent.

At rest time passes until all of them are overdue, with idle rounds skipped: no coordinator may know
a transactional id then, the last record of each in its log must be a tombstone, and no log may know
a producer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.records.batch import iterate_records
from simulation.cluster.crews import Crew
from simulation.cluster.plan import EXPIRATION_MS, EXPIRY_CHECK_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker.log.unified_log import UnifiedLog
    from simulation.cluster.crews import CrewSetting


class ExpiryCrew(Crew):
    """The last to check: a long time passes, where a seed draws "expiry"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.expired = 0

    def counts(self) -> Mapping[str, int]:
        return {"expired": self.expired}

    def check(self) -> None:
        if not self.plan.on["expiry"]:
            return
        before = self._known()
        self.world.skips = True
        self.world.run_for(EXPIRATION_MS + 3 * EXPIRY_CHECK_MS)
        after = self._known()
        self.expired += len(before) - len(after)
        for known in after:
            self.world.violate(f"{known} has not expired")
        for key, is_tombstone in self._last_states().items():
            if not is_tombstone:
                self.world.violate(f"the last record of {key!r} is no tombstone")

    def _known(self) -> list[str]:
        """All that may expire, wherever it is known."""
        known = []
        for node, log in self._logs():
            producers = None if log.producers is None else log.producers.producers
            known += [f"producer {each} of {log!r} at {node}" for each in producers or ()]
        for at in self.world.cluster.nodes:
            broker = at.broker
            if broker is not None and broker.services.transactions.in_use:
                for shard in broker.services.transactions.service.runtime.shards():
                    known += [f"{each} at broker {at.node_id}" for each in shard.transactions]
        return known

    def _logs(self) -> Iterator[tuple[int, UnifiedLog]]:
        for topic in self.world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                for node in state.replicas:
                    log = self.world.controls.log(topic.name, index, node)
                    if log is not None:
                        yield node, log

    def _last_states(self) -> dict[bytes, bool]:
        """By key of the coordinator's log: whether its last record is a tombstone."""
        topic = self.world.cluster.metadata.topics.get(TRANSACTION_STATE_TOPIC)
        last: dict[bytes, bool] = {}
        for index, state in enumerate(() if topic is None else topic.partitions):
            log = self.world.controls.log(TRANSACTION_STATE_TOPIC, index, state.leader)
            for header, batch in () if log is None else log.iterate_batches(log.log_start_offset):
                for record in iterate_records(batch, 0, header):
                    last[bytes(record.key or b"")] = record.value is None
        return last
