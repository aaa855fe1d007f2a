"""The rules of replication, checked after each step of the cluster, and what they are held against.

- One leader an epoch, in the controller's decisions and in what brokers take themselves for.
- A record that two logs have under one offset and epoch is the same, and so is what is before it:
  logs that agree on their last entry agree on all, followers' logs are prefixes.
- A leader's high watermark never goes back, nor below what its log knew before it led. What it
  passed is committed: every in-sync and every eligible replica has it, in every later state, until
  an unclean election takes back what its leader does not have.
- A follower has its leader's high watermark: it goes back to that once an epoch at most, since a
  new leader knows less until its followers have fetched (UnifiedLog.maybeUpdateHighWatermark).
- The start of a log goes back only where that is cut before it, after an unclean election, once for
  each of those (UnifiedLog.truncateTo), or where an empty follower takes the batch whole that its
  start is in the middle of (Partition.appendRecordsToFollowerOrFutureReplica).
- Nothing is acknowledged to acks=all, and nothing is read, that no high watermark has passed.

Each broken rule goes to `violate`; nothing here raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.journal import HighWatermarkMoved
from mockbroker.metadata.changes import LeaderChanged, PartitionsAdded, TopicCreated
from mockbroker_protocol.records.batch import iterate_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.nodes import Node
    from mockbroker.journal import Event
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import Change, PartitionState
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.batch import BatchHeader
    from simulation.cluster.world import ClusterWorld

Key = tuple[bytes, int]
ReplicaState = tuple["UnifiedLog | None", int, int, int, int, bool, int]
"""Log, its end and latest epoch, high watermark, leader epoch, whether it leads, log start."""
Entry = tuple[int, bytes]
"""Leader epoch and content of one record: its key and value."""

KEPT_BATCHES = 256
_read_batches: dict[tuple[bytes, int, int, int, int], list[tuple[int, Entry]]] = {}
"""By the bytes of a batch and what its header has that may be told otherwise."""


def agree(one: Entry | None, other: Entry | None) -> bool:
    """Whether they may be the same; None: it was deleted or compacted before anybody looked."""
    return one is None or other is None or one == other


class Mirror:
    """What one replica's log held, by offset, also of what it has deleted since."""

    def __init__(self) -> None:
        self.log: UnifiedLog | None = None
        self.seen: tuple[int, int, int] = (-1, -1, -1)
        self.entries: list[Entry | None] = []
        self.log_start_offset = 0
        self.high_watermark = 0
        """As it was when it was last looked at, or went back as a follower's."""
        self.lowered_epoch = self.cut_epoch = -1
        """Leader epochs in which its high watermark and its log start last went back."""
        self.lowered_ms = -1.0
        """When that of the high watermark was."""

    def read(self, log: UnifiedLog | None) -> int | None:
        """Take over what changed; from which offset on, or None when nothing did."""
        end = 0 if log is None else log.log_end_offset
        state = end, -1 if log is None else log.latest_epoch, 0 if log is None else id(log)
        if state == self.seen:
            return None
        anew = log is not self.log
        self.seen, self.log = state, log
        entries = self.entries
        if log is None or anew:
            entries.clear()
            self.log_start_offset = 0
        if log is None:
            return None
        del entries[end:]
        if log.log_start_offset < self.log_start_offset:
            # Cut before its start (UnifiedLog.truncateTo), it has none of what it once had there.
            below = min(self.log_start_offset, len(entries))
            entries[:below] = [None] * below
        return self._take(log, max(len(entries) - 1, 0))

    def still_there(self) -> list[Entry | None]:
        """What is known, less what the log has no more.

        After an unclean election the log may have been cut below its high watermark, and what grew
        again may be compacted away where it would tell.
        """
        now = Mirror()
        now.read(self.log)
        return [
            entry if at >= len(now.entries) or now.entries[at] is not None else None
            for at, entry in enumerate(self.entries)
        ]

    def _take(self, log: UnifiedLog, start: int, *, doubted: bool = False) -> int:
        """Read from `start` on; where the last entry known is another one by now, read all.

        Where it is there no more (deleted, compacted, below where a follower began anew), nothing
        is known of what no high watermark had passed, and what one had is held against the log:
        after an unclean election that may have been cut and have grown again since.
        """
        entries = self.entries
        first = len(entries)
        found = doubted or first == 0 or entries[start] is None
        for header, batch in log.iterate_batches(start):
            for offset, entry in _entries_of(header, batch):
                found = found or offset == start
                if offset >= len(entries):
                    _pad(entries, offset)
                    entries.append(entry)
                elif entries[offset] is None:
                    entries[offset] = entry
                elif entries[offset] != entry:
                    entries.clear()
                    return self._take(log, 0)
        if not found:
            for offset in range(min(self.high_watermark, first), first):
                entries[offset] = None
            return min(self._take(log, 0, doubted=True), first)
        _pad(entries, log.log_end_offset)
        return first


