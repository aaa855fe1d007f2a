"""Fetch of a broker with the extension: a partition may be read through a filter of keys.

The fields KEY_RANGES and KEYS of a partition, or KEY_RANGES of the request for each partition that
it lists, make its filter; a session keeps it until the partition is listed with another one, and
one without ranges and keys takes it away. What is filtered is answered with NEXT_FETCH_OFFSET and
FILTER_STATS, and waits for records that match. A fetch that says nothing of the extension, and
whose session never did, takes the ordinary path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis import fetch
from mockbroker.coop import tags
from mockbroker.coop.carried_filters import carried_wants
from mockbroker.coop.errors import Refusal
from mockbroker.coop.extension import extension_of
from mockbroker.coop.fencing import TOPIC_REFUSES, reader_refusal
from mockbroker.coop.fetch_wants import FetchWants, named, wants_of
from mockbroker.coop.filtered_read import BUDGET, FilteredRead, Limits
from mockbroker.coop.key_filter import KeyFilter
from mockbroker.coop.numbers import Tag
from mockbroker.log.offsets import FetchIsolation
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.replica.delayed_fetch import COMPLETE, bytes_available
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.messages.fetch import AbortedTransaction, FetchResponsePartition

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse

_NO_SESSION: Final = -1
TURN_BYTES: Final = 1 << 20
"""What one pass looks at most, inflated: more would hold up the other clients. A reader whose pass
ends there is answered at once, and comes back from where it ended."""

_CACHE_SPELLINGS: Final = (
    "max.bytes.key.range.cache",
    "max.bytes.key.range.results.cache",
    "max.bytes.key.range.results",
    "max.bytes.key.range.hashing",
)


def handle(
    services: Services, ctx: RequestContext, request: FetchRequest
) -> FetchResponse | Verdict:
    """Answer as without the extension, unless the request or its session speaks it."""
    extension = services.extension
    assert extension is not None
    if request.unknown_tags is None and not extension.in_use.fetches:
        return fetch.handle(services, ctx, request)
    return _extended(services, ctx, request)


def _extended(
    services: Services, ctx: RequestContext, request: FetchRequest
) -> FetchResponse | Verdict:
    """What may have to do with the extension."""
    session = services.fetch.cache.get(request.session_id) if request.session_id else None
    is_spoken = _is_spoken(request)
    if not is_spoken and (session is None or session.extension is None):
        carried = carried_wants(services, ctx, request)
        if carried is None:
            return fetch.handle(services, ctx, request)
        return fetch.handle(
            services, ctx, request, lambda params: CarriedReader(params, services, carried)
        )
    state = request.replica_state
    replica_id = request.replica_id if state is None else state.replica_id
    if is_spoken and (replica_id >= 0 or _is_cooperative_and_filtered(request)):
        return fetch.whole_request_error(request, ctx.api_version, ErrorCode.INVALID_REQUEST)
    cooperative = (request.unknown_tags or {}).get(Tag.COOPERATIVE)
    if cooperative is not None:
        return _cooperative(services, ctx, request, cooperative)
    wants: FetchWants | None = None

    def reader_of(params: FetchParams) -> LogReader:
        nonlocal wants
        if wants is None:
            assert ctx.fetch is not None
            wants = wants_of(request, ctx.fetch)
            extension_of(services).in_use.note_session()
        return FilteredReader(params, services, wants)

    return fetch.handle(services, ctx, request, reader_of)


def _cooperative(
    services: Services, ctx: RequestContext, request: FetchRequest, packed: bytes
) -> FetchResponse | Verdict:
    """A fetch that is dealt what nobody has; it has no session."""
    from mockbroker.coop.cooperative_fetch import CooperativeReader

    named = (request.unknown_tags or {}).get(Tag.GROUP_IDENTITY)
    try:
        asked = tags.read_cooperative(packed)
        identity = None if named is None else tags.read_identity(named)
    except ProtocolError:
        asked = None
    if asked is None or request.session_epoch > 0:
        return fetch.whole_request_error(request, ctx.api_version, ErrorCode.INVALID_REQUEST)
    request.session_epoch = _NO_SESSION

    def reader_of(params: FetchParams) -> LogReader:
        return CooperativeReader(params, services, identity, asked)

    return fetch.handle(services, ctx, request, reader_of)


class FilteredReader(LogReader):
    """One pass over partitions, some of which have a filter (see `LogReader`).

    Only batches with records that match count as bytes read and use up the first batch's
    privilege; covers and control batches take room and no more.
    """

    __slots__ = ("_passed", "_services", "_wants")

    def __init__(self, params: FetchParams, services: Services, wants: FetchWants) -> None:
        super().__init__(params)
        self._services = services
        self._wants = wants
        self._passed: dict[FetchEntry, FilteredRead] = {}
        """What each partition's filter has looked at; a wait goes on from there."""

    def read(self, entry: FetchEntry) -> FetchResponsePartition:
        wants = self._wants
        wanted = wants.filters.get(_key(entry.topic, entry.index))
        if wanted is None and wants.identity is None:
            return super().read(entry)
        refusal = wanted if isinstance(wanted, Refusal) else self._refusal(entry, wanted)
        if refusal is not None:
            return self._refused(entry, refusal)
        if wanted is None:
            return super().read(entry)
        data = super().read(entry)
        if not data.error_code and data.unknown_tags is None:
            # At the end of what may be read: nothing was looked at.
            data.unknown_tags = {Tag.NEXT_FETCH_OFFSET: tags.offset(entry.fetch_offset)}
        return data

    def _refused(self, entry: FetchEntry, refusal: Refusal) -> FetchResponsePartition:
        self.last_size_bytes = 0
        data = self._error(entry, refusal.error)
        data.error_code = refusal.code(self._services.config.str("coop.error.mode"))
        if refusal.draft is not None:
            data.unknown_tags = {Tag.EXT_ERROR: tags.error(refusal.draft)}
        return data

    def _refusal(self, entry: FetchEntry, wanted: KeyFilter | None) -> Refusal | None:
        """Why who asks may not read this; a filter of None is the whole partition."""
        name = entry.topic.name
        topic = self._services.metadata.topics.get(name or "")
        if name is None or topic is None:
            return None  # the read has an error of its own
        if wanted is not None and not topic.config.bool("range.fetch.enable"):
            return TOPIC_REFUSES
        return reader_refusal(self._services, self._wants.identity, name, entry.index, wanted)

    def _read_log(
        self,
        entry: FetchEntry,
        partition: Partition,
        log: UnifiedLog,
        offset: int,
        isolation: FetchIsolation,
    ) -> FetchResponsePartition:
        wanted = self._wants.filters.get(_key(entry.topic, entry.index))
        if not isinstance(wanted, KeyFilter):
            return super()._read_log(entry, partition, log, offset, isolation)
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return self._error(entry, ErrorCode.OFFSET_OUT_OF_RANGE)
        max_bytes = max(min(entry.max_bytes, self.budget), 0)
        extension = extension_of(self._services)
        found = FilteredRead(offset).scan(
            log.iterate_batches(offset, isolation),
            wanted,
            self._limits(entry, partition, max_bytes, min_one=self.min_one),
        )
        extension.count(found)
        self._passed[entry] = found
        self.last_size_bytes = found.size_bytes
        self.budget = max(self.budget - found.size_bytes, 0)
        if found.matched_records:
            self.bytes_read += found.matched_bytes
            self.min_one = False
            if self.fetched is None:
                self.fetched = []
            self.fetched.append((partition, found.matched_records, found.matched_bytes))
        if found.stopped == BUDGET:
            self.respond_now = True
        data = FetchResponsePartition(
            entry.index,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            self._aborted(log, offset, found.next_offset),
            -1,
            found.chunks if found.size_bytes else b"",
        )
        data.unknown_tags = {
            Tag.NEXT_FETCH_OFFSET: tags.offset(found.next_offset),
            Tag.FILTER_STATS: tags.stats(
                found.scanned_bytes,
                found.scanned_records,
                found.matched_records,
                found.cache_hits,
            ),
        }
        return data

    def available(self, entry: FetchEntry, params: FetchParams, parked_segment: int | None) -> int:
        """The bytes that match so far; only what was appended since is looked at."""
        wanted = self._wants.filters.get(_key(entry.topic, entry.index))
        if not isinstance(wanted, KeyFilter):
            return bytes_available(entry, params, parked_segment)
        partition = entry.partition
        log = None if partition is None else partition.log
        if partition is None or partition.deleted or self._check(entry, partition):
            return COMPLETE
        if log is None:
            return 0
        end = log.end_offset(params.isolation)
        if entry.high_watermark < log.high_watermark or not (
            log.log_start_offset <= entry.fetch_offset <= end
        ):
            return COMPLETE
        before = self._passed.get(entry) or FilteredRead(entry.fetch_offset)
        if before.next_offset >= end:
            return before.matched_bytes
        found = FilteredRead(before.next_offset).scan(
            log.iterate_batches(before.next_offset, params.isolation),
            wanted,
            self._limits(entry, partition, entry.max_bytes, min_one=True)._replace(takes=False),
        )
        extension_of(self._services).count(found)
        found.add(before)
        self._passed[entry] = found
        looked_at_enough = found.scanned_bytes >= self._budget()
        return COMPLETE if found.stopped or looked_at_enough else found.matched_bytes

    def _limits(
        self, entry: FetchEntry, partition: Partition, max_bytes: int, *, min_one: bool
    ) -> Limits:
        topic = self._services.metadata.topics.get(entry.topic.name or "")
        return Limits(
            max_bytes,
            min_one,
            self._budget(),
            extension_of(self._services).remainders,
            (partition.topic_id, entry.index),
            self._services.config.bool("range.fetch.fold.empty"),
            "spread" if topic is None else topic.config.str("range.fetch.null.key.policy"),
            cache_bytes=cache_budget(self._services),
            keeps_keys=topic is not None and topic.config.str("range.fetch.load") == "key",
        )

    def _budget(self) -> int:
        return min(self._services.config.int("max.bytes.fetcher.filtering"), TURN_BYTES)

    def _aborted(self, log: UnifiedLog, start: int, end: int) -> list[AbortedTransaction] | None:
        if self.params.isolation is not FetchIsolation.TXN_COMMITTED:
            return None
        return [
            AbortedTransaction(one.producer_id, one.first_offset)
            for one in log.aborted_transactions(start, end)
        ]


