"""Fetch (key 1), v3–v18: read partitions, now or when there is enough to read.

v3   served though Apache Kafka 4 begins at v4: batches go out down-converted to magic 1
v4   isolation level, last stable offset, aborted transactions
v5   log start offset                          v7   fetch sessions (KIP-227)
v9   the reader's leader epoch (KIP-320)       v11  rack id, followers may serve (KIP-392)
v12  flexible; divergence (KIP-595)            v13  topic ids (KIP-516)
v15  replica state (KIP-903)                   v16  current leader, endpoints (KIP-951)
v18  the reader's high watermark (KIP-1166)

Order of decisions as in KafkaApis.handleFetchRequest: the session picks the context, the metadata
refuse what they do not know, the rest is read; then the answer goes out, or the fetch is parked.

Where this differs from Apache Kafka: v3 is served; HighWatermark of v18 counts for every partition
and whoever sends it, where Kafka confines it to its metadata log.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mockbroker.apis.context import PARKED
from mockbroker.fetch.contexts import IN_SLICES, INCREMENTAL, SessionErrorContext, rejection
from mockbroker.fetch.incremental import IncrementalFetchContext
from mockbroker.fetch.sessions import Gate
from mockbroker.fetch.waiting import SessionWait
from mockbroker.journal import DISCONNECT, SHUTDOWN, TIMEOUT
from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.brokers import broker_endpoint
from mockbroker.replica.delayed_fetch import DelayedFetch
from mockbroker.replica.fetch_params import FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponseTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
)
from mockbroker_protocol.slices import all_at_once
from mockbroker_protocol.versions import (
    FETCH_BATCHES,
    FETCH_DIVERGENCE,
    FETCH_LEADERS,
    FETCH_TOPIC_IDS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker.fetch.contexts import FetchContext
    from mockbroker.fetch.long_contexts import LongContext
    from mockbroker.security.quotas import QuotaManager
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponsePartition

LENGTH_BYTES: Final = 4
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
LONG_REQUEST_BYTES: Final = 36 * 1024
"""A larger request may name so many partitions, a thousand or more, that slices are made of it."""


def handle(
    services: Services,
    ctx: RequestContext,
    request: FetchRequest,
    reader_of: Callable[[FetchParams], LogReader] = LogReader,
) -> FetchResponse | Verdict:
    """Answer now, or park until there is enough, something broke or max_wait_ms is over.

    Each pass over the partitions has a reader of its own; `ctx.fetch` is there when it is made.
    """
    if ctx.request_bytes > LONG_REQUEST_BYTES:
        return _LongFetch(services, ctx, request, reader_of).begin(None)
    context = services.fetch.new_context(request, ctx.api_version)
    ctx.fetch = context
    params = FetchParams(request, ctx.api_version, services.config.int("fetch.max.bytes"))
    quotas = services.quotas
    if quotas is not None and not params.is_from_follower:
        params.limit(quotas.max_fetch_bytes(ctx.principal, ctx.client_id))
    readable = context.resolve(params)
    if readable == IN_SLICES:
        return _LongFetch(services, ctx, request, reader_of).begin(context)
    if readable and not params.isolation_known:
        return whole_request_error(request, ctx.api_version, ErrorCode.UNKNOWN_SERVER_ERROR)
    reader = reader_of(params)
    context.read(reader)
    follower = params.is_from_follower
    moved = follower and services.replicas.follower_fetched(
        params.replica_id, context.results(), params.replica_epoch
    )
    if (
        params.max_wait_ms <= 0
        or not readable
        or reader.bytes_read >= params.min_bytes
        or reader.respond_now
    ):
        return _answer(services, ctx, request, context, reader)
    if moved:
        # It would be parked, and woken in this step by what it has brought about itself.
        again = reader_of(params)
        context.read(again)
        if again.respond_now:
            return _answer(services, ctx, request, context, again)
    # With nothing to read a follower has nothing to weigh: no bound is below the end of the log.
    parked = _ParkedFetch(services, ctx, request, reader, reader_of)
    return _park(parked, weigh=not follower or reader.bytes_read > 0)


def whole_request_error(request: FetchRequest, version: int, error: ErrorCode) -> FetchResponse:
    """A request that failed as a whole (Kafka: FetchRequest.getErrorResponse)."""
    topics: list[FetchResponseTopic] = []
    if version < FETCH_TOPIC_IDS:
        for topic in request.topics:
            partitions = [rejection(asked.partition, error) for asked in topic.partitions]
            topics.append(FetchResponseTopic(topic.topic, topic.topic_id, partitions))
    return FetchResponse(0, error, request.session_id, topics)


class _ParkedFetch:
    """A fetch between its first read and its answer."""

    __slots__ = (
        "context",
        "ctx",
        "delayed",
        "reader",
        "reader_of",
        "request",
        "response",
        "services",
    )

    def __init__(
        self,
        services: Services,
        ctx: RequestContext,
        request: FetchRequest,
        reader: LogReader,
        reader_of: Callable[[FetchParams], LogReader],
    ) -> None:
        self.services = services
        self.ctx = ctx
        self.request = request
        assert ctx.fetch is not None
        self.context = ctx.fetch
        self.reader = reader
        """Who has read last: what is there adds up to less than the fetch wants."""
        self.reader_of = reader_of
        self.delayed: DelayedFetch | None = None
        """Set while it is parked."""
        self.response: FetchResponse | None = None

    def answer(self) -> None:
        """Read afresh, whatever ended the wait: what came meanwhile goes out with it."""
        if self.delayed is None:
            self.response = self._read_again()
            return
        self.ctx.woken_by = _woken_by(self.services, self.delayed)
        self.ctx.respond_by(self._read_again)

    def _read_again(self) -> FetchResponse:
        reader = self.reader_of(self.reader.params)
        self.context.read(reader)
        return _answer(self.services, self.ctx, self.request, self.context, reader)

    def give_up(self) -> None:
        """Its client has gone: there is no answer."""
        assert self.delayed is not None
        self.ctx.woken_by = DISCONNECT
        self.delayed.give_up()


def _woken_by(services: Services, delayed: DelayedFetch) -> str:
    cause = services.replicas.draining
    if cause is not None:
        return cause
    return TIMEOUT if services.clock.now_ms >= delayed.deadline_ms else SHUTDOWN


def _park(parked: _ParkedFetch, *, weigh: bool) -> FetchResponse | Verdict:
    """Let it wait; `weigh`: unless what it waits for is there already."""
    services, params = parked.services, parked.reader.params
    wait = parked.context.wait(parked.reader)
    deadline_ms = services.clock.now_ms + params.max_wait_ms
    on_expired = services.replicas.note_follower_expired if params.is_from_follower else None
    delayed = DelayedFetch(deadline_ms, wait, parked.answer, on_expired)
    purgatory = services.replicas.fetch_purgatory
    if not weigh:
        purgatory.watch(delayed, wait.keys())
    elif purgatory.try_complete_else_watch(delayed, wait.keys()):
        assert parked.response is not None
        return parked.response
    parked.delayed = delayed
    parked.ctx.on_disconnect = parked.give_up
    return PARKED


class _LongFetch:
    """A fetch that is worked on in slices from its acceptance to its answer: `handle`, divided."""

    __slots__ = ("context", "ctx", "delayed", "reader_of", "request", "services")

    def __init__(
        self,
        services: Services,
        ctx: RequestContext,
        request: FetchRequest,
        reader_of: Callable[[FetchParams], LogReader],
    ) -> None:
        self.services = services
        self.ctx = ctx
        self.request = request
        self.reader_of = reader_of
        self.context: LongContext | None = None
        self.delayed: DelayedFetch | None = None
        """Set while it is parked."""

    def begin(self, begun: FetchContext | None) -> FetchResponse | Verdict:
        """Do it, as turns allow; `begun`: the context that was found to be long, if any."""
        services, ctx, request = self.services, self.ctx, self.request
        params = FetchParams(request, ctx.api_version, services.config.int("fetch.max.bytes"))
        quotas = services.quotas
        if quotas is not None and not params.is_from_follower:
            params.limit(quotas.max_fetch_bytes(ctx.principal, ctx.client_id))
        if begun is None:
            context = services.fetch.new_long_context(request, ctx.api_version)
        else:
            assert isinstance(begun, IncrementalFetchContext)
            context = services.fetch.long_context_of(begun)
        ctx.fetch = context
        if isinstance(context, SessionErrorContext):
            return _answer(services, ctx, request, context, self.reader_of(params))
        self.context = context
        ctx.on_disconnect = self._give_up
        gate = services.fetch.gate
        services.work_in_slices(ctx, self._steps(params, gate, takes=begun is None))
        return PARKED

    def _steps(
        self, params: FetchParams, gate: Gate | None, *, takes: bool
    ) -> Generator[None, None, None]:
        services, request = self.services, self.request
        if takes:
            yield from self._take_in()
        context = self.context
        assert context is not None
        readable = yield from _gated(services, gate, context.resolve_in_slices(params))
        if readable and not params.isolation_known:
            error = ErrorCode.UNKNOWN_SERVER_ERROR
            self._respond(whole_request_error(request, params.version, error))
            return
        reader = self.reader_of(params)
        yield from context.read_in_slices(reader)
        if params.is_from_follower:
            services.replicas.follower_fetched(
                params.replica_id, context.results(), params.replica_epoch
            )
        if (
            params.max_wait_ms <= 0
            or not readable
            or reader.bytes_read >= params.min_bytes
            or reader.respond_now
        ):
            yield from self._answer(context, reader)
        else:
            yield from self._park(context, reader)

    def _take_in(self) -> Generator[None, None, None]:
        ctx, request = self.ctx, self.request
        context = self.context
        assert context is not None
        yield from context.take_in_slices(request.topics, request.forgotten_topics_data)
        left = self.services.fetch.taken_in(context, request, ctx.api_version)
        if left is not context:
            ctx.fetch = self.context = left
            yield from left.take_in_slices(request.topics, [])

    def _park(self, context: LongContext, reader: LogReader) -> Generator[None, None, None]:
        services = self.services
        deadline_ms = services.clock.now_ms + reader.params.max_wait_ms
        expired = services.replicas.note_follower_expired
        on_expired = expired if reader.params.is_from_follower else None
        wait = context.wait(reader)
        woken = partial(self._woken, context, reader)
        delayed = DelayedFetch(deadline_ms, wait, woken, on_expired)
        self.delayed = delayed  # for who gives it up meanwhile
        if isinstance(wait, SessionWait) and (yield from wait.weigh_in_slices()):
            self.delayed = None
            delayed.force_complete()
            return
        self.delayed = None
        keys = wait.keys()
        if not services.replicas.fetch_purgatory.try_complete_else_watch(delayed, keys):
            self.delayed = delayed

    def _woken(self, context: LongContext, reader: LogReader) -> None:
        services, ctx = self.services, self.ctx
        if ctx.done:
            return
        delayed, self.delayed = self.delayed, None
        if delayed is not None:
            ctx.woken_by = _woken_by(services, delayed)
        again = self._read_again(context, reader.params)
        if reader.told_by_marks:
            services.work_in_slices(ctx, again)
        else:
            all_at_once(again)  # who is woken next must see what this one took

    def _read_again(self, context: LongContext, params: FetchParams) -> Generator[None, None, None]:
        reader = self.reader_of(params)
        yield from context.read_in_slices(reader)
        yield from self._answer(context, reader)

    def _answer(self, context: LongContext, reader: LogReader) -> Generator[None, None, None]:
        ctx = self.ctx
        yield
        response = _answer(self.services, ctx, self.request, context, reader)
        yield from context.tell_in_slices()
        if reader.leader_errors and ctx.api_version >= FETCH_LEADERS:
            to_consumer = not reader.params.is_from_follower
            _tell_leaders(self.services, ctx, response, to_consumer=to_consumer)
        self._respond(response)

    def _respond(self, response: FetchResponse) -> None:
        assert self.context is not None
        self.context.let_go()
        self.ctx.on_disconnect = None
        self.ctx.respond_in_slices(response)

    def _give_up(self) -> None:
        """Its client has gone: there is no answer."""
        assert self.context is not None
        self.context.let_go()
        if self.delayed is not None:
            self.ctx.woken_by = DISCONNECT
            self.delayed.give_up()


def _gated(
    services: Services,
    gate: Gate | None,
    steps: Generator[None, None, int],
) -> Generator[None, None, int]:
    """Each slice with the gate that was there when the request was authorized."""
    while True:
        services.fetch.gate = gate
        try:
            next(steps)
        except StopIteration as end:
            readable: int = end.value
            return readable
        finally:
            services.fetch.gate = None
        yield


def _answer(
    services: Services,
    ctx: RequestContext,
    request: FetchRequest,
    context: FetchContext,
    reader: LogReader,
) -> FetchResponse:
    version = ctx.api_version
    if version < FETCH_DIVERGENCE and _diverges(context):
        return whole_request_error(request, version, ErrorCode.UNSUPPORTED_VERSION)
    quotas = services.quotas
    if quotas is not None and not _pays(quotas, ctx, context, reader):
        return context.throttled(ctx.throttle_time_ms)
    if version < FETCH_BATCHES:
        _down_convert(services, context)
    response = context.respond()
    if reader.fetched and not response.error_code:
        for partition, offsets, size_bytes in reader.fetched:
            partition.messages_out += offsets
            partition.bytes_out += size_bytes
    response.throttle_time_ms = ctx.throttle_time_ms
    if reader.leader_errors and version >= FETCH_LEADERS:
        _tell_leaders(services, ctx, response, to_consumer=not reader.params.is_from_follower)
    return response


def _diverges(context: FetchContext) -> bool:
    """Whether a divergence is to be told, in a session that goes on below v12.

    Kafka fails to write it there (FetchResponse.json: DivergingEpoch is not ignorable).
    """
    return any(data.diverging_epoch is not None for _, data in context.results())


def _pays(
    quotas: QuotaManager, ctx: RequestContext, context: FetchContext, reader: LogReader
) -> bool:
    """Charge the client for its answer; False when it is throttled and gets none.

    What it does not get costs it nothing (KafkaApis.handleFetchRequest). Followers are exempt.
    """
    if reader.params.is_from_follower:
        ctx.throttle_time_ms = 0
        return True
    size = _size_of(context, ctx.api_version)
    throttle_ms = quotas.charge(CONSUMER_BYTE_RATE, ctx.principal, ctx.client_id, size)
    ctx.throttle_time_ms = max(ctx.throttle_time_ms, throttle_ms)
    if ctx.throttle_time_ms == 0:
        return True
    quotas.take_back(CONSUMER_BYTE_RATE, ctx.principal, ctx.client_id, size)
    return False


def _size_of(context: FetchContext, version: int) -> int:
    """The bytes of the answer that `respond` would make (FetchResponse.sizeOf).

    Of an incremental one the partitions with records count: the others are rare and small.
    """
    from mockbroker_protocol.fetch_codec import encode_fetch_response

    only_records = context.fetch_class == INCREMENTAL
    topics: list[FetchResponseTopic] = []
    last = None
    for entry, data in context.results():
        if only_records and not data.records:
            continue
        if last is not entry.topic:
            last = entry.topic
            topics.append(FetchResponseTopic(last.name or "", last.topic_id, []))
        topics[-1].partitions.append(data)
    chunks = encode_fetch_response(FetchResponse(0, 0, 0, topics), version)
    return LENGTH_BYTES + sum(map(len, chunks))


def _tell_leaders(
    services: Services, ctx: RequestContext, response: FetchResponse, *, to_consumer: bool
) -> None:
    """Name the leaders of partitions that answered 6 or 74; endpoints are for consumers only."""
    brokers = services.metadata.brokers
    told: dict[int, NodeEndpoint] = {}
    for topic in response.responses:
        known = services.metadata.topics_by_id.get(topic.topic_id)
        if known is None:
            continue
        for data in topic.partitions:
            if data.error_code not in LEADER_ERRORS:
                continue
            if data.partition_index >= len(known.partitions):
                continue  # the end of a scope took it back
            state = known.partitions[data.partition_index]
            data.current_leader = LeaderIdAndEpoch(state.leader, state.leader_epoch)
            leader = brokers.get(state.leader)
            if to_consumer and leader is not None and state.leader not in told:
                host, port = broker_endpoint(ctx, leader)
                told[state.leader] = NodeEndpoint(state.leader, host, port, leader.rack)
    response.node_endpoints = list(told.values())


LEADER_ERRORS: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


def _down_convert(services: Services, context: FetchContext) -> None:
    """Replace batches by messages of magic 1, as 3.9 does (KafkaApis.maybeConvertFetchedData).

    There is no zstd in that format, neither for a topic that is configured for it nor in a batch:
    76 for the partition.
    """
    from mockbroker_protocol.records.conversion import down_convert

    for entry, data in context.results():
        if data.error_code:
            continue
        topic = services.metadata.topics.get(entry.topic.name or "")
        if topic is not None and topic.config.str("compression.type") == "zstd":
            _refuse_compression(data)
        elif data.records:
            chunks = data.records if isinstance(data.records, list) else [data.records]
            data.records = down_convert(chunks, 1, entry.fetch_offset)
            if data.records is None:
                _refuse_compression(data)


def _refuse_compression(data: FetchResponsePartition) -> None:
    data.error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
    data.records = b""


def guard(auth: AuthHelper, request: FetchRequest) -> None:
    """READ on each topic, of a session too; a follower needs CLUSTER_ACTION for anything."""
    state = request.replica_state
    replica_id = request.replica_id if state is None else state.replica_id
    if replica_id >= 0:
        may_follow = auth.authorize_cluster(AclOperation.CLUSTER_ACTION)
        gate = Gate(lambda _: may_follow, may_follow)
    else:
        gate = Gate(
            lambda name: name is None or auth.authorize_topic(AclOperation.READ, name),
            *auth.rights(AclOperation.READ, ResourceType.TOPIC),
        )
        if auth.tells_allowed:
            _tell_what_is_read_on(auth, request, gate)
    auth.services.fetch.gate = gate


def _tell_what_is_read_on(auth: AuthHelper, request: FetchRequest, gate: Gate) -> None:
    """What a session goes on with is not asked for again; Kafka tells of it with each fetch."""
    session = auth.services.fetch.cache.get(request.session_id)
    if session is None or session.epoch != request.session_epoch:
        return
    for topic in session.topics.values():
        if topic.name is not None and gate.still_allows(topic.name):
            for cached in topic.partitions.values():
                if cached.partition is not None:
                    auth.authorize_topic(AclOperation.READ, topic.name)
