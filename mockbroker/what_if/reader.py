"""A connection that is run again: it asks for what its client asked for, as a closed loop.

`RecordedWishes` reads the recorded requests one by one and knows what the client wanted by then:
which partitions, from where, and whether its own half of the session did something of its own. A
position is the client's where it jumped (a seek, another start); else it is behind what the answers
of the run brought. `Reader` sends what follows from that under the settings of the run.

When it asks: a poll that is answered within LATE_MS of when it was answered in the recording is
followed by the next recorded one, at its recorded time. One that is answered at another time is
followed by another after the recorded think time, with the wishes that the client had by then; it
is in step again with an answer that comes when a recorded one came.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.journal.replay import next_offset
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.what_if.broker import Client, SimulatedBroker
    from mockbroker.what_if.recording import RecordedConnection, RecordedPoll
    from mockbroker_protocol.messages.fetch import (
        EpochEndOffset,
        FetchResponse,
        FetchResponsePartition,
    )

    Ref = bytes | str
    Key = tuple[Ref, int]

LATE_MS: Final = 50.0
"""How much later than its clock says a busy broker may do something."""
IDS_SINCE: Final = 13
HIGH_WATERMARK_SINCE: Final = 18
BATCHES_SINCE: Final = 4
"""From this version on answers have batches as they are stored."""
UNKNOWN: Final = 2**63 - 1
SESSIONLESS: Final = -1
FULL: Final = 0
_THINK_MS: Final = 1.0
"""Of a client of which one poll alone is known, or that asks without end in one instant."""
_ASKED_AT_ONCE: Final = 100
"""So many polls of one connection may follow each other in no time, where it was so recorded."""
_UNSAID: Final = 0
Message = TypeVar("Message", FetchRequest, FetchRequestPartition)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is other than it was; None: nothing. `sessions` and `kip_1166`: for all, or for none.

    `slots` and `min_eviction_ms` are the broker's session cache, the others limits of an answer, in
    bytes: a consumer's, what it may have of one partition, and a follower's.
    """

    slots: int | None = None
    min_eviction_ms: int | None = None
    max_bytes: int | None = None
    partition_max_bytes: int | None = None
    replica_max_bytes: int | None = None
    sessions: bool | None = None
    kip_1166: bool | None = None

    def request_max_bytes(self, request: FetchRequest) -> int:
        """The limit of an answer to this request."""
        limit = self.replica_max_bytes if is_follower(request) else self.max_bytes
        return request.max_bytes if limit is None else limit

    def partition_limit(self, asked: int, *, follower: bool) -> int:
        """The limit of one partition in it."""
        limit = self.partition_max_bytes
        return asked if follower or limit is None else limit


def is_follower(request: FetchRequest) -> bool:
    """Whether a replica asks."""
    state = request.replica_state
    return (request.replica_id if state is None else state.replica_id) >= 0


class _Wish:
    """A partition that a client wants: as it asked last, and where it is in this run."""

    __slots__ = ("asked", "high_watermark", "position")

    def __init__(self, asked: FetchRequestPartition) -> None:
        self.asked = asked
        self.position = asked.fetch_offset
        said = asked.high_watermark
        self.high_watermark = None if said == UNKNOWN else said
        """What the run told of it, or another leader before."""

    def diverge(self, leader: EpochEndOffset) -> None:
        """Go back to where the leader's log parts from its own."""
        self.position = min(self.position, leader.end_offset)
        self.asked = changed(self.asked, last_fetched_epoch=leader.epoch)


