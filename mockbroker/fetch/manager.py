"""Which context a fetch gets: the decision table of KIP-227, and the sessions behind it.

`apis.fetch` calls `new_context` once a request; the contexts call back to find partitions and to
open sessions. The rows of the table, in the order in which they are tried:

  session epoch 0 or -1   the session named, if any, is closed, whoever opened it; then
     -1                   sessionless: the request's partitions
      0                   full: the same, and a session is opened when the answer is made
  any other epoch         70 no such session; 71 not the epoch expected; 106 names and ids mixed;
                          else the request changes the session: now empty, it is closed and the
                          fetch is sessionless; otherwise the epoch is consumed: incremental

The epoch is consumed when the request is accepted, whatever becomes of its answer. Ids that no
shard owns answer 70 like other unknown ones; Kafka fails the request with -1 there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.fetch.contexts import (
    FULL,
    INCREMENTAL,
    SESSIONLESS,
    FullFetchContext,
    SessionErrorContext,
    SessionlessFetchContext,
    entries_of,
)
from mockbroker.fetch.incremental import IncrementalFetchContext
from mockbroker.fetch.long_contexts import LongIncrementalContext, LongListContext
from mockbroker.fetch.session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    INVALID_SESSION_ID,
    FetchSession,
    next_epoch,
)
from mockbroker.fetch.sessions import FetchSessions
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.versions import FETCH_TOPIC_IDS

if TYPE_CHECKING:
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.fetch.contexts import FetchContext
    from mockbroker.fetch.long_contexts import LongContext
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker_protocol.messages.fetch import FetchRequest


class FetchManager(FetchSessions):
    """The fetch sessions of one node (Kafka: FetchManager).

    `answered` counts the answers that went out, by class. The bytes saved (`savings`) are sums: of
    requests, of all polls that their sessions accepted; of responses, of the answers that went out.
    Each session has its own share of them.
    """

    __slots__ = ("answered", "request_bytes_saved", "response_bytes_saved")

    def __init__(
        self,
        clock: Clock,
        config: BrokerConfig,
        metadata: MetadataStore,
        replicas: ReplicaManager,
        rng: Random,
    ) -> None:
        super().__init__(clock, config, metadata, replicas, rng)
        self.answered = {SESSIONLESS: 0, FULL: 0, INCREMENTAL: 0}
        self.request_bytes_saved = 0
        self.response_bytes_saved = 0

    def new_context(
        self, request: FetchRequest, version: int, *, is_whole: bool = True
    ) -> FetchContext:
        """Accept a fetch: close, open or continue a session as it asks.

        If it is not whole, what it names is taken in afterwards: an empty session may be filled.
        """
        session_id = request.session_id
        epoch = request.session_epoch
        by_id = version >= FETCH_TOPIC_IDS
        if epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            if session_id != INVALID_SESSION_ID:
                self.end(session_id, "closed")
            if epoch == FINAL_EPOCH:
                return SessionlessFetchContext(self, entries_of(request.topics, by_id))
            state = request.replica_state
            replica_id = request.replica_id if state is None else state.replica_id
            session = FetchSession(privileged=replica_id >= 0, uses_topic_ids=by_id)
            return FullFetchContext(self, session, request.topics)
        found = self.cache.get(session_id)
        if found is None:
            self.log.not_found(session_id, epoch)
            return SessionErrorContext(self, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if found.epoch != epoch:
            self.log.wrong_epoch(found, epoch)
            return SessionErrorContext(self, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if found.uses_topic_ids != by_id:
            self.log.mixed_ids(found)
            return SessionErrorContext(self, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return self._continue(found, request, version, is_whole=is_whole)

    def _continue(
        self, session: FetchSession, request: FetchRequest, version: int, *, is_whole: bool
    ) -> FetchContext:
        names_some = request.topics or request.forgotten_topics_data
        if names_some:
            session.update(request.topics, request.forgotten_topics_data)
        if not session.size and is_whole:
            self.end(session.id, "emptied")
            entries = entries_of(request.topics, session.uses_topic_ids)
            return SessionlessFetchContext(self, entries)
        self.cache.touch(session, int(self._clock.now_ms))
        session.epoch = next_epoch(session.epoch)
        wire_size = session.wire_size
        if wire_size.version != version:
            wire_size.measure(version)
        saved = wire_size.request_bytes
        if names_some:
            saved -= wire_size.requested_bytes(request)
        self._note_requested(session, saved)
        return IncrementalFetchContext(self, session, saved)

    # -- fetches that are worked on in slices ----------------------------------------------

    def new_long_context(
        self, request: FetchRequest, version: int
    ) -> LongContext | SessionErrorContext:
        """As `new_context` for a request that names much, which its context has yet to take in."""
        topics, forgotten = request.topics, request.forgotten_topics_data
        request.topics, request.forgotten_topics_data = [], []
        context = self.new_context(request, version, is_whole=False)
        request.topics, request.forgotten_topics_data = topics, forgotten
        if isinstance(context, SessionErrorContext):
            return context
        if isinstance(context, IncrementalFetchContext):
            return self.long_context_of(context)
        if isinstance(context, FullFetchContext):
            return LongListContext(self, context.session, opens=True)
        session = FetchSession(privileged=False, uses_topic_ids=version >= FETCH_TOPIC_IDS)
        return LongListContext(self, session, opens=False)

    def long_context_of(self, context: IncrementalFetchContext) -> LongIncrementalContext:
        """What goes on with a poll of which `resolve` said that it is long."""
        return LongIncrementalContext(self, context.session, context.request_bytes_saved)

    def taken_in(self, context: LongContext, request: FetchRequest, version: int) -> LongContext:
        """Its context has taken in what the request names: the rest of `_continue`.

        Another one is returned, which has yet to do that, when that left the session empty.
        """
        if not isinstance(context, LongIncrementalContext):
            return context
        session = context.session
        self._note_requested(session, -context.request_bytes_saved)
        if session.size:
            if not session.closed:
                self.cache.touch(session, int(self._clock.now_ms))
            session.wire_size.measure(version)
            context.request_bytes_saved = (
                session.wire_size.request_bytes - session.wire_size.requested_bytes(request)
            )
            self._note_requested(session, context.request_bytes_saved)
            return context
        context.let_go()
        self.end(session.id, "emptied")
        empty = FetchSession(privileged=False, uses_topic_ids=session.uses_topic_ids)
        return LongListContext(self, empty, opens=False)

    def note_answered(self, context: FetchContext) -> None:
        """The answer of this fetch goes out; one that was cut short before that counts nowhere."""
        self.answered[context.fetch_class] += 1
        saved = context.response_bytes_saved
        if saved and isinstance(context, IncrementalFetchContext):
            self.response_bytes_saved += saved
            context.session.response_bytes_saved += saved

    def _note_requested(self, session: FetchSession, saved: int) -> None:
        self.request_bytes_saved += saved
        session.request_bytes_saved += saved
