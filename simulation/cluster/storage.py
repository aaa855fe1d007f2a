"""Storage in the cluster's simulation: records that are deleted, compacted and outlive retention.

- A log start never goes back, and DeleteRecords is answered when all live replicas begin there.
- What a log holds from its start on is what was appended; a compacted one may lack records, but the
  last value of each key is there, unless it is an old tombstone or was outdated by one that an
  unclean election took back.
- All replicas hold the same, but for what one of them has compacted or deleted before the others.
- A snapshot restored holds what the original did, on every replica.

The first is looked at after each step (`truth`), the others when all is at rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import Acl, AclFilter
from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.state import snapshot, snapshot_file
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from mockbroker_protocol.records.batch import iterate_records
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.cluster.erasers import Eraser
from simulation.cluster.plan import COMPACTED, DELETED

if TYPE_CHECKING:
    from random import Random

    from mockbroker.log.unified_log import UnifiedLog
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import PartitionTruth, Truth
    from simulation.cluster.world import ClusterWorld

VERSION = 2
PAUSE_MS = 200.0
TIMEOUT_MS = 400
Stored = dict[int, bytes]
"""Contents of a log's records by offset."""


class Deleter(ClusterClient):
    """Deletes records of a partition up to some offset, every now and then."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, {DELETED: plan.all_topics[DELETED]})
        self.deleted = 0

    def begin(self) -> None:
        part = self.rng.choice(self.parts)
        known = self.leaders.get(part)
        if known is None:
            self.learn()
            return
        wanted = self.rng.randint(0, self.truth.end_offset(*part))
        offset = -1 if self.rng.random() < 0.2 else wanted

        def answered(answer: DeleteRecordsResponse | None) -> None:
            if answer is None:
                self.forget(part)
                self.later()
                return
            data = answer.topics[0].partitions[0]
            self.note(f"{part[0]}-{part[1]} to {offset}: {data.error_code}, {data.low_watermark}")
            if data.error_code == ErrorCode.NONE:
                self.deleted += 1
                if data.low_watermark < offset:
                    self.world.violate(
                        f"{self.name}: {part} begins at {data.low_watermark}, deleted to {offset}"
                    )
            else:
                self.forget(part)
            self.later(self.rng.random() * PAUSE_MS)

        topic = DeleteRecordsTopic(part[0], [DeleteRecordsPartition(part[1], offset)])
        request = DeleteRecordsRequest([topic], TIMEOUT_MS)
        self.ask(known[0], request, VERSION, DeleteRecordsResponse, answered)


class StorageCrew(Crew):
    """Deletes, fills disks, and looks at what is stored in the end."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._operator = setting.operator
        self._rng = setting.stream("storage")
        self._compacted_away = self._restored = 0
        self._deleters = setting.hire(Deleter, "deleter", int(self.plan.on["delete_records"]))
        self._erasers = setting.hire(Eraser, "eraser", int(self.plan.on["compaction"]))
        self.clients = [*self._deleters, *self._erasers]
        self._operator.acts["full_disk"] = self._fill_a_disk
        self._operator.verbs.add("fill_disk", self._fill)
        self._operator.verbs.add("free_disk", self._free)

    def counts(self) -> dict[str, int]:
        return {
            "deleted": sum(deleter.deleted for deleter in self._deleters),
            "erased": sum(eraser.erased for eraser in self._erasers),
            "compacted away": self._compacted_away,
            "restored": self._restored,
        }

    # -- a full disk: the core keeps nothing on one, a rule answers as Apache Kafka would --------

    def _fill_a_disk(self) -> None:
        self._operator.disturb("fill_disk", "free_disk", 200.0, node_id=self._operator.node())

    def _fill(self, node_id: int) -> None:
        from mockbroker.faults import Fault

        self._free(node_id)
        rule = Fault(
            api="Produce",
            client="producer*",
            broker=node_id,
            error="KAFKA_STORAGE_ERROR",
            maybe=True,
            id=f"disk-{node_id}",
        )
        self.world.cluster.faults.add(rule)

    def _free(self, node_id: int) -> None:
        cluster = self.world.cluster
        if cluster.has_faults and f"disk-{node_id}" in {one.id for one in cluster.faults.list()}:
            cluster.faults.remove(f"disk-{node_id}")

    def stop(self) -> None:
        super().stop()
        for node_id in self.world.nodes:
            self._free(node_id)

    # -- at rest ---------------------------------------------------------------------------------

    def check(self) -> None:
        for name, count in self.plan.all_topics.items():
            for index in range(count):
                self._check_partition(name, index)

    def _check_partition(self, name: str, index: int) -> None:
        truth = self.truth.find(name, index)
        assert truth is not None
        find = self.world.controls.log
        logs = {n: log for n in truth.state.replicas if (log := find(name, index, n)) is not None}
        if not any(log.log_end_offset for log in logs.values()):
            return  # a log is made when it is written or asked for
        if lacking := set(truth.state.replicas) - set(logs):
            self.world.violate(f"{truth.name}: {sorted(lacking)} of the replicas have no log")
            return
        stored = {node: _stored(log) for node, log in logs.items()}
        for node, log in logs.items():
            self._check_stored(truth, node, log, stored[node], compacted=name == COMPACTED)
        led = stored[truth.state.leader]
        for node, contents in stored.items():
            for offset in contents.keys() & led.keys():
                if contents[offset] != led[offset]:
                    self.world.violate(f"{truth.name}: {node} differs at {offset} from the leader")

    def _check_stored(
        self,
        truth: PartitionTruth,
        node: int,
        log: UnifiedLog,
        stored: Stored,
        *,
        compacted: bool,
    ) -> None:
        entries = truth.mirrors[node].entries
        last: dict[bytes, int] = {}
        for offset in range(log.log_start_offset, log.log_end_offset):
            entry, content = entries[offset], stored.get(offset)
            if entry is None:
                continue
            if content is None and compacted:
                self._compacted_away += 1
            elif content is None and truth.unclean_floor >= 0:
                continue  # its log was cut within the batch, none of which is left then
            elif content != entry[1]:
                self.world.violate(
                    f"{truth.name}: broker {node} holds {content!r} at {offset}, not {entry[1]!r}"
                )
                return
            last[entry[1].partition(b"=")[0]] = offset
        for key, offset in last.items():
            known = entries[offset]
            assert known is not None
            may_go = known[1] == key + b"=" and not self.plan.tombstones_stay
            lost = compacted and offset not in stored and not may_go
            if lost and not truth.outdated(key, offset):
                self.world.violate(
                    f"{truth.name}: broker {node} lost the last value of {key!r}, at {offset}"
                )

    # -- a snapshot ------------------------------------------------------------------------------

    def restore_a_snapshot(self) -> None:
        """Take one, spoil what it holds, restore it: everything must be there again.

        The rules of replication know nothing of restores: nobody may look any more.
        """
        world, cluster = self.world, self.world.cluster
        image = snapshot.take(cluster)
        first, *others = self.plan.all_topics
        delete = [TopicReference(first)]
        world.operate(lambda: cluster.controller.delete_topics(delete))
        world.operate(lambda: cluster.controller.create_topics([NewTopic("other", 2)]))
        world.operate(self._spoil_quotas_and_acls)
        for name in others:
            world.operate(lambda name=name: self._delete_all(name))  # type: ignore[misc]
        world.run_for(self._rng.choice((1.0, 50.0, 1_000.0)))
        file = snapshot_file.to_bytes(image)
        world.operate(lambda: snapshot.restore(cluster, snapshot_file.from_bytes(file)))
        self._restored += 1

        def whole() -> bool:
            return difference_of(world, self.plan, image) == ""

        if not world.run_until(whole, 10_000.0):
            world.violate(
                f"the restored snapshot differs: {difference_of(world, self.plan, image)}"
            )

    def _spoil_quotas_and_acls(self) -> None:
        controller = self.world.cluster.controller
        quotas = [
            QuotaAlteration((("user", name),), [("producer_byte_rate", rate)])
            for name, rate in (("u", None), ("of-the-snapshot", 9.0))
        ]
        controller.alter_client_quotas(quotas, validate_only=False)
        controller.delete_acls([AclFilter(1, None, 1, None, None, 1, 1)])
        controller.create_acls([Acl(3, "of-the-snapshot", 3, "User:mallory", "*", 3, 2)])

    def _delete_all(self, name: str) -> None:
        state = self.world.cluster.metadata.topics[name].partitions[0]
        broker = self.world.cluster.broker(state.leader)
        assert broker is not None
        partition = broker.services.replicas.partition(name, 0)
        assert partition is not None
        partition.delete_records_before(-1)


