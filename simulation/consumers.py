"""Consumers of the simulation: they fetch for as long as they stay, with a session or without.

A consumer learns its topics, resolves offsets that are out of range, polls, and hands what it got
to a `ReadingChecker`. `ConsumerStyle` says how it fetches and how it misbehaves: drops the
connection while its fetch is parked and goes on with the next epoch, sends an epoch twice, does
not wait for an answer, mixes names and ids, pauses partitions.

Invariants: one fetch at a time on the current connection; positions only move with records, or by
a reset after error 1, or to 0 in a new incarnation of the topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse, ReplicaState
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mockbroker_protocol.versions import FETCH_TOPIC_IDS
from simulation.checkers import GONE, ReadingChecker, check_sizes, check_turns, check_view
from simulation.clients import Client, fetch_at_once
from simulation.consumer_styles import NO_LIMIT
from simulation.record_reader import read_records
from simulation.session_handler import (
    UNKNOWN_HIGH_WATERMARK,
    FetchBody,
    FetchSessionHandler,
    RequestedPartition,
    bytes_by_key,
    size_of,
    told_by_key,
    topics_of,
)

if TYPE_CHECKING:
    from random import Random

    from mockbroker_protocol.messages.fetch import (
        FetchRequestForgottenTopic,
        FetchRequestTopic,
        FetchResponsePartition,
        FetchResponseTopic,
    )
    from simulation.clients import Setting
    from simulation.consumer_styles import ConsumerStyle
    from simulation.session_handler import SessionKey

FIRST_VERSION_WITH_EPOCHS = 9
FIRST_VERSION_WITH_LAST_EPOCHS = 12
FIRST_VERSION_WITH_REPLICA_STATE = 15
FIRST_VERSION_WITH_HIGH_WATERMARKS = 18
EARLIEST = -2
REFRESH_CHANCE = 0.03
POLLS_TO_SETTLE = 3
POLLS_UNTIL_IDLE = 5
IDLE_PATIENCE = 10
POLLS_WHEN_STUCK = 60
LIST_OFFSETS_VERSION = 5
STALE_TOPICS = frozenset((*GONE, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH))
Part = tuple[str, int]


class Consumer(Client):
    """Reads all partitions of its topics. `polls` counts answers since the last progress."""

    def __init__(self, setting: Setting, name: str, rng: Random, style: ConsumerStyle) -> None:
        super().__init__(setting, name, rng)
        self.style = style
        self.session = FetchSessionHandler(sessionless=style.sessionless)
        self.reading = ReadingChecker(self.world, self.ledger, name, committed=style.committed)
        self.positions: dict[Part, int] = {}
        self.last_epochs: dict[Part, int] = {}
        self.ids: dict[str, bytes] = {}
        """The incarnation that the positions of a topic belong to, for those who go by id."""
        self.paused: dict[Part, None] = {}
        self.must_reset: dict[Part, None] = {}
        self.must_learn = True
        self.closed_by_others = setting.plan.on["thief"]
        """Whether somebody in this run closes sessions that are not his."""
        self.polls = 0
        self.checks = 0
        self.quiet_since: int | None = None
        """The step since which nothing changes, so that every later answer may be compared."""
        self.learnt_in_quiet = False
        self.pipelined = False
        """Whether another fetch waits behind the one in flight."""
        self.in_flight: FetchBody | None = None
        self.fetched_by_id: dict[bytes, str] = {}

    @property
    def by_id(self) -> bool:
        return self.style.version >= FETCH_TOPIC_IDS

    def __str__(self) -> str:
        style = self.style
        kind = "sessionless" if style.sessionless else "session"
        return (
            f"v{style.version} {kind}, wait {style.max_wait_ms}, min {style.min_bytes}, max "
            f"{style.max_bytes}/{style.partition_max_bytes}, {'committed' * style.committed}"
        )

    # -- the loop --------------------------------------------------------------------------

    def ready(self) -> None:
        self.proceed()

    def proceed(self) -> None:
        """Do what comes next: learn, reset or poll."""
        if self.must_learn or self.rng.random() < REFRESH_CHANCE:
            self.must_learn = False
            self.learn_topics(self._learnt)
        elif self.must_reset:
            self._reset()
        else:
            self._poll()

    def _learnt(self) -> None:
        self.learnt_in_quiet = self.quiet_since is not None
        for name in self.names:
            known = self.topics.get(name)
            if known is None:
                if not self.style.stubborn:
                    self._drop(name)
                continue
            if self.by_id and self.ids.get(name) != known.topic_id:
                self._drop(name)
                self.ids[name] = known.topic_id
                self.fetched_by_id[known.topic_id] = name
            for index in range(len(known.leader_epochs)):
                self.positions.setdefault((name, index), 0)
        self.proceed()

    def _drop(self, name: str) -> None:
        by_part: tuple[dict[Part, int] | dict[Part, None], ...] = (
            self.positions,
            self.last_epochs,
            self.must_reset,
            self.paused,
        )
        for held in by_part:
            for part in [part for part in held if part[0] == name]:
                del held[part]

    def _reset(self) -> None:
        """Ask where the partitions that were out of range begin."""
        parts, self.must_reset = list(self.must_reset), {}
        topics = [
            ListOffsetsTopic(name, [ListOffsetsPartition(index, timestamp=EARLIEST)])
            for name, index in parts
        ]

        def found(answer: ListOffsetsResponse) -> None:
            for topic in answer.topics:
                for data in topic.partitions:
                    part = topic.name, data.partition_index
                    if data.error_code:
                        self.must_learn = True
                    elif part in self.positions:
                        self.reading.jumped(*part, self.positions[part], data.offset)
                        self.positions[part] = data.offset
                        self.last_epochs.pop(part, None)
            self.after(self.style.pause_ms, self.proceed)

        self.call(
            ListOffsetsRequest(-1, 0, topics), LIST_OFFSETS_VERSION, ListOffsetsResponse, found
        )

    # -- polling ---------------------------------------------------------------------------

    def wanted(self) -> dict[SessionKey, RequestedPartition]:
        """What to fetch now."""
        style = self.style
        sends_last_epochs = (
            style.sends_leader_epochs and style.version >= FIRST_VERSION_WITH_LAST_EPOCHS
        )
        sends_high_watermarks = (
            style.sends_high_watermarks and style.version >= FIRST_VERSION_WITH_HIGH_WATERMARKS
        )
        wanted: dict[SessionKey, RequestedPartition] = {}
        for (name, index), position in self.positions.items():
            if (name, index) in self.paused:
                continue
            key = (self.ids[name] if self.by_id else name, index)
            wanted[key] = RequestedPartition(
                position,
                style.partition_max_bytes,
                self._leader_epoch(name, index),
                self.last_epochs.get((name, index), -1) if sends_last_epochs else -1,
                told_high_watermark(self.session, key)
                if sends_high_watermarks
                else UNKNOWN_HIGH_WATERMARK,
            )
        return wanted

    def _leader_epoch(self, name: str, index: int) -> int:
        known = self.topics.get(name)
        if (
            known is None
            or not self.style.sends_leader_epochs
            or self.style.version < FIRST_VERSION_WITH_EPOCHS
            or index >= len(known.leader_epochs)
        ):
            return -1
        return known.leader_epochs[index]

    def request(self, body: FetchBody, *, max_wait_ms: int | None = None) -> FetchRequest:
        """A request of this consumer's style."""
        style = self.style
        return FetchRequest(
            max_wait_ms=style.max_wait_ms if max_wait_ms is None else max_wait_ms,
            min_bytes=style.min_bytes,
            max_bytes=style.max_bytes,
            isolation_level=int(style.committed),
            session_id=body.session_id,
            session_epoch=body.epoch,
            topics=body.topics,
            forgotten_topics_data=body.forgotten,
            replica_state=ReplicaState()
            if style.version >= FIRST_VERSION_WITH_REPLICA_STATE
            else None,
        )

    def _poll(self) -> None:
        style, rng = self.style, self.rng
        if rng.random() < style.pause_chance:
            self._pause_or_resume()
        if rng.random() < style.wrong_family_chance and self._cross_family():
            return
        body = self.in_flight = self.session.build(self.wanted(), by_id=self.by_id)
        request = self.request(body)
        self.world.note(self.name, request_line(request, style.version))
        self.call(request, style.version, FetchResponse, self._answered, style.max_wait_ms)
        if not self.session.is_full and rng.random() < style.pipeline_chance:
            self._send_next_epoch(body)
            return
        if rng.random() < style.replay_chance:
            self._replay(request)
        if rng.random() < style.hang_up_chance:
            self.after(rng.random() * max(1.0, style.max_wait_ms), self._hang_up)
        if not self.session.is_full and rng.random() < style.impatient_chance:
            self.after(rng.random() * max(1.0, style.max_wait_ms), self._go_elsewhere)

    def _send_next_epoch(self, body: FetchBody) -> None:
        """One more fetch behind the one that was just sent, which the broker must let wait."""
        self.pipelined = True
        request = self.request(FetchBody(body.session_id, body.epoch + 1, [], []))
        self.world.note(self.name, request_line(request, self.style.version))
        self.call(
            request, self.style.version, FetchResponse, self._answered, self.style.max_wait_ms
        )

    def _pause_or_resume(self) -> None:
        """As Java's pause(): paused partitions leave the session."""
        if self.paused:
            self.paused = {}
        else:
            self.paused = {part: None for part in self.positions if self.rng.random() < 0.5}

    def _cross_family(self) -> bool:
        """Use the session with a version of the other family once: 106, and nothing changes."""
        session, other = self.session, 18 if not self.by_id else 12
        if session.is_full:
            return False
        body = FetchBody(session.session_id, session.epoch, [], [])
        request = self.request(body, max_wait_ms=0)
        request.replica_state = None

        def refused(answer: FetchResponse) -> None:
            if answer.error_code not in (
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            ):
                self.world.violate(f"{self.name}: names and ids mixed gave {answer.error_code}")
            self.after(self.style.pause_ms, self.proceed)

        self.call(request, other, FetchResponse, refused)
        return True

    def _replay(self, request: FetchRequest) -> None:
        """Send the same epoch again from another connection."""
        channel = self.side_channel(lambda: None)
        may_be = (
            0,
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        )

        def refused(answer: object) -> None:
            assert isinstance(answer, FetchResponse)
            if answer.error_code not in may_be:
                self.world.violate(f"{self.name}: a replay gave {answer.error_code}")
            channel.close()

        if self.world.faults.max_delay_ms:
            self.session.doubt(channel.wire, 0)  # it may overtake, and be accepted in its place
        self.world.note(self.name, f"replays {request.session_id}/{request.session_epoch}")
        channel.call(request, self.style.version, refused, self.style.max_wait_ms)

    def _hang_up(self) -> None:
        """Drop the connection, whether or not the fetch is parked."""
        channel = self.channel
        assert channel is not None
        self.world.note(self.name, "hangs up")
        channel.close()
        self.lost()

    def _go_elsewhere(self) -> None:
        """Leave the answer alone and send the next epoch on a new connection."""
        channel = self.channel
        if channel is None or not channel.waiting or self.in_flight is None or self.pipelined:
            return
        self.world.note(self.name, "does not wait")
        self.world.at(self.style.max_wait_ms + 5.0, channel.close)
        self.session.resume(channel.wire)
        self.open_channel()
        self._poll()

    def lost(self) -> None:
        """A fetch may have been accepted, answered, or neither."""
        channel = self.channel
        if self.in_flight is not None and channel is not None:
            if not self.pipelined and self.rng.random() < self.style.resume_chance:
                self.session.resume(channel.wire)
            else:
                self.session.lost()
            self.in_flight = None
        self.pipelined = False
        super().lost()

    # -- answers ---------------------------------------------------------------------------

    def _answered(self, answer: FetchResponse) -> None:
        was_full = self.session.is_full
        if was_full and self.in_flight is None:
            self._go_on()  # the session ended with the answer before this one
            return
        wrong = self.session.accept(answer)
        self.world.note(self.name, answer_line(answer))
        if wrong is not None:
            self.world.violate(f"{self.name}: {wrong}")
        self._check_error(answer.error_code)
        self._check_timing(answer)
        for topic in answer.responses:
            name = self.fetched_by_id[topic.topic_id] if self.by_id else topic.topic
            topic_id = topic.topic_id if self.by_id else None
            for data in topic.partitions:
                self._take(name, topic_id, data)
        if not answer.error_code:
            self.polls += 1
            if not was_full and self._may_check():
                self.check_view(answer)
        if self.pipelined:
            self.pipelined = False
            if self.session.is_full:
                self.in_flight = None
            return
        self._go_on()

    def _go_on(self) -> None:
        self.in_flight = None
        # Those who have read all may wait for the others.
        patience = IDLE_PATIENCE if self.polls > POLLS_UNTIL_IDLE else 1
        self.after(self.rng.random() * self.style.pause_ms * patience, self.proceed)

    def _may_check(self) -> bool:
        """Whether the answer in hand shows the broker as it is now, and none before it is lost."""
        channel = self.channel
        assert channel is not None
        if self.session.is_full or self.session.tainted or self.pipelined:
            return False
        if self.quiet_since is not None and channel.wire.emission_step > self.quiet_since:
            return True
        if self.world.turns is not None:
            return False  # each partition is told as it was when its turn came
        wants = channel.fresh and self.rng.random() < self.style.check_chance
        # In slices a produce may have gone on with its next partition after the answer.
        return wants and self.world.sliced_step != self.world.steps

    def _check_error(self, error: int) -> None:
        """Rule 2: a session ends and an epoch is wrong for a reason only."""
        cache = self.world.broker.services.fetch.cache
        if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            expected = cache.evictions or self.closed_by_others or not self.style.keeps_epochs
        else:
            expected = not self.style.keeps_epochs
        if error and not expected:
            self.world.violate(f"{self.name}: error {error} for nothing")

    def _check_timing(self, answer: FetchResponse) -> None:
        """Part of rule 3: an answer comes when its time is over, or when it has something to tell.

        For those who read up to the high watermark; the last stable offset has its own rules.
        """
        channel, style = self.channel, self.style
        assert channel is not None
        if answer.error_code or style.committed or style.min_bytes <= 0 or style.max_bytes <= 0:
            return
        elapsed_ms = channel.elapsed_ms
        if not answer.responses and self.session.asked and elapsed_ms < style.max_wait_ms:
            self.world.violate(f"{self.name}: an empty answer after {elapsed_ms:.3f} ms")
        if (
            style.min_bytes == 1
            and style.partition_max_bytes > 0
            and elapsed_ms >= style.max_wait_ms > 0
            and channel.wire.emission_by_timer
            and any(size_of(data) for topic in answer.responses for data in topic.partitions)
        ):
            self.world.violate(f"{self.name}: records came only after {elapsed_ms:.3f} ms")

    def _take(self, name: str, topic_id: bytes | None, data: FetchResponsePartition) -> None:
        part = name, data.partition_index
        position = self.positions.get(part)
        if position is None or (topic_id is not None and self.ids.get(name) != topic_id):
            return
        error = data.error_code
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.must_reset[part] = None
        elif error in STALE_TOPICS:
            self.must_learn = True
        elif error:
            self.world.violate(f"{self.name}: {name}-{data.partition_index} answers {error}")
        elif data.diverging_epoch is not None:
            # A log is never cut here: only one of another incarnation can leave the reader's.
            if len(self.ledger.incarnations(*part)) == 1:
                self.world.violate(f"{self.name}: {name}-{data.partition_index} diverges")
            self.must_reset[part] = None
        else:
            reading = read_records(data, position, committed=self.style.committed)
            if reading.wrong is not None:
                self.world.violate(f"{self.name}: {name}-{data.partition_index}: {reading.wrong}")
            if reading.end > position:
                self.reading.got(*part, topic_id, position, reading.end, reading.records)
                self.positions[part] = reading.end
                self.last_epochs[part] = reading.last_epoch
                self.polls = 0
                if self.style.waits_for_as_much:
                    self.style.min_bytes = size_of(data)

    # -- what checkers ask -----------------------------------------------------------------

    def check_view(self, answer: FetchResponse) -> None:
        """Compare the session's view, after this answer, with a full fetch made this instant."""
        session, style = self.session, self.style
        by_id = session.by_id
        asked = {key: at._replace(max_bytes=NO_LIMIT) for key, at in session.asked.items()}
        request = self.request(FetchBody(0, -1, topics_of(asked, by_id), []), max_wait_ms=0)
        request.max_bytes = NO_LIMIT
        full = fetch_at_once(self.world, request, style.version)
        told, sizes = told_by_key(full, by_id=by_id), bytes_by_key(full, by_id=by_id)
        check_turns(self.world, self.name, session.session_id, bytes_by_key(answer, by_id=by_id))
        channel = self.channel
        assert channel is not None
        if channel.elapsed_ms:
            # What was not in the metadata when the fetch was accepted stays an error in its answer.
            for key in [key for key, held in session.view.items() if held.error in GONE]:
                told.pop(key, None)
                sizes.pop(key, None)
        check_view(self.world, self.name, session.view, told)
        if style.max_bytes == style.partition_max_bytes == NO_LIMIT:
            check_sizes(self.world, self.name, bytes_by_key(answer, by_id=by_id), sizes)
        self.checks += 1

    def begin_quiet(self) -> None:
        """From now on nothing changes: learn anew, then read to the end."""
        self.quiet_since = self.world.steps
        self.must_learn = True
        self.learnt_in_quiet = False
        self.paused = {}
        self.polls = self.checks = 0

    @property
    def settled(self) -> bool:
        """Whether all was read, and the session was compared since the quiet began."""
        if self.polls < POLLS_TO_SETTLE or not self.learnt_in_quiet or self.must_reset:
            return False
        if not self.session.is_full and not self.session.tainted and not self.checks:
            return False
        return self.behind() is None

    @property
    def stuck(self) -> bool:
        """Whether it polls and polls, and does not get what is there."""
        return self.polls > POLLS_WHEN_STUCK and self.behind() is not None

    def behind(self) -> str | None:
        """What this reader has not read although it could; None when it is done."""
        for (name, index), position in self.positions.items():
            log = self.ledger.live(name, index)
            if log is None or log.log is None:
                continue
            bound = log.log.last_stable_offset if self.style.committed else log.log.high_watermark
            if position < bound:
                return f"{self.name} ({self}) stands at {position} of {bound} in {name}-{index}"
        return None


