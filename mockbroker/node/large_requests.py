"""Requests so large that they are worked on in slices (see `slices`).

`request_handler` gives a request here by the size of its frame alone: it is decoded in slices, and
what it asks for is done in parts where its API answers each element for itself (`SPLITS`). Each
part is a request of its own to the handler, and the answers are put together; that is encoded in
slices too. Of an element that stands there more than once a part has as many as count: in Kafka
that is one where a set or a map is made of them, two where the repetition is an error. What is
only described is described once too, though Kafka repeats itself (`ONCE`).

A request of more elements than `MAX_ELEMENTS` is refused as one that cannot be read, as Kafka does
with a collection for which its memory does not suffice; so is one of more than
`MAX_WHOLE_ELEMENTS` for an API that works on its request as a whole, but for Fetch: a
session may have as many partitions as there are.

Invariant: what a part changes is changed in the order of the elements.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.journal import PEER
from mockbroker.node.slices import WAIT, encoded
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.catalog import request_class
from mockbroker_protocol.messages.fetch import FetchRequest
from mockbroker_protocol.plan import decode_in_slices
from mockbroker_protocol.produce_codec import decode_plain_request
from mockbroker_protocol.schema import ZERO_UUID, schema_of
from mockbroker_protocol.versions import ADD_PARTITIONS_TO_TXN_MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence

    from mockbroker.apis.context import Handle, RequestContext, Responder, ServedApi, Services
    from mockbroker.faults.fault_set import FaultSet
    from mockbroker.node.connection import Connection
    from mockbroker.node.interceptor import RequestSubjects
    from mockbroker_protocol.primitives import Buffer

MAX_ELEMENTS: Final = 1 << 18
"""Elements of arrays and tagged fields in one request: more than a broker has of anything."""
MAX_WHOLE_ELEMENTS: Final = 20_000
"""The same for an API that is not in `SPLITS`: what is done in one slice."""
PART_ELEMENTS: Final = 500
"""In a part, so that its handler is done within a few milliseconds."""
PARKED_BYTES: Final = 8 << 20
"""Of the requests that are parked: while they have more, no large Fetch is parked beside them. What
it waits for takes a hundred times as much as its bytes."""
LOOKED_AT: Final = 4096
"""Elements looked at in one slice, which is all that is done with them."""

ONCE, TWICE, LAST = "ONCE", "TWICE", "LAST"


class Boundary(Protocol):
    """What the request handler is to the work in slices on one of its requests."""

    services: Services
    broker_id: int
    connections: Mapping[int, Connection]
    faults: FaultSet | None

    def is_connected(self, connection_id: int) -> bool:
        """Whether a connection is still there."""

    def accept(
        self,
        conn: Connection,
        ctx: RequestContext,
        api: ServedApi,
        request: object,
        process: Handle | None,
        subjects: RequestSubjects | None,
    ) -> bool:
        """Count a request; False when a fault rule takes it over, which has it done by `process`.

        None: it is too large for that. `subjects` is there if it was looked through for rules.
        """

    def resume(self, ctx: RequestContext) -> None:
        """What the work on a request waited for is there."""

    def finish(
        self,
        conn: Connection,
        ctx: RequestContext,
        api: ServedApi,
        response: object,
        body: list[Buffer] | None = None,
    ) -> None:
        """Send the answer of a request."""


class Split(NamedTuple):
    """How the requests of an API are divided.

    `asked` and `answered` are the lists of elements in the request and in its answer, each within
    the one before; `keys` tells, for each of `asked`, when two elements are the same, and `keep`
    which of them count (None: all). `alone`: an element of the outermost list that changes what
    the others mean; a request that has one is not divided. `size` is that of a part; requests of
    versions before `since` have no such list.
    """

    asked: tuple[str, ...]
    answered: tuple[str, ...]
    keep: str | None = None
    keys: tuple[Callable[[object], Hashable], ...] = ()
    alone: Callable[[object], bool] | None = None
    size: int = PART_ELEMENTS
    since: int = 0


def _is_by_id(topic: object) -> bool:
    return topic.name is None or topic.topic_id != ZERO_UUID  # type: ignore[attr-defined]


_CONFIG_TYPES: Final = frozenset((2, 4, 8, 16, 32))


def _config_key(one: object) -> Hashable:
    keys = one.configuration_keys or ()  # type: ignore[attr-defined]
    return one.resource_type, one.resource_name, tuple(keys)  # type: ignore[attr-defined]


def _itself(name: object) -> Hashable:
    return name


_NAME: Final = attrgetter("name")
_RESOURCE: Final = attrgetter("resource_type", "resource_name")
_PARTITION: Final = attrgetter("partition_index")
_FETCHED: Final = attrgetter("partition")

SPLITS: Final[dict[ApiKey, Split]] = {
    ApiKey.LIST_OFFSETS: Split(
        ("topics", "partitions"), ("topics", "partitions"), TWICE, (_NAME, _PARTITION)
    ),
    ApiKey.METADATA: Split(("topics",), ("topics",), ONCE, (_NAME,), _is_by_id),
    ApiKey.FIND_COORDINATOR: Split(("coordinator_keys",), ("coordinators",)),
    ApiKey.DESCRIBE_GROUPS: Split(("groups",), ("groups",), ONCE, (_itself,), size=8),
    ApiKey.DELETE_GROUPS: Split(("groups_names",), ("results",), ONCE, (_itself,)),
    ApiKey.ADD_PARTITIONS_TO_TXN: Split(
        ("transactions",),
        ("results_by_transaction",),
        size=16,
        since=ADD_PARTITIONS_TO_TXN_MANY,
    ),
    ApiKey.WRITE_TXN_MARKERS: Split(
        ("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions"), size=100
    ),
    ApiKey.LEAVE_GROUP: Split(("members",), ("members",)),
    ApiKey.OFFSET_DELETE: Split(("topics", "partitions"), ("topics", "partitions")),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Split(("group_ids",), ("groups",), ONCE, (_itself,), size=8),
    ApiKey.DESCRIBE_CONFIGS: Split(
        ("resources",),
        ("results",),
        ONCE,
        (_config_key,),
        alone=lambda one: one.resource_type not in _CONFIG_TYPES,  # type: ignore[attr-defined]
        size=8,
    ),
    ApiKey.ALTER_CONFIGS: Split(("resources",), ("responses",), TWICE, (_RESOURCE,)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Split(("resources",), ("responses",), TWICE, (_RESOURCE,)),
    ApiKey.DELETE_RECORDS: Split(
        ("topics", "partitions"), ("topics", "partitions"), LAST, (_NAME, _PARTITION)
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Split(("topics", "partitions"), ("topics", "partitions")),
    ApiKey.DESCRIBE_PRODUCERS: Split(
        ("topics", "partition_indexes"), ("topics", "partitions"), size=16
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: Split(
        ("transactional_ids",), ("transaction_states",), ONCE, (_itself,), size=16
    ),
}
"""The APIs whose requests are divided. Of others a repetition may be dropped all the same."""

_OFFSET_FETCH: Final = (
    Split(("topics", "partition_indexes"), ("topics", "partitions")),
    Split(("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions")),
)
"""Up to version 7, and from 8 on."""
_FIRST_OFFSET_FETCH_WITH_GROUPS: Final = 8

_WHOLE: Final[dict[ApiKey, Split]] = {
    ApiKey.FETCH: Split(
        ("topics", "partitions"),
        (),
        LAST,
        (attrgetter("topic", "topic_id"), _FETCHED),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Split(("topics",), (), ONCE, (_NAME,)),
}
"""Those that are handled as a whole, without what is repeated in them."""


def work_on(
    handler: Boundary, conn: Connection, ctx: RequestContext, api: ServedApi, pos: int
) -> Iterator[object]:
    """The slices of a request whose body is at `pos` of its frame."""
    return _LargeRequest(handler, conn, ctx, api).steps(pos)


class _LargeRequest:
    """One request on its way; it is the responder of its parts."""

    def __init__(
        self, handler: Boundary, conn: Connection, ctx: RequestContext, api: ServedApi
    ) -> None:
        self._handler = handler
        self._conn = conn
        self._ctx = ctx
        self._api = api
        self._responder: Responder = ctx.responder
        self._make: Callable[[], object] | None = None
        self._elements = 0

    @property
    def broker_id(self) -> int:
        """The node's, for the journal."""
        return self._handler.broker_id

    def is_connected(self, connection_id: int) -> bool:
        """Whether a connection is still there."""
        return self._handler.is_connected(connection_id)

    # -- as the responder of a part ----------------------------------------------------------

    def complete(self, ctx: RequestContext, response: object) -> None:
        """A part that was parked has its answer."""
        self.complete_by(ctx, lambda: response)

    complete_in_slices = complete

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """The same with an answer that has yet to be made."""
        self._make = make
        self._handler.resume(ctx)

    def _made(self) -> Callable[[], object] | None:
        return self._make

    # -- in slices ---------------------------------------------------------------------------

    def steps(self, pos: int) -> Generator[object, None, None]:
        ctx, api, handler = self._ctx, self._api, self._handler
        request = yield from self._decoded(pos)
        split = self._split()
        if split is not None and self._elements <= LOOKED_AT:
            # They were counted slice by slice: those of the last one are not among them.
            items = _items(request, split.asked[0])
            self._elements = sum(_leaves(one, split.asked[1:]) for one in items)
        if self._elements > PART_ELEMENTS:
            request = yield from self._without_repetitions(request)
        if split is not None and not self._divides(request, split):
            split = None
        if split is None and self._elements > MAX_WHOLE_ELEMENTS and ctx.api_key != ApiKey.FETCH:
            raise ProtocolError(
                f"{self._elements} elements are more than the {MAX_WHOLE_ELEMENTS} of one request"
            )
        process: Handle | None = api.handle
        if split is not None:
            within = self._elements <= MAX_WHOLE_ELEMENTS
            process = partial(self._process, split) if within else None
        subjects = yield from self._looked_through(request)
        if not handler.accept(self._conn, ctx, api, request, process, subjects):
            return
        if split is None:
            if (
                isinstance(request, FetchRequest)
                and _parked_bytes(handler.connections.values()) > PARKED_BYTES
            ):
                request.max_wait_ms = 0
            response = api.handle(handler.services, ctx, request)
        else:
            response = yield from self._in_parts(request, split)
        if response is PARKED:
            if not ctx.done:
                ctx.woken_by = PEER  # until the end of its wait says better
            return
        if isinstance(response, Verdict) or ctx.api_key in (ApiKey.FETCH, ApiKey.PRODUCE):
            handler.finish(self._conn, ctx, api, response)
            return
        body = yield from encoded(response, ctx.api_version)
        handler.finish(self._conn, ctx, api, response, body)

    def _decoded(self, pos: int) -> Generator[object, None, object]:
        ctx = self._ctx
        frame = ctx.frame
        assert frame is not None
        if ctx.api_key == ApiKey.PRODUCE:
            plain = decode_plain_request(frame, pos, ctx.api_version)
            if plain is not None:
                return plain
        cls: type[object] = request_class(ctx.api_key)
        steps = decode_in_slices(cls, ctx.api_version, frame, pos, most=MAX_ELEMENTS)
        while True:
            try:
                self._elements += next(steps)
            except StopIteration as end:
                request: object = end.value[0]
                if isinstance(request, FetchRequest) and request.unknown_tags is None:
                    request.unknown_tags = {}  # its partitions may have some, as its codec says
                return request
            if self._elements > MAX_ELEMENTS:
                raise ProtocolError(f"more than {MAX_ELEMENTS} elements in one request")
            yield None

    def _split(self) -> Split | None:
        """How requests of its API are divided; None: not at all."""
        key = self._ctx.api_key
        if key == ApiKey.OFFSET_FETCH:
            return _OFFSET_FETCH[self._ctx.api_version >= _FIRST_OFFSET_FETCH_WITH_GROUPS]
        split = SPLITS.get(ApiKey(key))
        return split if split is not None and self._ctx.api_version >= split.since else None

    def _divides(self, request: object, split: Split) -> bool:
        """Whether this one is."""
        if self._elements <= split.size:
            return False
        return split.alone is None or not any(map(split.alone, _items(request, split.asked[0])))

    def _without_repetitions(self, request: object) -> Generator[object, None, object]:
        key = ApiKey(self._ctx.api_key)
        split = SPLITS.get(key) or _WHOLE.get(key)
        if split is None or split.keep is None:
            return request
        if split.alone is not None and any(map(split.alone, _items(request, split.asked[0]))):
            return request
        yield None
        kept = yield from _unique(_items(request, split.asked[0]), split)
        yield None
        inner = split.asked[1:]
        self._elements = sum(_leaves(one, inner) for one in kept) if inner else len(kept)
        yield None
        return _with(request, split.asked[0], kept)

    def _looked_through(self, request: object) -> Generator[object, None, RequestSubjects | None]:
        """What it is about, where fault rules may ask and it is too large to be told at once."""
        faults, api_key = self._handler.faults, ApiKey(self._ctx.api_key)
        if faults is None or self._elements <= MAX_WHOLE_ELEMENTS or not faults.meets(api_key):
            return None
        from mockbroker.node.interceptor import RequestSubjects

        split = self._split() or _WHOLE[api_key]
        subjects = RequestSubjects(self._handler, request)
        yield from subjects.look_through(faults.rules_of(api_key), _pieces(request, split))
        return subjects

    def _process(
        self, split: Split, services: Services, ctx: RequestContext, request: object
    ) -> object:
        """Its handler, where a fault rule decides on the answer: that comes when it is made."""

        def steps() -> Iterator[object]:
            response = yield from self._in_parts(request, split)
            ctx.respond_in_slices(response)

        self._responder = ctx.responder
        services.work_in_slices(ctx, steps())
        return PARKED

    def _in_parts(self, request: object, split: Split) -> Generator[object, None, object]:
        ctx = self._ctx
        first, *inner = split.asked
        merged: object = None
        for items in _cut(_items(request, first), inner, split.size):
            yield None
            ctx.responder = self
            self._make = None
            response = self._api.handle(self._handler.services, ctx, _with(request, first, items))
            if response is PARKED:
                while (make := self._made()) is None:
                    yield WAIT
                response = make()
            ctx.on_disconnect = None
            if getattr(response, "error_code", 0):
                merged = response  # that of all of it: nothing more is done
                break
            if merged is None:
                merged = response
            else:
                _join(merged, response, split.answered)
        ctx.responder = self._responder
        return merged