class RecordedWishes:
    """What the client of a recorded connection wants, request by request.

    `wanted` are its partitions in the order in which it named them, `wishes` all that it ever
    wanted: one that it leaves out for a while is where it was when it comes back. `take_named` has
    those that it named since it was asked before, with whether it said what it had said before.
    """

    __slots__ = (
        "_epoch",
        "_named",
        "_polls",
        "_positions",
        "_said",
        "_session",
        "index",
        "request",
        "reset",
        "skew",
        "version",
        "wanted",
        "wishes",
    )

    def __init__(self, polls: list[RecordedPoll]) -> None:
        self._polls = polls
        self.index = -1
        self.request = FetchRequest()
        self.version = 0
        self.wishes: dict[Key, _Wish] = {}
        self.wanted: dict[Key, _Wish] = {}
        self.reset = False
        """It began a session anew where nothing told it to."""
        self.skew: tuple[int | None, int] = (None, 0)
        """A session id that was not its own, and by how much its epoch was off."""
        self._named: dict[Key, bool] = {}
        self._positions: dict[Key, int] = {}
        self._said: dict[Key, tuple[int, int]] = {}
        self._session, self._epoch = 0, FULL

    def advance(self) -> None:
        """Go on to the next recorded request, and to what its answer told the client."""
        self.index += 1
        poll = self._polls[self.index]
        request = poll.request()
        self.request, self.version = request, poll.version
        self._note_session(request)
        if request.session_epoch <= FULL:
            self.wanted = {}
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                self.wanted.pop((self._ref(gone), index), None)
        for topic in request.topics:
            for asked in topic.partitions:
                self._name((self._ref(topic), asked.partition), asked)
        self._answered(poll)

    def take_named(self) -> dict[Key, bool]:
        """Those named since this was asked before."""
        named, self._named = self._named, {}
        return named

    def _ref(self, topic: FetchRequestTopic | FetchRequestForgottenTopic) -> Ref:
        return topic.topic_id if self.version >= IDS_SINCE else topic.topic

    def _note_session(self, request: FetchRequest) -> None:
        epoch = request.session_epoch
        if epoch == FULL:
            self.reset = self.reset or (self._session != 0 and self._epoch != FULL)
        elif epoch > FULL:
            other = request.session_id if request.session_id != self._session else None
            self.skew = other, epoch - self._epoch

    def _name(self, key: Key, asked: FetchRequestPartition) -> None:
        wish = self.wishes.get(key)
        if wish is None:
            wish = self.wishes[key] = _Wish(asked)
        self.wanted[key] = wish
        if self._positions.get(key) != asked.fetch_offset:
            wish.position = self._positions[key] = asked.fetch_offset
        wish.asked = asked
        said = asked.fetch_offset, asked.partition_max_bytes
        self._named[key] = self.request.session_epoch > FULL and self._said.get(key) == said
        self._said[key] = said

    def _answered(self, poll: RecordedPoll) -> None:
        for topic, partition, offset, _ in poll.told:
            if offset is not None:
                self._positions[topic, partition] = offset
        if poll.error:
            self._session = 0 if poll.error == _NOT_FOUND else self._session
            self._epoch = FULL
        elif self.request.session_epoch <= FULL:
            self._session = poll.session_id
            self._epoch = 1 if poll.session_id else FULL
        else:
            self._epoch += 1


_NOT_FOUND: Final = int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)


