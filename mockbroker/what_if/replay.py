"""What a journal recorded of one broker, run again under other settings.

Called where the work is spread (`replay_figures`), with the lines of one broker in and plain values
out. Three sets of figures come of it: what was recorded, the recording run again with nothing
changed, and under the settings. The second says how far to trust the third; it also has what no
journal tells, such as how many partitions the broker looked at.

The log grows as it did: batches have their recorded headers and sizes, and zeros for records. Where
followers' fetches are recorded they move the high watermark again; else what was appended appears
when the recorded high watermark passed it, which is what consumers see. What a broker had copied
before it led a partition is there as one batch without records: only its end is known.
"""

from __future__ import annotations

import struct
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mockbroker.journal.events import CREATED, DELETED, GROWN
from mockbroker.journal.request import DATA
from mockbroker.metadata.changes import (
    LeaderChanged,
    PartitionsAdded,
    PartitionState,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.what_if.broker import EVICTION_MS, SLOTS, Client, SimulatedBroker
from mockbroker.what_if.collecting import dropped_as_a_whole
from mockbroker.what_if.costs import Costs, Histogram
from mockbroker.what_if.delays import Moves, Reached
from mockbroker.what_if.leads import Leads
from mockbroker.what_if.reader import Reader, Settings
from mockbroker.what_if.recording import recording_of
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import cover_batch
from mockbroker_protocol.records.crc import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.replica.partition import Partition
    from mockbroker.what_if.recording import (
        RecordedBatch,
        RecordedConnection,
        RecordedMove,
        RecordedTopic,
        Recording,
    )
    from mockbroker_protocol.messages.fetch import FetchResponse

    Key = tuple[bytes, int]
    Row = dict[str, Any]

RECORDED: Final = "recorded"
AS_IT_WAS: Final = "as it was"
WHAT_IF: Final = "what if"
CONFIGS: Final = (
    SLOTS, EVICTION_MS, "fetch.max.bytes", "log.segment.bytes", "min.insync.replicas",
    "replica.lag.time.max.ms",
)  # fmt: skip
"""Of a broker's configs, those that reads depend on."""
_DEFAULT_SLOTS: Final = "1000"
_HEADER_BYTES: Final = 61
_CRC_AT: Final = 17
_CHECKED_AT: Final = 21
_CRC: Final = struct.Struct(">I")


def replay_figures(
    broker: int, lines: Iterable[Mapping[str, Any]], settings: Mapping[str, Any]
) -> list[Row]:
    """What comes of that broker's lines: rows, one for each set of figures and client.

    `settings` are those of `Settings`. A broker without recorded fetches has no rows.
    """
    recording = recording_of(broker, lines)
    if not recording.readers():
        return []
    rows = _recorded_rows(recording)
    for name, wanted in ((AS_IT_WAS, Settings()), (WHAT_IF, Settings(**settings))):
        rows += dropped_as_a_whole(partial(_run, recording, name, wanted))
    return rows


def _run(recording: Recording, name: str, settings: Settings) -> list[Row]:
    replay = Replay(recording, settings)
    replay.run()
    return replay.rows(name)


class Group:
    """Figures of the connections of one client, or of one follower."""

    def __init__(self) -> None:
        self.costs = Costs()
        self.partition_errors: dict[int, int] = {}
        self.connections = 0
        self.records_delays = Histogram()
        self.high_watermark_delays = Histogram()
        """From the move of a high watermark until a consumer has the records below it, or until
        somebody is told of it."""

    def row(self, run: str, broker: int, client: tuple[str, str], name: str) -> Row:
        """As plain values; a histogram as its buckets."""
        costs = self.costs
        errors = dict(costs.errors)
        for code, count in self.partition_errors.items():
            errors[code] = errors.get(code, 0) + count
        return {
            "run": run,
            "broker": broker,
            "client": client[0],
            "kind": client[1],
            "figures": name,
            "connections": self.connections,
            **costs.values(),
            "errors": {str(code): count for code, count in sorted(errors.items())},
            "waits": costs.waits.buckets,
            "records_delays": self.records_delays.buckets,
            "high_watermark_delays": self.high_watermark_delays.buckets,
            "session_events": {},
            "lines_dropped": 0,
        }


FOLLOWER: Final = "follower"
CONSUMER: Final = "consumer"
BROKER: Final = "broker"


def client_of(connection: RecordedConnection) -> tuple[str, str]:
    """By what its figures are added up: its client id, and what it is."""
    return connection.client_id, FOLLOWER if connection.is_follower else CONSUMER


# -- what was ----------------------------------------------------------------------------------


def _recorded_rows(recording: Recording) -> list[Row]:
    groups: dict[tuple[str, str], Group] = {}
    moves, ids = _recorded_moves(recording), _ids(recording)
    for connection in recording.readers():
        group = groups.setdefault(client_of(connection), Group())
        group.connections += 1
        _add_recorded(group, connection, moves, ids)
    return _rows(recording, groups, RECORDED, recording.session_events)


def _rows(
    recording: Recording,
    groups: Mapping[tuple[str, str], Group],
    name: str,
    session_events: Mapping[str, int],
) -> list[Row]:
    rows = [each.row("", recording.broker, client, name) for client, each in groups.items()]
    of_broker = Group().row("", recording.broker, ("", BROKER), name)
    of_broker |= {"session_events": dict(session_events), "lines_dropped": recording.dropped}
    return [*rows, of_broker]


def _recorded_moves(recording: Recording) -> dict[Key, Moves]:
    ids = _ids(recording)
    found: dict[Key, Moves] = {}
    for move in recording.moves:
        topic_id = ids.get(move.topic)
        if topic_id is not None:
            key = topic_id, move.partition
            found.setdefault(key, Moves()).note(move.offset, move.at_ms)
    return found


def _ids(recording: Recording) -> dict[str, bytes]:
    return {topic.name: topic.topic_id for topic in recording.topics if topic.action == CREATED}


def _add_recorded(
    group: Group,
    connection: RecordedConnection,
    moves: Mapping[Key, Moves],
    ids: Mapping[str, bytes],
) -> None:
    costs = group.costs
    reached: dict[Key, Reached] = {}
    for poll in connection.polls:
        costs.polls += 1
        costs.request_bytes += poll.request_bytes
        costs.named += poll.named
        if not poll.answered:
            continue
        costs.response_bytes += poll.response_bytes
        costs.records_bytes += poll.records_bytes
        costs.told += poll.partitions_told
        costs.timeouts += poll.timed_out
        costs.largest_bytes = max(costs.largest_bytes, poll.response_bytes)
        costs.waits.note(poll.completed_ms - poll.arrived_ms)
        if poll.error:
            costs.errors[poll.error] = costs.errors.get(poll.error, 0) + 1
        for topic, partition, offset, error in poll.told:
            if error:
                group.partition_errors[error] = group.partition_errors.get(error, 0) + 1
            key = topic if isinstance(topic, bytes) else ids.get(topic, b""), partition
            if offset is None or connection.is_follower or key not in moves:
                continue
            known = reached.get(key)
            if known is None:
                known = reached[key] = Reached(moves[key], group.records_delays)
            known.note(offset, poll.completed_ms)


# -- run again ---------------------------------------------------------------------------------


class Replay:
    """A broker with a recorded log and recorded connections."""

    def __init__(self, recording: Recording, settings: Settings) -> None:
        self._recording = recording
        self._replicated = recording.has_followers
        self._leads = Leads(recording)
        self.broker = SimulatedBroker(recording.broker, _configs(recording, settings))
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        self._waiting: dict[tuple[str, int], deque[RecordedBatch]] = {}
        """What was appended and is not shown yet, where the high watermark is the recorded one."""
        self._moves: dict[Key, Moves] = {}
        self._reached: dict[tuple[int, Key], tuple[Reached, Reached]] = {}
        self.groups: dict[tuple[str, str], Group] = {}
        self._readers: list[tuple[Group, Reader]] = []
        self._schedule_log()
        for connection in recording.readers():
            self._add_reader(connection, settings)

    def run(self) -> None:
        """Let as much time pass as was recorded."""
        self.broker.run(self._recording.ends_ms)

    def rows(self, name: str) -> list[Row]:
        """What came of it."""
        for group, reader in self._readers:
            for code, count in reader.errors.items():
                group.partition_errors[code] = group.partition_errors.get(code, 0) + count
        return _rows(self._recording, self.groups, name, self.broker.session_events)

    def _add_reader(self, connection: RecordedConnection, settings: Settings) -> None:
        group = self.groups.setdefault(client_of(connection), Group())
        group.connections += 1
        client = Client(connection.number, connection.client_id, group.costs)
        client.listener = connection.listener or client.listener
        client.principal = connection.principal or client.principal
        reader = Reader(
            self.broker,
            client,
            connection,
            settings,
            lambda reader, response: self._told(group, reader, response),
        )
        self._readers.append((group, reader))
        reader.start()

    def _told(self, group: Group, reader: Reader, response: FetchResponse) -> None:
        """Note how late news of partitions came."""
        now_ms, positions = self.broker.clock.now_ms, reader.positions
        for topic in response.responses:
            topic_id = topic.topic_id if any(topic.topic_id) else self._ids.get(topic.topic, b"")
            for data in topic.partitions:
                key = topic_id, data.partition_index
                moves = self._moves.get(key)
                if moves is None or data.error_code:
                    continue
                reached = self._reached.get((reader.client.id, key))
                if reached is None:
                    reached = self._reached[reader.client.id, key] = (
                        Reached(moves, group.records_delays),
                        Reached(moves, group.high_watermark_delays),
                    )
                if data.records and not reader.follows:
                    position = positions.get(key) or positions.get((topic.topic, key[1]))
                    if position is not None:
                        reached[0].note(position, now_ms)
                reached[1].note(data.high_watermark, now_ms)

    # -- the log ---------------------------------------------------------------------------

    def _schedule_log(self) -> None:
        recording = self._recording
        events: list[tuple[float, int, Any, Any]] = []
        events += [(each.at_ms, each.seq, self._place, each) for each in recording.topics]
        events += [(each.at_ms, each.seq, self._append, each) for each in recording.batches]
        events += [(each.at_ms, each.seq, self._show, each) for each in recording.moves]
        events.sort(key=lambda event: event[:2])
        for at_ms, _, act, event in events:
            self.broker.at(at_ms, lambda act=act, event=event: act(event))  # type: ignore[misc]

    def _place(self, topic: RecordedTopic) -> None:
        states = [self._state(state) for state in topic.states]
        metadata = self.broker.metadata
        if topic.action == CREATED:
            self._ids[topic.name] = topic.topic_id
            metadata.apply(TopicCreated(topic.name, topic.topic_id, states, topic.configs))
        elif topic.name not in metadata.topics:
            return
        elif topic.action == GROWN:
            metadata.apply(PartitionsAdded(topic.name, topic.topic_id, topic.first, states))
        elif topic.action == DELETED:
            metadata.apply(TopicDeleted(topic.name, topic.topic_id))
            return
        else:
            self._take_over(topic)
            metadata.apply(LeaderChanged(topic.name, topic.topic_id, topic.first, states[0]))
        for index in range(topic.first, topic.first + len(states)):
            self._watch(topic, index)

    def _take_over(self, moved: RecordedTopic) -> None:
        """Have what it copied before it leads: a batch without records takes readers over it."""
        partition = self.broker.replicas.partition(moved.name, moved.first)
        if partition is None or moved.states[0].leader != self.broker.broker_id:
            return
        log, held = partition.open_log(), self._leads.taken_over(moved)
        if log.log_end_offset < held.end_offset:
            cover = cover_batch(log.log_end_offset, held.end_offset - 1, held.leader_epoch)
            partition.append_as_follower(cover, held.end_offset, log.log_start_offset)

    def _state(self, state: PartitionState) -> PartitionState:
        """As it was; without followers that ask, the leader is alone."""
        if self._replicated:
            return state
        leader = state.leader
        nodes = [self.broker.broker_id if leader < 0 else leader]
        return PartitionState(leader, nodes, nodes, state.leader_epoch)

    def _watch(self, topic: RecordedTopic, index: int) -> None:
        partition = self.broker.replicas.partition(topic.name, index)
        if partition is not None:
            partition.high_watermark_listener = self._moved
            self._moves.setdefault((topic.topic_id, index), Moves())

    def _moved(self, partition: Partition) -> None:
        if partition.log is not None:
            moves = self._moves[partition.topic_id, partition.index]
            moves.note(partition.log.high_watermark, self.broker.clock.now_ms)

    def _append(self, batch: RecordedBatch) -> None:
        if self._replicated:
            self._store(batch)
        else:
            self._waiting.setdefault((batch.topic, batch.partition), deque()).append(batch)

    def _show(self, move: RecordedMove) -> None:
        waiting = self._waiting.get((move.topic, move.partition))
        while waiting and waiting[0].base_offset < move.offset:
            self._store(waiting.popleft())

    def _store(self, batch: RecordedBatch) -> None:
        replicas = self.broker.replicas
        partition = replicas.partition(batch.topic, batch.partition)
        if partition is None or not partition.is_leader:
            return  # it came from a scope, or a snapshot, that no line tells of
        partition.open_log()
        log = partition.log_to_write()
        data, now_ms = batch_bytes(batch), self.broker.clock.wall_ms()
        result = log.append_as_follower(data, now_ms)
        if result.error is ErrorCode.OFFSET_OUT_OF_RANGE:  # what a scope put back
            log.truncate_to(batch.base_offset)
            log.append_as_follower(data, now_ms)
        if partition.followers is not None:
            partition.followers.leader_appended(batch.base_offset)
        partition.raise_high_watermark()
        partition.mark_watchers()
        replicas.mark_ready(partition, DATA)


def batch_bytes(batch: RecordedBatch) -> bytes:
    """The recorded batch, with zeros for its records."""
    told = batch.told
    if len(told) >= batch.size_bytes:
        return told
    checked = told[_CHECKED_AT:_HEADER_BYTES] + bytes(batch.size_bytes - _HEADER_BYTES)
    return told[:_CRC_AT] + _CRC.pack(crc32c(checked)) + checked


def _configs(recording: Recording, settings: Settings) -> dict[str, str]:
    configs: dict[str, str] = {
        name: recording.settings[name] for name in CONFIGS if name in recording.settings
    }
    if settings.slots is not None:
        configs[SLOTS] = str(settings.slots)
    elif settings.sessions and configs.get(SLOTS) == "0":
        configs[SLOTS] = _DEFAULT_SLOTS
    if settings.sessions is False:
        configs[SLOTS] = "0"
    if settings.min_eviction_ms is not None:
        configs[EVICTION_MS] = str(settings.min_eviction_ms)
    if settings.max_bytes is not None:
        configs["fetch.max.bytes"] = str(settings.max_bytes)
    return configs