def _parked_bytes(connections: Iterable[Connection]) -> int:
    """How large the requests are that are parked."""
    in_work = (conn.in_work for conn in connections)
    return sum(ctx.request_bytes for ctx in in_work if ctx is not None and ctx.woken_by is PEER)


def _items(request: object, field: str) -> list[object]:
    items: list[object] | None = getattr(request, field)
    return items or []


def _with(message: object, field: str, value: list[object]) -> object:
    """A shallow copy with another list in it."""
    cls = type(message)
    copy: object = cls.__new__(cls)
    for name in schema_of(cls).field_names:
        setattr(copy, name, getattr(message, name))
    copy.unknown_tags = message.unknown_tags  # type: ignore[attr-defined]  # a slot of all
    setattr(copy, field, value)
    return copy


def _pieces(request: object, split: Split) -> Iterator[object]:
    """Copies of it with some of its elements each."""
    first, *inner = split.asked
    fields = (first, "forgotten_topics_data") if isinstance(request, FetchRequest) else (first,)
    bare = request
    for field in fields:
        bare = _with(bare, field, [])
    for field in fields:
        for items in _cut(_items(request, field), inner, LOOKED_AT):
            yield _with(bare, field, items)


def _leaves(item: object, fields: Sequence[str]) -> int:
    """How many elements of the innermost list there are in it, itself at the least."""
    if not fields:
        return 1
    inner = _items(item, fields[0])
    if len(fields) == 1:
        return max(1, len(inner))
    return max(1, sum(_leaves(one, fields[1:]) for one in inner))


