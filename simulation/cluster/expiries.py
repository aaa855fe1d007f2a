"""What expires in the cluster's simulation: transactional ids, groups, producers that are silent.

At rest time passes until all of them are overdue, with idle rounds skipped: no coordinator may know
a transactional id or a group then, the last record of each in its log must be a tombstone, and no
log may know a producer. When offsets go is in `offset_expiries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker_protocol.records.batch import iterate_records, parse_control_record
from simulation.cluster.crews import Crew
from simulation.cluster.forgotten_ids import check_forgotten_id
from simulation.cluster.offset_expiries import RETENTION_MS, OffsetExpiries
from simulation.cluster.plan import EXPIRATION_MS, EXPIRY_CHECK_MS
from simulation.record_reader import ABORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker_protocol.records.record_codec import Record
    from simulation.cluster.crews import CrewSetting


class ExpiryCrew(Crew):
    """The last to check: a long time passes, where a seed draws "expiry"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.expired = 0
        self._offsets = OffsetExpiries(self.world, min(self.plan.topics))

    def counts(self) -> Mapping[str, int]:
        return {"expired": self.expired}

    def check(self) -> None:
        if not self.plan.on["expiry"]:
            return
        before = self._known()
        self.world.skips = True
        check_forgotten_id(self.world, min(self.plan.topics))
        self._offsets.check_deletion()
        self._offsets.check_rounds()
        passes_ms = max(EXPIRATION_MS, RETENTION_MS) + 3 * EXPIRY_CHECK_MS
        self._offsets.check_retention(passes_ms)
        after = self._known()
        self.expired += len(before) - len(after)
        for known in after:
            self.world.violate(f"{known} has not expired")
        for key, is_tombstone in self._last_states().items():
            if not is_tombstone:
                self.world.violate(f"the last record of {key!r} is no tombstone")

    def _known(self) -> list[str]:
        """All that may expire, wherever it is known."""
        known = [*self._offsets.left()]
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
        """By key of the coordinators' logs: whether its last record is a tombstone.

        Those of a transaction that was aborted have never counted, and nothing takes them back.
        """
        last: dict[bytes, bool] = {}
        for name in (TRANSACTION_STATE_TOPIC, GROUP_METADATA_TOPIC):
            topic = self.world.cluster.metadata.topics.get(name)
            for index, state in enumerate(() if topic is None else topic.partitions):
                log = self.world.controls.log(name, index, state.leader)
                for record in () if log is None else counted_records(log):
                    last[name.encode() + bytes(record.key or b"")] = record.value is None
        return last


def counted_records(log: UnifiedLog) -> list[Record]:
    """The records of a log without markers and aborted transactions, each in its place."""
    counted: dict[int, Record] = {}
    open_at: dict[int, list[int]] = {}
    for header, batch in log.iterate_batches(0):
        records = list(iterate_records(batch, 0, header))
        if header.is_control:
            offsets = open_at.pop(header.producer_id, [])
            if parse_control_record(records[0])[0] == ABORT:
                for offset in offsets:
                    del counted[offset]
            continue
        counted.update({record.offset: record for record in records})
        if header.is_transactional:
            open_at.setdefault(header.producer_id, []).extend(one.offset for one in records)
    return [*counted.values()]