def difference_of(world: ClusterWorld, plan: ClusterPlan, image: snapshot.Snapshot) -> str:
    """What differs from a snapshot now; empty: nothing."""
    taken = snapshot.take(world.cluster)
    now = {topic.name: topic for topic in taken.topics}
    if set(now) != {topic.name for topic in image.topics}:
        return f"topics {sorted(now)}"
    for topic in image.topics:
        after = now[topic.name]
        if (after.topic_id, dict(after.configs)) != (topic.topic_id, dict(topic.configs)):
            return f"id or configs of {topic.name}"
        if topic.name not in plan.all_topics:
            continue  # coordinators write on
        if len(after.partitions) != len(topic.partitions):
            return f"{topic.name} has {len(after.partitions)} partitions"
        for index, (was, is_now) in enumerate(zip(topic.partitions, after.partitions, strict=True)):
            if is_now.log != was.log:
                return f"the log of {topic.name}-{index}"
            for node in was.replicas:
                log = world.controls.log(topic.name, index, node)
                end = 0 if log is None else log.log_end_offset
                if end != was.log.log_end_offset:
                    return f"{topic.name}-{index} at broker {node} ends at {end}"
    if (taken.client_quotas, taken.acls) != (image.client_quotas, image.acls):
        return f"quotas {taken.client_quotas} and ACLs {taken.acls}"
    return ""


def _stored(log: UnifiedLog) -> Stored:
    return {
        record.offset: bytes(record.key or b"") + b"=" + bytes(record.value or b"")
        for header, batch in log.iterate_batches(log.log_start_offset)
        for record in iterate_records(batch, 0, header)
    }
