"""A transaction that is ended beside a run: by its coordinator's half, and by a leader's.

Its partitions are some of the run's, and some that are no more. Leaders answer as they are told to
here, and so does the coordinator's log:

- Every partition that exists is asked for a marker, with the epoch of who coordinates; what can
  succeed later is asked for again, and so is the last record that could not be written.
- Who hears of somebody newer gives up, and an answer to who gave up changes nothing of the next.
- What a coordinator of groups cannot do now is, to who asks, what a leader cannot that is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.clock import Clock, Timer
from mockbroker.coordinator.txn.marker_writer import MarkerWriter
from mockbroker.coordinator.txn.markers import TransactionMarkers
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits.decision_probes import copy_of, variant_of
from simulation.cluster.audits.shard_probes import shard_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from random import Random

    from mockbroker.coordinator.txn.metadata import TopicPartition, TransactionMetadata
    from mockbroker.node.broker import Broker

    Errors = dict[TopicPartition, ErrorCode]
    Asked = tuple[TransactionMarker, list[TopicPartition], Callable[[Errors], None]]

GIVE_UP = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
AGAIN = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
OF_GROUPS = {
    ErrorCode.NONE: ErrorCode.NONE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.INVALID_PRODUCER_EPOCH: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: ErrorCode.TRANSACTION_COORDINATOR_FENCED,
}
"""What a coordinator of groups tells, and what of it a leader answers."""
GONE = (("no more", 0), ("no more", 3))
LATER_MS = 1_000.0


class _Leaders:
    """All leaders: who is asked for markers waits in `asked`."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def write(
        self,
        marker: TransactionMarker,
        partitions: Iterable[TopicPartition],
        on_complete: Callable[[Errors], None],
    ) -> None:
        """As `WritesMarkers.write`."""
        self.asked.append((marker, [*partitions], on_complete))


class _End:
    """The end of one transaction, from its decision on; `wrong` so far."""

    def __init__(self, broker: Broker, known: TransactionMetadata) -> None:
        services = broker.services
        self.clock = Clock(services.clock.epoch_ms, services.clock.now_ms)
        self.timer = Timer()
        self.leaders = _Leaders()
        self.topics = services.metadata.topics
        self.known = known
        self.shard, self.log = shard_of(known)
        self.markers = TransactionMarkers(self.clock, self.timer, services.metadata, self.leaders)
        self.wrong: list[str] = []

    def hold(self, what: str, told: object, wanted: object) -> None:
        """They must be equal."""
        if told != wanted:
            self.wrong.append(f"the end of {self.known}: {what} {told}, not {wanted}")

    def send(self) -> list[TopicPartition]:
        """The coordinator begins; which partitions need a marker."""
        known = self.known
        is_there = [
            (topic, index)
            for topic, index in known.partitions
            if topic in self.topics and index < len(self.topics[topic].partitions)
        ]
        self.markers.send(self.shard, known)
        self.hold("it waits for", [*known.partitions], is_there)
        marker = TransactionMarker(
            known.producer_id,
            known.producer_epoch,
            self.topics[TRANSACTION_STATE_TOPIC].partitions[0].leader_epoch,
            known.state is TransactionState.PREPARE_COMMIT,
            known.client_transaction_version,
        )
        asked = [(marker, is_there)] if is_there else []
        self.hold("leaders are asked for", [each[:2] for each in self.leaders.asked], asked)
        return [] if self.wrong else is_there

    def answer(self, errors: Errors) -> None:
        """Whoever was asked last answers."""
        self.leaders.asked[-1][2](errors)

    def pass_time(self) -> None:
        """What is due later is done."""
        self.clock.now_ms += LATER_MS
        self.timer.advance(self.clock.now_ms)