def cache_budget(services: Services) -> int:
    """The bytes that filters may leave, under whichever spelling of the draft they are set."""
    config = services.config
    for name in _CACHE_SPELLINGS:
        if config.configured(name) is not None:
            return config.int(name)
    return config.int(_CACHE_SPELLINGS[0])


class CarriedReader(FilteredReader):
    """The same for a client that did not ask for it: its answers have no tagged fields."""

    __slots__ = ()

    def read(self, entry: FetchEntry) -> FetchResponsePartition:
        data = super().read(entry)
        data.unknown_tags = None
        return data

    def _refusal(self, entry: FetchEntry, wanted: KeyFilter | None) -> Refusal | None:
        """Who steers the broker says who may read what; the topic has a say."""
        topic = self._services.metadata.topics.get(entry.topic.name or "")
        if topic is None or wanted is None or topic.config.bool("range.fetch.enable"):
            return None
        return TOPIC_REFUSES


def _is_spoken(request: FetchRequest) -> bool:
    if request.unknown_tags is not None and tags.is_spoken(request.unknown_tags):
        return True
    for topic in request.topics:
        for asked in topic.partitions:
            if asked.unknown_tags is not None and tags.is_spoken(asked.unknown_tags):
                return True
    return False


def _is_cooperative_and_filtered(request: FetchRequest) -> bool:
    mine = request.unknown_tags or {}
    return Tag.COOPERATIVE in mine and (
        Tag.KEY_RANGES in mine
        or any(
            Tag.KEY_RANGES in (asked.unknown_tags or ()) or Tag.KEYS in (asked.unknown_tags or ())
            for topic in request.topics
            for asked in topic.partitions
        )
    )