def _entries_of(header: BatchHeader, batch: Buffer) -> list[tuple[int, Entry]]:
    """Each record's offset and entry. All replicas hold the same bytes, and each reads its last
    batch again when it grows: what they are is read once.
    """
    epoch = header.partition_leader_epoch
    stored = bytes(batch), header.base_offset, epoch, header.attributes, header.max_timestamp
    entries = _read_batches.get(stored)
    if entries is None:
        if len(_read_batches) >= KEPT_BATCHES:
            _read_batches.clear()
        entries = _read_batches[stored] = [
            (record.offset, (epoch, _content(record.key, record.value)))
            for record in iterate_records(batch, 0, header)
        ]
    return entries


def _begins_around(log: UnifiedLog, offset: int) -> bool:
    """Whether an offset is in the middle of the first batch, with which the log begins."""
    for header, _ in log.iterate_batches(log.log_start_offset):
        return header.base_offset == log.log_start_offset < offset <= header.last_offset
    return False


def _pad(entries: list[Entry | None], end: int) -> None:
    """Nothing is known of what is before `end`."""
    entries.extend([None] * (end - len(entries)))


def _content(key: bytes | None, value: bytes | None) -> bytes:
    return bytes(key or b"") + b"=" + bytes(value or b"")


class PartitionTruth:
    """One partition of one incarnation of a topic."""

    def __init__(self, name: str, state: PartitionState) -> None:
        self.name = name
        self.state = state
        self.leaders: dict[int, int] = {state.leader_epoch: state.leader}
        self.mirrors: dict[int, Mirror] = {}
        self.canonical: dict[tuple[int, int], tuple[Entry | None, bytes]] = {}
        """By offset and epoch: the entry before, and the content."""
        self.committed: list[Entry | None] = []
        self.lost = 0
        """How much of it elections took back."""
        self.ever: dict[int, set[bytes]] = {}
        """All values that a high watermark has passed, by offset."""
        self.marks: dict[int, tuple[int, int, int]] = {}
        """By node: its incarnation, the epoch that it leads, and its high watermark there."""
        self.cut_epoch = -1
        """The epoch of an unclean election whose leader has not begun yet, or -1."""
        self.unclean_floor = -1
        """The epoch of the last unclean election: leaders of before commit nothing any more."""
        self.log_start_offset = 0
        """The largest of a leader's log: what is before it nobody tells."""

    def has_committed(self, node: int) -> bool:
        """Whether a node's log holds all that is committed: logs agree where an entry does.

        Before a leader's log start a follower may keep what it once had alone: the leader cannot
        tell that it had others there (LeaderEpochFileCache.endOffsetFor), and nobody reads them.
        """
        count = len(self.committed)
        mirror = self.mirrors.get(node)
        entries = [] if mirror is None else mirror.entries
        if len(entries) < count:
            return False
        return count <= self.log_start_offset or agree(entries[count - 1], self.committed[-1])

    def tell(self, entries: list[Entry | None], before: int, mark: int) -> None:
        """A high watermark has passed what a log has from `before` to `mark`."""
        for offset in range(before, mark):
            entry = entries[offset]
            if entry is not None:
                self.ever.setdefault(offset, set()).add(entry[1].partition(b"=")[2])

    def was_committed(self, offset: int, value: bytes) -> bool:
        """Whether a high watermark passed the value, or could: all in sync have it.

        A leader may tell of it in the step in which its replica goes elsewhere.
        """
        if value in self.ever.get(offset, ()):
            return True
        logs = [self.mirrors[node].entries for node in self.state.isr if node in self.mirrors]
        return len(logs) == len(self.state.isr) and all(
            _value_at(entries, offset) == value for entries in logs
        )

    def in_sync_beyond(self) -> list[Entry]:
        """What all in sync have and no high watermark was seen to pass: see `was_committed`."""
        logs = [self.mirrors[node].entries for node in self.state.isr if node in self.mirrors]
        if len(logs) < len(self.state.isr):
            return []
        beyond = zip(*(entries[len(self.committed) :] for entries in logs), strict=False)
        return [each[0] for each in beyond if each[0] is not None and len({*each}) == 1]

    def led(self) -> list[Entry]:
        """What its leader's log holds. Below its start that may be a tail of its own, see
        `has_committed`: there, only what is committed.
        """
        mirror = self.mirrors[self.state.leader]
        start = mirror.log_start_offset
        below = zip(mirror.entries[:start], self.committed, strict=False)
        known = [entry if entry == committed else None for entry, committed in below]
        return [entry for entry in (*known, *mirror.entries[start:]) if entry is not None]

    def outdated(self, key: bytes, offset: int) -> bool:
        """Whether a later value of the key passed a high watermark and was taken back.

        A cleaner has removed what is before that by then (LogCleanerManager.cleanableOffsets).
        """
        if self.unclean_floor < 0:
            return False
        for (later, epoch), (_, content) in self.canonical.items():
            of_key, _, value = content.partition(b"=")
            if later > offset and of_key == key and value in self.ever.get(later, ()):
                now = self.committed[later : later + 1]
                if not now or not agree(now[0], (epoch, content)):
                    return True
        return False

    def keep_common(self, entries: list[Entry | None]) -> None:
        """An unclean election took back what its leader does not have."""
        count = min(len(self.committed), len(entries))
        while count and not agree(self.committed[count - 1], entries[count - 1]):
            count -= 1
        self.lost += len(self.committed) - count
        del self.committed[count:]


