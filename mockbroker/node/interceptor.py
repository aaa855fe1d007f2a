"""What becomes of a request that sets off fault rules, from the broker's side.

`request_handler` calls `intercept` for each request while any rule is armed. A request that meets
one goes this way instead of the usual one:

    before ─▶ held back ─▶ dropped, cut off, refused ─▶ processed, perhaps twice, perhaps parked
    after  ─▶ held back ─▶ dropped, cut off, overwritten ─▶ mangled ─▶ sent

where the rules with `stage` before and after act at their stage. The interception stands in for the
request handler as the responder of the request, so an answer that was parked comes by here too.
What a rule does to the answer of a Fetch of very many partitions is done in slices.

Invariants: whatever is held back is let go at most once, and not at all when its client has gone;
every part of the way runs inside the request boundary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from mockbroker.apis.context import CLOSE, NO_RESPONSE, PARKED, RequestContext, Verdict
from mockbroker.faults.answers import add_missing, overwrite
from mockbroker.faults.fault import AFTER, BEFORE
from mockbroker.faults.mangling import corrupt, poison
from mockbroker.faults.request_view import RequestView
from mockbroker.journal import FAULT, PEER
from mockbroker.node.request_client import RequestClient
from mockbroker.node.slices import encoded
from mockbroker.security.authenticator import session_expired
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.error_responses import (
    error_response,
    has_error,
    merge_responses,
    split_request,
)
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.headers import decode_request_header, frame_response
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.shapes import shape_of
from mockbroker_protocol.subjects import Subjects, TopicRef, concerns, subjects_of
from mockbroker_protocol.versions import FETCH_SESSIONS, FETCH_TOPIC_IDS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from mockbroker.apis.context import Handle, ServedApi, Services
    from mockbroker.clock import TimerTask
    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.faults.fault import Fault
    from mockbroker.faults.fault_set import FaultSet
    from mockbroker.faults.request_view import TopicRule
    from mockbroker_protocol.primitives import Buffer

T = TypeVar("T")
PROCESSED_ANYWAY: Final = frozenset({ApiKey.FETCH, ApiKey.METADATA})
"""An answer of theirs that tells only errors would break what the error is not about."""
_SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
MAX_SELECTIONS: Final = 1000
"""Rules, those that are gone among them, whose topics a session remembers."""
_INT32: Final = 1 << 32


class HasServices(Protocol):
    """Where a fetch's session is looked for."""

    services: Services


class RequestBoundary(Protocol):
    """What an interception does with its request in the end: the request handler."""

    broker_id: int
    services: Services

    @property
    def cause(self) -> str:
        """What completes the requests that are completed now, as the journal tells it."""

    def guard(self, ctx: RequestContext, work: Callable[[], None]) -> None:
        """Run a part of what becomes of a request inside the boundary, unless its client left."""

    def answer(self, ctx: RequestContext, response: object, *, is_long: bool) -> None:
        """Answer a request that is in work; if it is long, in slices."""

    def answer_bytes(self, ctx: RequestContext, data: Buffer) -> None:
        """The same with bytes that are sent as they are."""

    def cut_off(self, ctx: RequestContext, reason: str, ending: str | None) -> None:
        """End the connection by `ending`: disconnect, reset or half_close; None: as ever."""


def intercept(
    boundary: RequestBoundary,
    faults: FaultSet,
    ctx: RequestContext,
    api: ServedApi,
    request: object,
    process: Handle | None,
    subjects: RequestSubjects | None = None,
) -> bool:
    """Take a request out of the usual way if it sets off a rule; False: it does not.

    `process` is how it is processed in the end, if it is; None: it is too large for a rule, which
    works on it as a whole, and refused then. `subjects` is there if it was looked through before.
    """
    if subjects is None:
        subjects = RequestSubjects(boundary, request)
    client = RequestClient(boundary.services, ctx)
    view = RequestView(ctx, request, subjects, faults.name_of, subjects.meets, client)
    fired = faults.fire(ctx, view)
    if not fired:
        return False
    ctx.fault = ",".join(armed.id for armed in fired)
    fired = [armed for armed in fired if not armed.fault.observe]
    if not fired:
        return False
    if process is None:
        raise ProtocolError("it is too large for the fault rule that it sets off")
    interception = Interception(boundary, ctx, api, request, process, fired, subjects, view, client)
    ctx.responder = interception
    boundary.guard(ctx, interception.start)
    return True


