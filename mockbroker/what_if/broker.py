"""The core of one broker on virtual time: fetches in, answers out, and what each of them cost.

`simulate` makes one, schedules what happens and calls `run`. A fetch goes through `apis.fetch`, so
sessions, limits and waits are the broker's own; its bytes are those of the codec.

What an idle poll costs may be counted and not played: as long as nothing changes that a parked
fetch would tell, its wait ends, an empty answer goes out, and the next poll is parked likewise. How
often, is arithmetic (`idle_rounds`). A poll that is woken then is where that round would have it:
parked, or still on its way.

Invariants: events run in the order of their times, those of one time in the order in which they
were scheduled; a poll is in `_polls` until it is answered, and in `_parked` while it waits.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import ceil
from random import Random
from typing import TYPE_CHECKING, Final

from mockbroker.apis import fetch as fetch_api
from mockbroker.apis.context import PARKED, Environment, RequestContext
from mockbroker.clock import Clock, Timer
from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.producer_ids import ProducerIdBlocks
from mockbroker.fetch.cache import NUM_SHARDS
from mockbroker.fetch.contexts import FULL, SESSIONLESS, ResponseTopics
from mockbroker.fetch.incremental import IncrementalFetchContext
from mockbroker.journal import Journal, SessionEvent
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged, TopicCreated
from mockbroker.metadata.controller import Controller
from mockbroker.metadata.store import MetadataStore
from mockbroker.node.assembly import make_broker
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.fetch_codec import encode_fetch_request, encode_fetch_response
from mockbroker_protocol.headers import (
    encode_request_header,
    encode_response_header,
    request_header,
)
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mockbroker.journal import Event
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.purgatory.purgatory import DelayedOperation
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.partition import Partition
    from mockbroker.what_if.costs import Costs
    from mockbroker_protocol.messages.fetch import FetchResponsePartition, FetchResponseTopic

    OnResponse = Callable[[FetchResponse], None]

FETCH: Final = int(ApiKey.FETCH)
SLOTS: Final = "max.incremental.fetch.session.cache.slots"
EVICTION_MS: Final = "min.incremental.fetch.session.eviction.ms"
_LENGTH_BYTES: Final = 4
_FOREVER_MS: Final = 2**31 - 1


class Client:
    """Who fetches, as the broker sees it, and what that costs."""

    __slots__ = (
        "_header_bytes",
        "costs",
        "id",
        "listener",
        "local_address",
        "name",
        "peer",
        "principal",
    )

    def __init__(self, number: int, name: str, costs: Costs) -> None:
        self.id = number
        self.name = name
        self.costs = costs
        self.peer = "/127.0.0.1"
        self.principal = "User:ANONYMOUS"
        self.listener = "PLAINTEXT"
        self.local_address = ("127.0.0.1", 9092)
        self._header_bytes: dict[int, int] = {}

    def request_bytes(self, request: FetchRequest, version: int) -> int:
        """What its request takes on the wire."""
        size = self._header_bytes.get(version)
        if size is None:
            size = _LENGTH_BYTES + len(encode_request_header(FETCH, version, 0, self.name))
            self._header_bytes[version] = size
        return size + len(encode_fetch_request(request, version))


class Poll:
    """One fetch between its arrival and its answer.

    `first_end_ms` is when the first of its idle rounds ends, while they are only counted.
    """

    __slots__ = (
        "arrived_ms",
        "client",
        "ctx",
        "first_end_ms",
        "max_wait_ms",
        "on_response",
        "operation",
        "request",
        "request_bytes",
        "version",
    )

    def __init__(
        self, client: Client, request: FetchRequest, version: int, on_response: OnResponse
    ) -> None:
        self.client = client
        self.request = request
        self.version = version
        self.on_response = on_response
        self.max_wait_ms = request.max_wait_ms
        self.request_bytes = 0
        self.arrived_ms = 0.0
        self.ctx: RequestContext | None = None
        self.operation: DelayedOperation | None = None
        self.first_end_ms: float | None = None


class SimulatedBroker:
    """One broker, `node_id`; other brokers are known by their ids alone.

    `config` is the broker's, under Kafka's names; `travel_ms` what a request or an answer takes
    between a client and the broker; `counts_idle`: idle polls are counted, not played.
    """

    def __init__(
        self,
        node_id: int,
        config: Mapping[str, str],
        *,
        seed: int = 0,
        travel_ms: float = 0.0,
        counts_idle: bool = False,
    ) -> None:
        self.broker_id = node_id
        self.config = BrokerConfig({**config, "node.id": str(node_id)})
        self.clock = Clock()
        self.timer = Timer()
        self.travel_ms = travel_ms
        self.metadata = MetadataStore("what-if", self.config)
        self.metadata.apply(BrokerChanged(BrokerInfo(node_id)))
        rng = Random(f"{seed}/{node_id}")
        controller = Controller(self.metadata, self.config, rng)
        environment = Environment(
            node_id, self.config, self.clock, self.timer, self.metadata, controller, rng
        )
        journal = Journal(1)
        journal.listen(self._note)
        core = make_broker(environment, ProducerIdBlocks(), journal, lambda _: rng)
        self._services = core.services
        self._services.work_in_slices = _at_once
        self._fetch = core.services.fetch
        self.replicas = core.services.replicas
        self.session_events: dict[str, int] = {}
        """How often what became of a session: `opened`, `refused`, `evicted aged`, …"""
        slots = self.config.int(SLOTS)
        self._slots_of_shard = slots // NUM_SHARDS
        self._eviction_ms = self.config.int(EVICTION_MS)
        self._counts_idle = counts_idle
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._scheduled = 0
        self._polls: dict[RequestContext, Poll] = {}
        self._parked: dict[DelayedOperation, Poll] = {}

    # -- what there is ---------------------------------------------------------------------

    def create_topic(
        self, name: str, topic_id: bytes, partitions: Iterable[PartitionState]
    ) -> None:
        """A topic with partitions that are led here or elsewhere."""
        self.metadata.apply(TopicCreated(name, topic_id, list(partitions), {}))

    def partition(self, topic: str, index: int) -> Partition:
        """A partition that has a replica here."""
        found = self.replicas.partition(topic, index)
        assert found is not None
        return found

    @property
    def sessions(self) -> int:
        """How many there are."""
        return self._fetch.cache.num_sessions

    @property
    def waiting(self) -> tuple[int, int]:
        """Polls that have come and are not answered, and what they took on the wire."""
        return len(self._polls), sum(poll.request_bytes for poll in self._polls.values())

    def _note(self, event: Event) -> None:
        if isinstance(event, SessionEvent):
            rule = "" if event.rule is None else f" {event.rule}"
            self._note_session(event.event + rule, 1)
            if event.event == "evicted":
                self._end_idle(event.session_id)

    def _end_idle(self, session_id: int) -> None:
        """A session is gone: the next poll of it will be told so."""
        for poll in list(self._parked.values()):
            context = None if poll.ctx is None else poll.ctx.fetch
            if isinstance(context, IncrementalFetchContext) and context.session.id == session_id:
                self._play_on(poll)
                if poll.arrived_ms > self.clock.now_ms:  # it is on its way, and will be late
                    self._turn_away(poll)

    def _turn_away(self, poll: Poll) -> None:
        assert poll.operation is not None
        del self._parked[poll.operation]
        poll.operation.give_up()
        error = ErrorCode.FETCH_SESSION_ID_NOT_FOUND

        def make() -> FetchResponse:
            self._note_session("not_found", 1)
            return FetchResponse(0, error, 0, [])

        self.at(poll.arrived_ms, lambda: self._make(poll, make))

    def _note_session(self, name: str, count: int) -> None:
        self.session_events[name] = self.session_events.get(name, 0) + count

    # -- time ------------------------------------------------------------------------------

    def at(self, time_ms: float, action: Callable[[], None]) -> None:
        """Do this then; now, if that is over."""
        self._scheduled += 1
        heappush(self._events, (max(time_ms, self.clock.now_ms), self._scheduled, action))

    def run(self, until_ms: float) -> None:
        """Let everything happen that is due until then, and let the clock stand there."""
        events, timer, clock = self._events, self.timer, self.clock
        while True:
            deadline = timer.next_deadline()
            due = events[0][0] if events else None
            if deadline is not None and deadline <= until_ms and (due is None or deadline < due):
                clock.now_ms = max(clock.now_ms, deadline)
                timer.advance(clock.now_ms)
            elif due is not None and due <= until_ms:
                clock.now_ms = due
                heappop(events)[2]()
            else:
                break
            self.end_step()
        clock.now_ms = max(clock.now_ms, until_ms)
        for poll in list(self._parked.values()):
            self._play_on(poll)

    def end_step(self) -> None:
        """Answer whom the step made ready. Whose answer would tell something is idle no more."""
        replicas = self.replicas
        touched: dict[Partition, None] = {}
        while replicas.has_ready:
            if self._counts_idle:
                touched.update(dict.fromkeys(replicas.ready))
            replicas.drain()
        for partition in touched:
            for poll in self._waiting_at(partition):
                self._play_on(poll)

    def _waiting_at(self, partition: Partition) -> list[Poll]:
        purgatory = self.replicas.fetch_purgatory
        found = []
        for key in (partition, *partition.wait_keys()):
            for operation in purgatory.waiting(key):
                poll = self._parked.get(operation)
                if poll is not None and poll.first_end_ms is not None:
                    found.append(poll)
        return found

    # -- fetches ---------------------------------------------------------------------------

    def fetch(
        self, client: Client, request: FetchRequest, version: int, on_response: OnResponse
    ) -> None:
        """Send a fetch now. It arrives after `travel_ms`, its answer so much after it was made."""
        poll = Poll(client, request, version, on_response)
        self.at(self.clock.now_ms + self.travel_ms, lambda: self._arrive(poll))

    def _arrive(self, poll: Poll) -> None:
        client, request, version = poll.client, poll.request, poll.version
        size = client.request_bytes(request, version)
        poll.request_bytes = size
        costs = client.costs
        costs.polls += 1
        costs.request_bytes += size
        costs.named += sum(len(topic.partitions) for topic in request.topics)
        now_ms = poll.arrived_ms = self.clock.now_ms
        header = request_header(FETCH, version, 0, client.name, 0)
        ctx = poll.ctx = RequestContext(self, header, client, now_ms, size - _LENGTH_BYTES)
        self._polls[ctx] = poll
        if request.session_epoch == 0:
            self._touch_sessions()
        if request.max_wait_ms > 0:
            request.max_wait_ms = _FOREVER_MS  # `_park` ends the wait
        looked_at = self._fetch.partitions_looked_at
        answer = fetch_api.handle(self._services, ctx, request)
        costs.looked_at += self._fetch.partitions_looked_at - looked_at
        request.max_wait_ms = poll.max_wait_ms
        if answer is not PARKED:
            assert isinstance(answer, FetchResponse)
            self.complete(ctx, answer)
        elif ctx in self._polls:
            self._park(poll, ctx)

    def _park(self, poll: Poll, ctx: RequestContext) -> None:
        fetch = getattr(ctx.on_disconnect, "__self__", None)
        operation: DelayedOperation | None = getattr(fetch, "delayed", None)
        assert operation is not None
        poll.operation = operation
        self._parked[operation] = poll
        end_ms = float(ceil(poll.arrived_ms + poll.max_wait_ms))  # as the broker's timer rounds
        if self._counts_idle and self._is_idle(poll, ctx):
            poll.first_end_ms = end_ms
        else:
            self.at(end_ms, lambda: self._expire(poll))

    def _is_idle(self, poll: Poll, ctx: RequestContext) -> bool:
        """Whether its answer would be an empty one, and the next poll the same again."""
        context = ctx.fetch
        if context is None or poll.request.min_bytes > 1:
            return False
        if isinstance(context, IncrementalFetchContext):
            return context.quiet_session() is not None
        lasts = context.fetch_class == SESSIONLESS or not self._slots_of_shard
        return lasts and not any(data.records or data.error_code for _, data in context.results())

    def _expire(self, poll: Poll) -> None:
        operation = poll.operation
        if operation is not None and not operation.completed:
            poll.client.costs.timeouts += 1
            operation.force_complete()

    def hang_up(self, client: Client) -> None:
        """Its connection ends: what it waits for is not answered."""
        for ctx, poll in list(self._polls.items()):
            if poll.client is client:
                del self._polls[ctx]
                if poll.operation is not None:
                    self._parked.pop(poll.operation, None)
                ctx.done = True
                if ctx.on_disconnect is not None:
                    ctx.on_disconnect()

    # -- answers (a `Responder`) -----------------------------------------------------------

    def complete(self, ctx: RequestContext, response: object) -> None:
        """Its answer is made."""
        assert isinstance(response, FetchResponse)
        answer = response
        self.complete_by(ctx, lambda: answer)

    def complete_in_slices(self, ctx: RequestContext, response: object) -> None:
        """A long answer is made."""
        self.complete(ctx, response)

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """Make its answer: now, or once the poll of the round that has begun arrives."""
        poll = self._polls.get(ctx)
        if poll is None:
            return
        if poll.operation is not None:
            self._parked.pop(poll.operation, None)
        if poll.first_end_ms is not None:
            self._count_rounds(poll, poll.first_end_ms)
            poll.first_end_ms = None
        if poll.arrived_ms > self.clock.now_ms:
            self.at(poll.arrived_ms, lambda: self._make(poll, make))
        else:
            self._make(poll, make)

    def _make(self, poll: Poll, make: Callable[[], object]) -> None:
        ctx, client = poll.ctx, poll.client
        assert ctx is not None
        costs = client.costs
        if poll.request.session_epoch == 0:
            self._touch_sessions()
        looked_at = self._fetch.partitions_looked_at
        response = make()
        assert isinstance(response, FetchResponse)
        costs.looked_at += self._fetch.partitions_looked_at - looked_at
        del self._polls[ctx]
        ctx.done = True
        if ctx.fetch is not None:
            self._fetch.note_answered(ctx.fetch)
        size = _response_bytes(response, poll.version)
        costs.response_bytes += size
        costs.largest_bytes = max(costs.largest_bytes, size)
        for topic in response.responses:
            costs.told += len(topic.partitions)
            for data in topic.partitions:
                if data.records:
                    costs.records_bytes += records_bytes(data)
        if response.error_code:
            costs.errors[response.error_code] = costs.errors.get(response.error_code, 0) + 1
        costs.waits.note(self.clock.now_ms - poll.arrived_ms)
        self.at(self.clock.now_ms + self.travel_ms, lambda: poll.on_response(response))

    # -- idle rounds -----------------------------------------------------------------------

    def _play_on(self, poll: Poll) -> None:
        """Pay for the rounds that are over; the one that has begun is played."""
        first_end_ms = poll.first_end_ms
        if first_end_ms is not None:
            poll.first_end_ms = None
            rounds = self._count_rounds(poll, first_end_ms)
            end_ms = first_end_ms + rounds * self._round_ms(poll)
            self.at(end_ms, lambda: self._expire(poll))

    def _round_ms(self, poll: Poll) -> int:
        return poll.max_wait_ms + ceil(2 * self.travel_ms)

    def _rounds(self, poll: Poll, first_end_ms: float) -> int:
        """How many have ended before now."""
        return max(0, ceil((self.clock.now_ms - first_end_ms) / self._round_ms(poll)))

    def _count_rounds(self, poll: Poll, first_end_ms: float) -> int:
        rounds = self._rounds(poll, first_end_ms)
        if rounds:
            last_end_ms = first_end_ms + (rounds - 1) * self._round_ms(poll)
            poll.arrived_ms = last_end_ms + 2 * self.travel_ms
            self._pay(poll, rounds)
        return rounds

    def _pay(self, poll: Poll, rounds: int) -> None:
        """So many polls came and were answered at the end of their wait, with nothing new."""
        assert poll.ctx is not None
        context, costs = poll.ctx.fetch, poll.client.costs
        request_bytes = poll.request_bytes
        topics: list[FetchResponseTopic] = []
        if isinstance(context, IncrementalFetchContext):
            request_bytes = poll.client.request_bytes(_empty(poll.request), poll.version)
            self._touch(context, poll.arrived_ms)
        elif context is not None:
            told = list(context.results())
            topics = _listed(told)
            costs.named += rounds * len(told)
            costs.told += rounds * len(told)
            costs.looked_at += rounds * 2 * len(told)
            if context.fetch_class == FULL:
                self._note_session("refused", rounds)
        size = _response_bytes(FetchResponse(0, 0, 0, topics), poll.version)
        costs.polls += rounds
        costs.timeouts += rounds
        costs.request_bytes += rounds * request_bytes
        costs.response_bytes += rounds * size
        costs.largest_bytes = max(costs.largest_bytes, size)
        costs.waits.note(poll.max_wait_ms, rounds)

    def _touch(self, context: IncrementalFetchContext, time_ms: float) -> None:
        session = context.session
        if not session.closed:
            self._fetch.cache.touch(session, int(time_ms))

    def _touch_sessions(self) -> None:
        """Before one is opened: sessions whose rounds are only counted are in use all the same.

        That matters once one may be evicted by its age, where there is no room.
        """
        if self.clock.now_ms <= self._eviction_ms or not self._counts_idle:
            return
        if all(len(shard.sessions) < self._slots_of_shard for shard in self._fetch.cache.shards):
            return
        for poll in self._parked.values():
            first_end_ms, ctx = poll.first_end_ms, poll.ctx
            if first_end_ms is None or ctx is None:
                continue
            last_ms = first_end_ms + 2 * self.travel_ms
            come = ceil((self.clock.now_ms - last_ms) / self._round_ms(poll))
            if come > 0 and isinstance(ctx.fetch, IncrementalFetchContext):
                self._touch(ctx.fetch, last_ms + (come - 1) * self._round_ms(poll))


def _listed(
    results: Iterable[tuple[FetchEntry, FetchResponsePartition]],
) -> list[FetchResponseTopic]:
    """What a list of partitions that can all be read is answered with."""
    collected = ResponseTopics()
    for entry, data in results:
        collected.add(entry.topic, data)
    return collected.topics


def records_bytes(data: FetchResponsePartition) -> int:
    """How many bytes of batches a partition was given."""
    records = data.records or b""
    return sum(map(len, records)) if isinstance(records, list) else len(records)


def _at_once(_ctx: RequestContext, steps: Iterator[object]) -> None:
    for _ in steps:
        pass


def _empty(request: FetchRequest) -> FetchRequest:
    """The same poll, naming nothing."""
    return FetchRequest(
        replica_id=request.replica_id,
        replica_state=request.replica_state,
        max_wait_ms=request.max_wait_ms,
        min_bytes=request.min_bytes,
        max_bytes=request.max_bytes,
        isolation_level=request.isolation_level,
        session_id=request.session_id,
        session_epoch=request.session_epoch,
        rack_id=request.rack_id,
        cluster_id=request.cluster_id,
        unknown_tags=request.unknown_tags,
    )


def _response_bytes(response: FetchResponse, version: int) -> int:
    body = encode_fetch_response(response, version)
    return _LENGTH_BYTES + len(encode_response_header(FETCH, version, 0)) + sum(map(len, body))