def _key(topic: FetchTopic, index: int) -> tuple[str | bytes, int]:
    return named(topic.name or "", topic.topic_id), index


def guard(auth: AuthHelper, request: FetchRequest) -> FetchResponse | None:
    """As without the extension; who reads as a group's member needs READ on the group too.

    As one of a share group does, whose records are dealt alike (KafkaApis.handleShareFetchRequest).
    """
    group = _group_of(auth.services, request)
    if group is not None and not auth.authorize_group(AclOperation.READ, group):
        error = ErrorCode.GROUP_AUTHORIZATION_FAILED
        refused = fetch.whole_request_error(request, auth.version, error)
        refused.throttle_time_ms = auth.ctx.throttle_time_ms
        return refused
    fetch.guard(auth, request)
    return None


def _group_of(services: Services, request: FetchRequest) -> str | None:
    """The group that a fetch names, or its session; None, too, where its name cannot be read."""
    packed = (request.unknown_tags or {}).get(Tag.GROUP_IDENTITY)
    if packed is not None:
        try:
            return tags.read_identity(packed).group
        except ProtocolError:
            return None
    if request.session_epoch <= 0:
        return None
    session = services.fetch.cache.get(request.session_id)
    wants = None if session is None else session.extension
    identity = wants.identity if isinstance(wants, FetchWants) else None
    return None if identity is None or isinstance(identity, Refusal) else identity.group