class RequestSubjects:
    """What a request is about, found out at most once; of a fetch, what its session is too."""

    __slots__ = ("_boundary", "_found", "_named", "_request")

    def __init__(self, boundary: HasServices, request: object) -> None:
        self._boundary = boundary
        self._request = request
        self._found: Subjects | None = None
        self._named: dict[TopicRule, bool] = {}

    def look_through(
        self, rules: Sequence[ArmedFault], pieces: Iterable[object]
    ) -> Generator[None, None, None]:
        """Hold a large request against rules in slices: each of `pieces` has some of its elements.

        A rule's own condition is asked of the request as a whole later.
        """
        named: dict[TopicRule, bool] = {rule: False for rule in rules if rule.is_partial}
        found = Subjects([], [], []) if any(rule.asks_for_names for rule in rules) else None
        for piece in pieces:
            for rule, seen in named.items():
                named[rule] = seen or _names(piece, rule)
            if found is not None:
                more = subjects_of(piece)
                found.topics.extend(more.topics)
                found.groups.extend(more.groups)
                found.transactional_ids.extend(more.transactional_ids)
            yield
        self._named = named
        if found is not None:
            self._found = self._with_session(found)

    def __call__(self) -> Subjects:
        if self._found is None:
            self._found = self._with_session(subjects_of(self._request))
        return self._found

    def _with_session(self, found: Subjects) -> Subjects:
        request = self._request
        if isinstance(request, FetchRequest) and request.session_epoch > 0:
            found.topics.extend(self._of_session(request.session_id))
        return found

    def meets(self, rule: TopicRule) -> bool:
        """Whether a rule about some topics or partitions is about one of them.

        Of a session only topics are looked at, and again only when its partitions are others.
        """
        request = self._request
        named = self._named.get(rule)
        if named is None:
            named = _names(request, rule)
        if named or not isinstance(request, FetchRequest):
            return named
        return request.session_epoch > 0 and self._is_in_session(rule, request.session_id)

    def _is_in_session(self, rule: TopicRule, session_id: int) -> bool:
        session = self._boundary.services.fetch.cache.get(session_id)
        if session is None:
            return False
        if session.selections is None or len(session.selections) >= MAX_SELECTIONS:
            session.selections = {}
        known = session.selections.get(rule)
        if known is not None:
            return known
        wanted, lasts = rule.partition, True
        for topic in session.topics.values():
            if wanted is None or wanted in topic.partitions:
                selected = rule.selects_topic(topic.name, topic.topic_id)
                if selected:
                    break
                lasts = lasts and selected is not None  # it may have a name at the next poll
        else:
            if lasts:
                session.selections[rule] = False
            return False
        session.selections[rule] = True
        return True

    def _of_session(self, session_id: int) -> list[TopicRef]:
        session = self._boundary.services.fetch.cache.get(session_id)
        if session is None:
            return []
        by_id = session.uses_topic_ids
        return [
            TopicRef(topic.name, topic.topic_id if by_id else None, list(topic.partitions))
            for topic in session.topics.values()
        ]


def _names(request: object, rule: TopicRule) -> bool:
    """Whether a request names a topic, or a partition, that the rule is about."""
    wanted = rule.partition
    if not isinstance(request, FetchRequest):
        return concerns(request, rule.selects_topic, wanted)
    return any(
        topic.partitions
        and rule.selects_topic(topic.topic, topic.topic_id)
        and (wanted is None or any(each.partition == wanted for each in topic.partitions))
        for topic in request.topics
    ) or any(
        topic.partitions
        and rule.selects_topic(topic.topic, topic.topic_id)
        and (wanted is None or wanted in topic.partitions)
        for topic in request.forgotten_topics_data
    )