class Truth:
    """Watches a world; `violations` go to it."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self.partitions: dict[Key, PartitionTruth] = {}
        self._names: dict[tuple[str, int], Key] = {}
        self._seen: dict[Partition, ReplicaState] = {}
        """What each replica was when it was last looked at."""
        self._up: dict[int, Broker] = {}
        """The brokers that were up then."""
        self._changed: dict[Key, None] = {}
        """Where something happened since the last look."""
        self.on_replica: list[Callable[[Node, Partition, ReplicaState | None], None]] = []
        """Told of each replica that changed, and what it was at the last look."""
        self.elections = self.unclean_elections = 0
        for topic in world.cluster.metadata.topics.values():
            self._add(topic.name, topic.id, 0, topic.partitions)
        world.cluster.metadata.subscribe(self._on_change)
        world.on_step.append(self.look)
        world.cluster.journal.listen(self._on_moved, high_watermarks=True)

    def find(self, topic: str, index: int) -> PartitionTruth | None:
        """The latest incarnation of a partition."""
        key = self._names.get((topic, index))
        return None if key is None else self.partitions[key]

    def end_offset(self, topic: str, index: int) -> int:
        """Where the log of its leader ends; 0 without one."""
        truth = self.find(topic, index)
        mirror = None if truth is None else truth.mirrors.get(truth.state.leader)
        return 0 if mirror is None else len(mirror.entries)

    def led_epoch(self, topic: str, index: int, node: int) -> int:
        """The leader epoch in force if this node leads in it and has heard so, else -1."""
        truth = self.find(topic, index)
        broker = self._world.cluster.broker(node)
        if truth is None or broker is None or truth.state.leader != node:
            return -1
        partition = broker.services.replicas.partition(topic, index)
        epoch = truth.state.leader_epoch
        return epoch if partition is not None and partition.leader_epoch == epoch else -1

    def known_leader(self, topic: str, index: int, node: int) -> int:
        """Who leads as far as this node has heard; -1: nobody."""
        broker = self._world.cluster.broker(node)
        known = None if broker is None else broker.services.metadata.topics.get(topic)
        return -1 if known is None else known.partitions[index].leader

    def lowered_ms(self, topic: str, index: int, node: int) -> float:
        """When the high watermark of a follower last went back; -1: never."""
        truth = self.find(topic, index)
        mirror = None if truth is None else truth.mirrors.get(node)
        return -1.0 if mirror is None else mirror.lowered_ms

    def may_have_lost(self, topic: str, index: int) -> bool:
        """Whether an election may have taken back what was committed."""
        truth = self.find(topic, index)
        return truth is not None and truth.unclean_floor >= 0

    # -- the controller's decisions ----------------------------------------------------------

    def _on_change(self, change: Change) -> None:
        if isinstance(change, TopicCreated):
            self._add(change.name, change.topic_id, 0, change.partitions)
        elif isinstance(change, PartitionsAdded):
            self._add(change.name, change.topic_id, change.first_index, change.partitions)
        elif isinstance(change, LeaderChanged):
            self._decided((change.topic_id, change.index), change.state)

    def _add(self, name: str, topic_id: bytes, first: int, states: object) -> None:
        assert isinstance(states, list | tuple)
        for index, state in enumerate(states, first):
            self.partitions[topic_id, index] = PartitionTruth(f"{name}-{index}", state)
            self._names[name, index] = topic_id, index

    def _decided(self, key: Key, state: PartitionState) -> None:
        truth = self.partitions[key]
        before, truth.state = truth.state, state
        self._changed[key] = None
        leader, epoch = state.leader, state.leader_epoch
        if state.partition_epoch <= before.partition_epoch:
            self._world.violate(
                f"{truth.name}: partition epoch {state.partition_epoch} comes after "
                f"{before.partition_epoch}"
            )
        if truth.leaders.setdefault(epoch, leader) != leader or epoch < before.leader_epoch:
            self._world.violate(
                f"{truth.name}: the controller lets {leader} lead in epoch {epoch}, "
                f"where {truth.leaders[epoch]} leads"
            )
        if leader >= 0 and leader not in state.isr:
            self._world.violate(f"{truth.name}: its leader {leader} is not in sync: {state.isr}")
        if leader >= 0 and leader != before.leader:
            self.elections += 1
            if leader not in before.isr and leader not in before.elr:
                self.unclean_elections += 1
                truth.cut_epoch = epoch
                truth.unclean_floor = epoch
        self._world.note("controller", f"{truth.name} {_described(state)}")

    # -- after each step ---------------------------------------------------------------------

    def look(self) -> None:
        """Every replica that changed, as it is now. One that is down does not change any more."""
        changed = self._changed
        for node in self._world.cluster.nodes:
            broker = node.broker
            if broker is not None:
                self._up[node.node_id] = broker
                self._look_at_broker(node, broker)
            elif node.node_id in self._up:
                # In the step in which it went down it may have written, and told that it had.
                grown_alone = not node.stopped_cleanly
                self._look_at_broker(node, self._up.pop(node.node_id), grown_alone=grown_alone)
        if changed:
            for key in changed:
                truth = self.partitions[key]
                if truth.cut_epoch < 0 and truth.committed:
                    self._check_in_sync(truth)
            changed.clear()

    def _look_at_broker(self, node: Node, broker: Broker, *, grown_alone: bool = False) -> None:
        """`grown_alone`: not at a log that has lost its tail, which counts when it is up again."""
        seen = self._seen
        for partition in broker.services.replicas.all_partitions():
            log = partition.log
            before = seen.get(partition)
            if log is None:
                state: ReplicaState = (
                    None, 0, -1, 0, partition.leader_epoch, partition.is_leader, 0
                )  # fmt: skip
            elif (
                before is not None
                and log is before[0]
                and log.log_end_offset == before[1]
                and log.high_watermark == before[3]
                and partition.leader_epoch == before[4]
                and partition.is_leader is before[5]
                and log.log_start_offset == before[6]
                and log.latest_epoch == before[2]
            ):
                continue  # as nearly always: no state is made to be compared
            else:
                state = (
                    log,
                    log.log_end_offset,
                    log.latest_epoch,
                    log.high_watermark,
                    partition.leader_epoch,
                    partition.is_leader,
                    log.log_start_offset,
                )
            if grown_alone and before is not None and state[1] <= before[1]:
                continue
            if before != state:
                seen[partition] = state
                key = partition.topic_id, partition.index
                self._changed[key] = None
                since_epoch = 0 if before is None else before[4]
                self._look_at_replica(self.partitions[key], node, partition, since_epoch)
                for watch in self.on_replica:
                    watch(node, partition, before)

    def _on_moved(self, event: Event) -> None:
        """A high watermark moved, perhaps one of several times in a step: a follower's may go back.

        A leader's is looked at after the step, but for one that nobody else takes for the leader
        any more: what it tells of its log may be cut off by then.
        """
        if not isinstance(event, HighWatermarkMoved):
            return
        truth = self.find(event.topic, event.partition)
        rises = event.after >= event.before
        if truth is None or (rises and truth.state.leader == event.broker_id):
            return
        broker = self._world.cluster.broker(event.broker_id)
        if broker is None:
            return
        partition = broker.services.replicas.partition(event.topic, event.partition)
        mirror = truth.mirrors.get(event.broker_id)
        if partition is None or mirror is None:
            return
        if partition.is_leader:
            if rises:
                truth.tell(mirror.entries, event.before, min(event.after, len(mirror.entries)))
        elif not rises:
            self._lowered(truth, event, partition, mirror)

    def _lowered(
        self, truth: PartitionTruth, event: HighWatermarkMoved, partition: Partition, mirror: Mirror
    ) -> None:
        """A follower's high watermark went back."""
        if truth.unclean_floor < 0 and mirror.lowered_epoch == partition.leader_epoch:
            self._world.violate(
                f"{truth.name}: the high watermark of {event.broker_id}, a follower, went back "
                f"again in epoch {partition.leader_epoch}, from {event.before} to {event.after}"
            )
        mirror.lowered_epoch = partition.leader_epoch
        mirror.lowered_ms = self._world.now_ms
        mirror.high_watermark = event.after  # it may lead before the step is over

    def _look_at_replica(
        self, truth: PartitionTruth, at: Node, partition: Partition, since_epoch: int
    ) -> None:
        """`since_epoch` is the leader epoch that it knew at the last look."""
        node, log = at.node_id, partition.log
        mirror = truth.mirrors.get(node)
        if mirror is None:
            mirror = truth.mirrors[node] = Mirror()
        same_log = mirror.log is log
        first = mirror.read(log)
        if first is not None:
            self._check_entries(truth, node, mirror, first)
        if log is not None:
            start, before = log.log_start_offset, mirror.log_start_offset
            if same_log and start < before <= log.log_end_offset:
                was_cut = mirror.cut_epoch < truth.unclean_floor <= partition.leader_epoch
                if partition.is_leader or not (was_cut or _begins_around(log, before)):
                    self._world.violate(
                        f"{truth.name}: the log start of {node} went back from {before} to {start}"
                    )
                mirror.cut_epoch = partition.leader_epoch
            mirror.log_start_offset = start
        known_mark = mirror.high_watermark if same_log else 0
        mirror.high_watermark = partition.high_watermark
        if partition.is_leader:
            self._look_at_leader(truth, at, partition, known_mark)
        elif mirror.high_watermark > known_mark:
            # It may have heard much at once: that it leads, alone perhaps, and then who does.
            for epoch in range(partition.leader_epoch, since_epoch - 1, -1):
                if truth.leaders.get(epoch) == node:
                    self._passed(truth, node, epoch, known_mark, mirror.high_watermark)
                    break

    def _check_entries(self, truth: PartitionTruth, node: int, mirror: Mirror, first: int) -> None:
        """An entry of one epoch is the same everywhere, and so is the one before it.

        Not where that is deleted: a leader whose first records are gone cannot tell a follower
        that it has others there (LeaderEpochFileCache.endOffsetFor).
        """
        canonical, entries = truth.canonical, mirror.entries
        start = 0 if mirror.log is None else mirror.log.log_start_offset
        for offset in range(first, len(entries)):
            entry = entries[offset]
            if entry is None:
                continue
            epoch, content = entry
            link = entries[offset - 1] if offset > start else None, content
            known = canonical.setdefault((offset, epoch), link)
            if known[0] is None and offset:
                canonical[offset, epoch] = link[0], known[1]
            if known[1] != content or not agree(known[0], link[0]):
                self._world.violate(
                    f"{truth.name}: broker {node} has {link} at {offset} of epoch {epoch}, "
                    f"others have {canonical[offset, epoch]}"
                )
                return

    def _look_at_leader(
        self, truth: PartitionTruth, at: Node, partition: Partition, known_mark: int
    ) -> None:
        """`known_mark` is what this log had for its high watermark before, led or not."""
        node, incarnation = at.node_id, at.incarnations
        epoch, mark = partition.leader_epoch, partition.high_watermark
        if truth.leaders.get(epoch) != node:
            self._world.violate(
                f"{truth.name}: broker {node} leads in epoch {epoch}, which is of "
                f"{truth.leaders.get(epoch)}"
            )
        entries = truth.mirrors[node].entries
        if partition.log is not None:
            start = partition.log.log_start_offset
            truth.log_start_offset = max(truth.log_start_offset, start)
        if truth.cut_epoch >= 0 and epoch >= truth.cut_epoch:
            truth.cut_epoch = -1
            truth.keep_common(entries)
        known = truth.marks.get(node)
        truth.marks[node] = incarnation, epoch, mark
        before = known[2] if known is not None and known[:2] == (incarnation, epoch) else 0
        if mark < min(known_mark, len(entries)):
            self._world.violate(
                f"{truth.name}: the high watermark of {node} went back from {known_mark} to {mark}"
            )
        self._passed(truth, node, epoch, before, mark)

    def _passed(self, truth: PartitionTruth, node: int, epoch: int, before: int, mark: int) -> None:
        """The high watermark of one that led in an epoch went from `before` to `mark`."""
        entries = truth.mirrors[node].entries
        truth.tell(entries, before, mark)
        count = len(truth.committed)
        if epoch < truth.unclean_floor or mark <= count:
            return
        if not truth.has_committed(node):
            self._world.violate(
                f"{truth.name}: broker {node} leads in epoch {epoch} without what was committed"
            )
        truth.committed[count:] = entries[count:mark]

    def _check_in_sync(self, truth: PartitionTruth) -> None:
        state = truth.state
        for node in (*state.isr, *state.elr):
            if not truth.has_committed(node):
                self._world.violate(
                    f"{truth.name}: broker {node} is in sync or may lead, and lacks some of "
                    f"{len(truth.committed)} committed records ({_described(state)})"
                )

    # -- what clients tell -------------------------------------------------------------------

    def acknowledged(self, topic: str, index: int, base_offset: int, values: list[bytes]) -> None:
        """A producer with acks=all was told that its records are there."""
        truth = self.find(topic, index)
        for offset, value in enumerate(values, base_offset):
            if truth is None or not truth.was_committed(offset, value):
                self._world.violate(
                    f"{topic}-{index}: {value!r} was acknowledged at {offset} before it was "
                    "committed"
                )

    def was_read(self, who: str, topic: str, index: int, offset: int, value: bytes) -> None:
        """A consumer was given a record."""
        truth = self.find(topic, index)
        if truth is None or value not in truth.ever.get(offset, ()):
            self._world.violate(f"{who} read {value!r} at {offset} of {topic}-{index}, uncommitted")


def _value_at(entries: list[Entry | None], offset: int) -> bytes | None:
    entry = entries[offset] if offset < len(entries) else None
    return None if entry is None else entry[1].partition(b"=")[2]


def _described(state: PartitionState) -> str:
    extra = f" elr {list(state.elr)}" if state.elr else ""
    return f"leader {state.leader} epoch {state.leader_epoch} isr {state.isr}{extra}"