def _cut(items: list[object], fields: Sequence[str], size: int) -> Iterator[list[object]]:
    """The elements by `size` of the innermost ones; an even number keeps pairs together."""
    part: list[object] = []
    room = size
    for item in items:
        leaves = _leaves(item, fields)
        if leaves > room and part:
            yield part
            part, room = [], size
        if leaves > size:
            field, *inner = fields
            for some in _cut(_items(item, field), inner, size):
                yield [_with(item, field, some)]
            continue
        part.append(item)
        room -= leaves
    if part:
        yield part


def _unique(items: list[object], split: Split) -> Generator[object, None, list[object]]:
    """The elements without those that a repetition makes meaningless.

    What is kept of one element stands together, where the first one stood.
    """
    outer_key = split.keys[0]
    twice = split.keep == TWICE
    if len(split.asked) == 1:
        found: dict[Hashable, list[object]] = {}
        for index, item in enumerate(items):
            same = found.setdefault(outer_key(item), [])
            if len(same) < 1 + twice:
                same.append(item)
            if not index % LOOKED_AT:
                yield None
        return _pairs_first(found, twice=twice)
    field, inner_key = split.asked[1], split.keys[1]
    topics: dict[Hashable, tuple[object, dict[Hashable, list[object]]]] = {}
    looked_at = 0
    for topic in items:
        partitions = topics.setdefault(outer_key(topic), (topic, {}))[1]
        for one in _items(topic, field):
            same = partitions.setdefault(inner_key(one), [])
            if not same or (twice and len(same) < 2):
                same.append(one)
            elif not twice:
                same[0] = one
            looked_at += 1
            if not looked_at % LOOKED_AT:
                yield None
        looked_at += 1
        if not looked_at % LOOKED_AT:
            yield None
    kept = []
    for topic, partitions in topics.values():
        kept.append(_with(topic, field, _pairs_first(partitions, twice=twice)))
        yield None
    return kept


def _pairs_first(found: dict[Hashable, list[object]], *, twice: bool) -> list[object]:
    """A part of an even size then never cuts one."""
    groups = sorted(found.values(), key=len, reverse=True) if twice else found.values()
    return [one for group in groups for one in group]


def _join(into: object, response: object, fields: Sequence[str]) -> None:
    """Put the elements of an answer behind those of another; an outer one that was cut is one."""
    field, *inner = fields
    mine, theirs = _items(into, field), _items(response, field)
    if inner and mine and theirs and _same(mine[-1], theirs[0]):
        _join(mine[-1], theirs[0], inner)
        theirs = theirs[1:]
    mine += theirs
    setattr(into, field, mine)


_IDENTITY: Final = ("name", "topic", "topic_id", "group_id", "producer_id", "error_code")


def _same(one: object, other: object) -> bool:
    return all(getattr(one, key, None) == getattr(other, key, None) for key in _IDENTITY)