def told_high_watermark(session: FetchSessionHandler, key: SessionKey) -> int:
    """The high watermark that was last told of a partition; -1: unknown."""
    told = session.view.get(key)
    return -1 if told is None else told.high_watermark


def request_line(request: FetchRequest, version: int) -> str:
    """A fetch as the trace shows it: partition@offset."""
    asked = " ".join(
        f"{_short(topic)}-{part.partition}@{part.fetch_offset}"
        for topic in request.topics
        for part in topic.partitions
    )
    gone = " ".join(
        f"{_short(topic)}-{topic.partitions}" for topic in request.forgotten_topics_data
    )
    return (
        f"fetch v{version} {request.session_id}/{request.session_epoch} {asked}"
        f"{' forget ' if gone else ''}{gone}"
    )


def answer_line(answer: FetchResponse) -> str:
    """An answer as the trace shows it: error or high watermark, and record bytes."""
    told = " ".join(
        f"{_short(topic)}-{data.partition_index}:"
        + (f"error {data.error_code}" if data.error_code else f"{data.high_watermark}")
        + f"+{size_of(data)}"
        for topic in answer.responses
        for data in topic.partitions
    )
    return f"answer {answer.error_code} of {answer.session_id}: {told}"


def _short(topic: FetchRequestTopic | FetchRequestForgottenTopic | FetchResponseTopic) -> str:
    """Its name, or the beginning of its id."""
    return topic.topic or topic.topic_id.hex()[:6]