class Reader:
    """Runs one recorded connection again. `told` hears of each answer, with what it brought."""

    def __init__(
        self,
        broker: SimulatedBroker,
        client: Client,
        recorded: RecordedConnection,
        settings: Settings,
        told: Callable[[Reader, FetchResponse], None],
    ) -> None:
        self._broker = broker
        self.client = client
        self.follows = recorded.is_follower
        self._polls = recorded.polls
        self._settings = settings
        self._told = told
        self._ends_ms = recorded.closed_ms
        self._wishes = RecordedWishes(recorded.polls)
        self._known: dict[Key, tuple[int, ...]] = {}
        self._session, self._epoch = 0, FULL
        self._in_step = True
        self._request = FetchRequest()
        self._sent_ms, self._asked_at_once = 0.0, 0
        self.errors: dict[int, int] = {}
        """Partitions of answers by their error."""

    def start(self) -> None:
        """Send the first poll when it came, and end when the connection ended."""
        self._broker.at(self._polls[0].arrived_ms, self._poll)
        if self._ends_ms is not None:
            self._broker.at(self._ends_ms, self._end)

    def _end(self) -> None:
        """After all else that happens then."""
        now_ms = self._broker.clock.now_ms
        self._broker.at(now_ms, lambda: self._broker.at(now_ms, self._hang_up))

    def _hang_up(self) -> None:
        self._broker.hang_up(self.client)

    # -- when ------------------------------------------------------------------------------

    def _poll(self) -> None:
        wishes, now_ms = self._wishes, self._broker.clock.now_ms
        if self._in_step:
            wishes.advance()
        while not self._in_step and self._next_came(now_ms):
            wishes.advance()
            self._in_step = abs(self._polls[wishes.index].arrived_ms - now_ms) <= LATE_MS
        self._send()

    def _next_came(self, until_ms: float) -> bool:
        following = self._wishes.index + 1
        return following < len(self._polls) and self._polls[following].arrived_ms <= until_ms

    def _answered(self, response: FetchResponse) -> None:
        self._take(response)
        self._told(self, response)
        now_ms, wishes, polls = self._broker.clock.now_ms, self._wishes, self._polls
        while not self._in_step and self._next_ended(now_ms + LATE_MS):
            wishes.advance()
        was = polls[wishes.index]
        self._in_step = was.answered and abs(was.completed_ms - now_ms) <= LATE_MS
        following = wishes.index + 1
        if not self._in_step:
            when_ms = now_ms + self._think_ms()
            if self._asked_at_once > _ASKED_AT_ONCE:
                when_ms = max(when_ms, now_ms + _THINK_MS)
        elif following < len(polls):
            when_ms = max(now_ms, polls[following].arrived_ms)
        else:
            return  # as its client, it asks no more
        if self._ends_ms is None or when_ms <= self._ends_ms:
            self._broker.at(when_ms, self._poll)

    def _next_ended(self, until_ms: float) -> bool:
        following = self._wishes.index + 1
        return following < len(self._polls) and self._polls[following].completed_ms <= until_ms

    def _think_ms(self) -> float:
        """Between an answer and the next request, the last time that it is known."""
        polls = self._polls
        for at in range(min(self._wishes.index + 1, len(polls) - 1), 0, -1):
            if polls[at - 1].answered:
                return max(0.0, polls[at].arrived_ms - polls[at - 1].completed_ms)
        return _THINK_MS

    # -- what ------------------------------------------------------------------------------

    def _send(self) -> None:
        wishes, settings = self._wishes, self._settings
        named = wishes.take_named()
        was = wishes.request
        version = self._version()
        request = changed(was, max_bytes=settings.request_max_bytes(was))
        request.session_id, request.session_epoch = self._session_fields()
        wanted: Iterable[Key] = wishes.wanted
        if request.session_epoch > FULL:
            wanted = self._changed(named)
            gone = [key for key in self._known if key not in wishes.wanted]
            for key in gone:
                del self._known[key]
            request.forgotten_topics_data = _forgotten(gone)
        else:
            self._known = {}
            request.forgotten_topics_data = []
        topics: dict[Ref, FetchRequestTopic] = {}
        for key in wanted:
            wish = wishes.wanted[key]
            self._known[key] = self._state(wish)
            topic = topics.get(key[0])
            if topic is None:
                topic = topics[key[0]] = _topic(key[0])
            topic.partitions.append(self._asked(wish, version))
        request.topics = list(topics.values())
        self._request, now_ms = request, self._broker.clock.now_ms
        self._asked_at_once = self._asked_at_once + 1 if now_ms == self._sent_ms else 1
        self._sent_ms = now_ms
        self._broker.fetch(self.client, request, max(version, BATCHES_SINCE), self._answered)

    def _version(self) -> int:
        version, said = self._wishes.version, self._settings.kip_1166
        if said is None or not is_follower(self._wishes.request):
            return version
        return (
            max(version, HIGH_WATERMARK_SINCE) if said else min(version, HIGH_WATERMARK_SINCE - 1)
        )

    def _session_fields(self) -> tuple[int, int]:
        wishes, was = self._wishes, self._wishes.request
        reset, wishes.reset = wishes.reset, False
        (other, skew), wishes.skew = wishes.skew, (None, 0)
        if was.session_epoch == SESSIONLESS and not self._settings.sessions:
            return (self._session if was.session_id else 0), SESSIONLESS
        if reset or self._epoch == FULL:
            return (self._session if was.session_id else 0), FULL
        return (self._session if other is None else other), self._epoch + skew

    def _changed(self, named: dict[Key, bool]) -> list[Key]:
        """What to name: what the session does not know, and what its client names for nothing."""
        wanted, known = self._wishes.wanted, self._known
        repeats = not is_follower(self._wishes.request)
        found = {
            key: None
            for key, again in named.items()
            if key in wanted and ((again and repeats) or known.get(key) != self._state(wanted[key]))
        }
        for key, wish in wanted.items():
            if known.get(key) != self._state(wish):
                found[key] = None
        return list(found)

    def _state(self, wish: _Wish) -> tuple[int, ...]:
        asked = wish.asked
        follower = is_follower(self._wishes.request)
        high_watermark = self._high_watermark(wish) if follower else _UNSAID
        epoch = asked.last_fetched_epoch if follower else _UNSAID
        return (
            wish.position,
            asked.partition_max_bytes,
            asked.log_start_offset,
            high_watermark,
            epoch,
        )

    def _high_watermark(self, wish: _Wish) -> int:
        """What a follower knows: what it was told, as far as its log goes."""
        return min(wish.high_watermark or 0, wish.position)

    def _asked(self, wish: _Wish, version: int) -> FetchRequestPartition:
        follower = is_follower(self._wishes.request)
        high_watermark = wish.asked.high_watermark
        if follower:
            tells = version >= HIGH_WATERMARK_SINCE
            high_watermark = self._high_watermark(wish) if tells else UNKNOWN
        elif high_watermark != UNKNOWN and wish.high_watermark is not None:
            high_watermark = wish.high_watermark
        return changed(
            wish.asked,
            fetch_offset=wish.position,
            partition_max_bytes=self._settings.partition_limit(
                wish.asked.partition_max_bytes, follower=follower
            ),
            high_watermark=high_watermark,
        )

    def _take(self, response: FetchResponse) -> None:
        if response.error_code:
            self._session = 0 if response.error_code == _NOT_FOUND else self._session
            self._epoch = FULL
        elif self._request.session_epoch <= FULL:
            self._session = response.session_id
            self._epoch = 1 if response.session_id else FULL
        else:
            self._epoch += 1
        by_id = self._wishes.version >= IDS_SINCE
        for topic in response.responses:
            for data in topic.partitions:
                self._take_partition(
                    (topic.topic_id if by_id else topic.topic, data.partition_index), data
                )

    def _take_partition(self, key: Key, data: FetchResponsePartition) -> None:
        if data.error_code:
            self.errors[data.error_code] = self.errors.get(data.error_code, 0) + 1
        wish = self._wishes.wishes.get(key)
        if wish is None:
            return
        offset = next_offset(data)
        if offset is not None:
            wish.position = offset
        if data.diverging_epoch is not None and data.diverging_epoch.end_offset >= 0:
            wish.diverge(data.diverging_epoch)
        if data.high_watermark >= 0:
            wish.high_watermark = data.high_watermark

    @property
    def positions(self) -> dict[Key, int]:
        """Where it is in each partition that it wants."""
        return {key: wish.position for key, wish in self._wishes.wishes.items()}


def _topic(ref: Ref) -> FetchRequestTopic:
    if isinstance(ref, bytes):
        return FetchRequestTopic(topic_id=ref, partitions=[])
    return FetchRequestTopic(topic=ref, partitions=[])


def _forgotten(keys: Iterable[Key]) -> list[FetchRequestForgottenTopic]:
    topics: dict[Ref, list[int]] = {}
    for ref, index in keys:
        topics.setdefault(ref, []).append(index)
    return [
        FetchRequestForgottenTopic(topic_id=ref, partitions=indexes)
        if isinstance(ref, bytes)
        else FetchRequestForgottenTopic(topic=ref, partitions=indexes)
        for ref, indexes in topics.items()
    ]


def changed(message: Message, **values: object) -> Message:
    """A copy of a message, with these fields."""
    made = copy(message)
    for name, value in values.items():
        setattr(made, name, value)
    return made