class MarkerProbes:
    """Asks one of `_kinds` at a time; `look` tells what is wrong."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._kinds = self._given_up, self._asked_again, self._written_again, self._moved
        self.asked = 0

    def look(self, broker: Broker, known: TransactionMetadata) -> Iterator[str]:
        """About an id that the run has, in a state from which it ends."""
        self.asked += 1
        rng = self._rng
        now_ms = broker.services.clock.wall_ms()
        one = variant_of(known, rng, now_ms, rng.choice(sorted(PREPARED)))
        topics = broker.services.metadata.topics
        if TRANSACTION_STATE_TOPIC not in topics:
            return
        there = [
            (name, index)
            for name, topic in topics.items()
            for index in range(len(topic.partitions) + 1)
        ]
        parts = [*rng.sample(there, min(len(there), 3)), *GONE[: rng.randint(0, 2)]]
        one.partitions = dict.fromkeys(parts)
        end = _End(broker, one)
        is_there = end.send()
        if is_there:
            rng.choice(self._kinds)(end, is_there)
        yield from end.wrong
        yield from self._wrong_answers(broker)

    def _given_up(self, end: _End, parts: list[TopicPartition]) -> None:
        error = self._rng.choice(GIVE_UP)
        end.answer({**dict.fromkeys(parts, ErrorCode.NONE), self._rng.choice(parts): error})
        end.pass_time()
        told = len(end.markers), len(end.leaders.asked), len(end.log.writes)
        end.hold(f"after {error!r}, who is pending, asked and written are", told, (0, 1, 0))

    def _asked_again(self, end: _End, parts: list[TopicPartition]) -> None:
        part, error = self._rng.choice(parts), self._rng.choice(AGAIN)
        end.answer({**dict.fromkeys(parts, ErrorCode.NONE), part: error})
        end.pass_time()
        asked = [each[1] for each in end.leaders.asked[1:]]
        end.hold(f"after {error!r}, leaders are asked for", asked, [[part]])
        end.hold("it waits for", [*end.known.partitions], [part])

    def _written_again(self, end: _End, parts: list[TopicPartition]) -> None:
        end.answer(dict.fromkeys(parts, ErrorCode.NONE))
        for told in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE):
            end.hold("last records under way", [len(one[0]) for one in end.log.writes], [1])
            if end.wrong:
                return
            end.hold("it is pending", len(end.markers), 1)
            end.log.writes.pop()[1](told)
            end.pass_time()
        told_now = len(end.markers), len(end.log.writes), end.known.state in PREPARED
        end.hold("at last, who is pending, written and prepared are", told_now, (0, 0, False))

    def _moved(self, end: _End, parts: list[TopicPartition]) -> None:
        """Another coordinator ends it, this broker again, and then the first one's answers come."""
        answers = dict.fromkeys(parts, ErrorCode.NONE)
        is_written = self._rng.random() < 0.5
        again = copy_of(end.known)
        late = end.leaders.asked[0][2]
        if is_written:
            late(answers)
        end.markers.forget(end.shard)
        end.hold("after it moved, pending are", len(end.markers), 0)
        shard, log = shard_of(again)
        end.markers.send(shard, again)
        if is_written:
            end.log.writes.pop()[1](ErrorCode.NONE)
        else:
            late(answers)
        end.pass_time()
        told = len(end.markers), [*again.partitions], len(log.writes), len(end.log.writes)
        end.hold("after a late answer, it is", told, (1, parts, 0, 0))

    def _wrong_answers(self, broker: Broker) -> Iterator[str]:
        """A leader's half, where it has a partition of groups."""
        services = broker.services
        topic = services.metadata.topics.get(GROUP_METADATA_TOPIC)
        count = 0 if topic is None else len(topic.partitions)
        parts = [
            (GROUP_METADATA_TOPIC, index)
            for index in range(count)
            if services.replicas.partition(GROUP_METADATA_TOPIC, index) is not None
        ]
        if not parts:
            return
        told = self._rng.choice([*OF_GROUPS])
        writer = MarkerWriter(
            services.replicas, services.config, lambda _index, _marker, done: done(told)
        )
        answers: list[Errors] = []
        writer.write(TransactionMarker(1, 0, 0, True, 0), parts, answers.append)
        wanted = dict.fromkeys(parts, OF_GROUPS[told])
        if answers != [wanted]:
            yield f"of {told!r} from the coordinator of groups, a leader makes {answers}"