@dataclass(eq=False)
class Interception:
    """One request on its way through the rules that it set off."""

    _boundary: RequestBoundary
    _ctx: RequestContext
    _api: ServedApi
    _request: object
    _handle: Handle
    _fired: Sequence[ArmedFault]
    _subjects: RequestSubjects
    _view: RequestView
    _client: RequestClient
    _response: object = None
    _refused: list[object] = field(default_factory=list)
    _overwriting: list[ArmedFault] = field(default_factory=list)
    _task: TimerTask | None = None
    _is_long: bool = False
    """Whether it takes more than one slice to make its answer."""

    @property
    def broker_id(self) -> int:
        """The node that serves it."""
        return self._boundary.broker_id

    def start(self) -> None:
        """Begin: hold it back, or go on at once."""
        self._hold(BEFORE, self._before)

    # -- as the responder of the request ---------------------------------------------------

    def complete(self, ctx: RequestContext, response: object) -> None:
        """A parked request has its answer."""
        self.complete_by(ctx, lambda: response)

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """A parked request can have its answer made."""
        if ctx.woken_by is PEER:
            ctx.woken_by = self._boundary.cause
        self._boundary.guard(ctx, lambda: self._processed(make()))

    def complete_in_slices(self, ctx: RequestContext, response: object) -> None:
        """The same of a long answer: it was no wait that it took so long."""
        if ctx.woken_by is PEER:
            ctx.woken_by = None
        self.complete(ctx, response)

    # -- in slices -------------------------------------------------------------------------

    def _work(self, steps: Generator[object, None, T], then: Callable[[T], None]) -> None:
        """Do this, in slices if it takes more than one, and go on with what came out."""
        try:
            first = next(steps)
        except StopIteration as end:
            then(end.value)
            return

        def rest() -> Iterator[object]:
            yield first
            then((yield from steps))

        self._is_long = True
        self._boundary.services.work_in_slices(self._ctx, rest())

    # -- held back -------------------------------------------------------------------------

    def _at(self, stage: str) -> list[ArmedFault]:
        return [armed for armed in self._fired if armed.fault.stage == stage]

    def _hold(self, stage: str, then: Callable[[], None]) -> None:
        """Wait for the delays of this stage, then for the releases, then go on."""
        armed = self._at(stage)
        delays = [(a.fault.delay, a.rng) for a in armed]
        delay_ms = sum(delay.draw(rng) for delay, rng in delays if delay is not None)
        parking = [a for a in armed if a.fault.park]
        if delay_ms > 0:
            self._ctx.on_disconnect = self._let_fall
            deadline_ms = self._boundary.services.clock.now_ms + delay_ms
            timer = self._boundary.services.timer
            self._task = timer.schedule(deadline_ms, lambda: self._park(parking, then, held=True))
        else:
            self._park(parking, then, held=False)

    def _park(self, parking: list[ArmedFault], then: Callable[[], None], *, held: bool) -> None:
        self._task = None
        if parking:
            first, *others = parking
            self._ctx.on_disconnect = self._let_fall
            first.waiting.append(lambda: self._park(others, then, held=True))
        elif held:
            self._ctx.on_disconnect = None
            self._ctx.woken_by = FAULT
            self._boundary.guard(self._ctx, then)
        else:
            then()

    def _let_fall(self) -> None:
        """Its client has gone."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    # -- before it is processed ------------------------------------------------------------

    def _before(self) -> None:
        if self._ended_by(BEFORE):
            return
        if self._revoke(BEFORE):
            services = self._boundary.services
            self._ctx.on_disconnect = self._let_fall
            go_on = partial(self._park, [], self._go_on, held=True)
            self._task = services.timer.schedule(services.clock.now_ms, go_on)
            return
        self._go_on()

    def _go_on(self) -> None:
        errors = [armed for armed in self._at(BEFORE) if armed.fault.error is not None]
        if errors and self._refuse(errors):
            return
        self._process()

    def _revoke(self, stage: str) -> bool:
        """Take away what rules of this stage say; whether this broker hears of it later."""
        lost = [
            acl
            for armed in self._at(stage)
            if armed.fault.revoke_acl is not None
            for acl in self._client.acls_to_lose(armed, self._view)
        ]
        return bool(lost) and self._client.lose(lost)

    def _ended_by(self, stage: str) -> bool:
        """Whether a rule of this stage cuts the request off; it is silent, or closed then."""
        for armed in self._at(stage):
            fault = armed.fault
            if fault.drop:
                self._ctx.on_disconnect = None  # it stays in work: its connection is silent
                return True
            if fault.expire_token and self._expire_token(armed):
                return True
            for ending in ("disconnect", "reset", "half_close"):
                if getattr(fault, ending) and (ending != "half_close" or stage == BEFORE):
                    self._boundary.cut_off(self._ctx, f"{ending} by {armed.id}", ending)
                    return True
        return False

    def _expire_token(self, armed: ArmedFault) -> bool:
        """Let the client's token expire; whether that ends the request too."""
        token = self._client.shown_token
        if token is None:  # it has gone, and its login with it
            return False
        armed.spent.add(token)
        self._client.token_expires()
        if armed.fault.stage == AFTER:
            return False
        self._boundary.cut_off(self._ctx, session_expired(armed.id), None)
        return True

    def _refuse(self, errors: list[ArmedFault]) -> bool:
        """Answer an error in place of the request; False when (the rest of) it is processed."""
        ctx, request = self._ctx, self._request
        if ctx.api_key in PROCESSED_ANYWAY:
            if isinstance(request, FetchRequest):
                request.max_wait_ms = 0  # an error is answered at once
            self._overwriting += errors
            return False
        shape = shape_of(ctx.api_key, ctx.api_version)
        for armed in errors:
            fault, version = armed.fault, ctx.api_version
            if not armed.is_partial or not shape.nested_error or fault.level == "top":
                refused = error_response(request, version, fault.error_code, fault.level)
                if not has_error(refused, fault.error_code):
                    self._overwriting.append(armed)  # it names nothing: it asks for all there is
                    return False
                self._answer_refusal(refused)
                return True
            part, left = split_request(request, armed.selects)
            self._refused.append(error_response(part, version, fault.error_code, "partition"))
            if not left:
                first, *others = self._refused
                self._refused = []
                for other in others:
                    merge_responses(first, other)
                self._answer_refusal(first)
                return True
        return False

    def _answer_refusal(self, response: object) -> None:
        if self._is_unanswered():
            # As an error does to acks=0.
            self._boundary.answer(self._ctx, CLOSE, is_long=False)
        else:
            self._response = response
            self._hold(AFTER, self._after)

    def _is_unanswered(self) -> bool:
        return getattr(self._request, "acks", 1) == 0

    # -- processed -------------------------------------------------------------------------

    def _process(self) -> None:
        services, ctx, request = self._boundary.services, self._ctx, self._request
        faults = [armed.fault for armed in self._fired]
        if isinstance(request, FetchRequest) and any(fault.evict_session for fault in faults):
            services.fetch.evict(request.session_id, "fault")
        if any(fault.twice for fault in faults):
            self._process_ghost()
        response = self._handle(services, ctx, request)
        if response is not PARKED:
            self._processed(response)
        elif not ctx.done:
            ctx.woken_by = PEER

    def _process_ghost(self) -> None:
        """Process it once more, and drop its answer."""
        ctx = self._ctx
        frame = ctx.frame
        assert frame is not None
        header = decode_request_header(frame)
        ghost = RequestContext(_Nobody(), header, ctx, ctx.arrived_ms, ctx.request_bytes)
        request = self._api.decode(frame, header.body_pos, ctx.api_version)
        self._api.handle(self._boundary.services, ghost, request)

    def _processed(self, response: object) -> None:
        self._response = response
        self._hold(AFTER, self._after)

    # -- after it was processed ------------------------------------------------------------

    def _after(self) -> None:
        if self._ended_by(AFTER):
            return
        self._revoke(AFTER)
        if self._response is NO_RESPONSE or self._response is CLOSE:
            self._boundary.answer(self._ctx, self._response, is_long=False)
            return
        self._work(self._changed(), self._send)

    def _changed(self) -> Generator[object, None, object]:
        """The answer with what the rules put into it."""
        response = self._response
        for refused in self._refused:
            response = merge_responses(response, refused)
        errors = [armed for armed in self._at(AFTER) if armed.fault.error is not None]
        for armed in (*self._overwriting, *errors):
            response = yield from self._overwritten(response, armed)
        for armed in self._fired:
            self._change(response, armed)
        return response

    def _overwritten(self, response: object, armed: ArmedFault) -> Generator[object, None, object]:
        fault = armed.fault
        code = fault.error_code
        level = fault.level
        if level is None and code in _SESSION_ERRORS:
            level = "top"
        selects = armed.selects
        if isinstance(response, FetchResponse) and level != "top":
            by_id = self._ctx.api_version >= FETCH_TOPIC_IDS
            topics = self._subjects().topics
            yield from add_missing(response, topics, code, selects, by_id)
        return (yield from overwrite(response, self._ctx.api_version, code, level, selects))

    def _change(self, response: object, armed: ArmedFault) -> None:
        fault = armed.fault
        if fault.throttle_ms is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = max(response.throttle_time_ms, fault.throttle_ms)
        if fault.bad_crc and (
            not isinstance(response, FetchResponse) or not poison(response, armed.selects)
        ):
            armed.take_back()  # there were no records to spoil

    def _send(self, response: object) -> None:
        ctx, faults = self._ctx, [armed.fault for armed in self._fired]
        ending = next((name for f in faults if (name := _ending(f)) is not None), None)
        if ending is None and not any(_mangles(fault) for fault in faults):
            self._boundary.answer(ctx, response, is_long=self._may_be_long(response))
            return
        self._work(self._encoded(response), lambda body: self._send_mangled(body, faults, ending))

    def _may_be_long(self, response: object) -> bool:
        """Whether it is encoded in slices, which is not for what an old version cannot carry."""
        ctx = self._ctx
        if not self._is_long and ctx.request_bytes <= self._api.large_bytes:
            return False
        if ctx.api_key == ApiKey.FETCH:
            return ctx.api_version >= FETCH_SESSIONS
        return ctx.api_key != ApiKey.PRODUCE and not isinstance(response, Verdict)

    def _encoded(self, response: object) -> Generator[object, None, list[Buffer]]:
        ctx = self._ctx
        if self._may_be_long(response):
            return (yield from encoded(response, ctx.api_version))
        return self._api.encode(response, ctx.api_version)

    def _send_mangled(self, body: list[Buffer], faults: list[Fault], ending: str | None) -> None:
        ctx = self._ctx
        shift = sum(fault.correlation_shift or 0 for fault in faults)
        correlation_id = (ctx.correlation_id + shift + _INT32 // 2) % _INT32 - _INT32 // 2
        chunks = frame_response(ctx.api_key, ctx.api_version, correlation_id, body)
        data = bytearray(b"".join(chunks))
        for fault in faults:
            if fault.corrupt_at is not None:
                corrupt(data, fault.corrupt_at)
        for fault in faults:
            if fault.truncate_at is not None:
                del data[fault.truncate_at :]
        self._boundary.answer_bytes(ctx, data)
        if ending is not None:
            self._boundary.cut_off(ctx, f"{ending} by {ctx.fault}", ending)


def _mangles(fault: Fault) -> bool:
    return (
        fault.correlation_shift is not None
        or fault.corrupt_at is not None
        or fault.truncate_at is not None
    )


def _ending(fault: Fault) -> str | None:
    """How the connection ends behind the answer."""
    if fault.half_close and fault.stage == AFTER:
        return "half_close"
    return None if fault.truncate_at is None else "disconnect"


class _Nobody:
    """The responder of a request that was processed once too often."""

    def complete(self, ctx: RequestContext, response: object) -> None:
        """Its answer is dropped."""

    complete_in_slices = complete

    def complete_by(self, _ctx: RequestContext, make: Callable[[], object]) -> None:
        """Its answer is dropped, but what making it changes is changed."""
        make()
