"""The fetch sessions of one node, and how a fetch finds its partitions in the metadata.

`FetchManager` extends it by the choice of a fetch's context; the contexts call here to resolve what
they read and to open a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.fetch.cache import FetchSessionCache
from mockbroker.fetch.session_log import SessionLog
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.fetch.session import CachedPartition, FetchSession, SessionTopic
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.manager import ReplicaManager


_NONE: Final = ErrorCode.NONE


class Gate:
    """Which topics the reader of a fetch may read.

    `allows` says it of a topic by its name, and, for None, whether the reader may read anything. It
    says the same to the same `reader` after as many `changes`. `changed_since` has the topics of
    which it may say something else after some more: names, each with whether all that begins with
    it is meant; None if that may be any. `still_allows` says of a topic what `allows` does, and
    nobody is told that it was asked.
    """

    __slots__ = ("allows", "changed_since", "changes", "reader", "still_allows")

    def __init__(
        self,
        allows: Callable[[str | None], bool],
        reader: object,
        changes: int = 0,
        changed_since: Callable[[int], Sequence[tuple[str, bool]] | None] = lambda _: (),
        still_allows: Callable[[str], bool] | None = None,
    ) -> None:
        self.allows = allows
        self.still_allows: Callable[[str], bool] = still_allows or allows
        self.reader = reader
        self.changes = changes
        self.changed_since = changed_since


class FetchSessions:
    """`partitions_looked_at` counts what fetches read, for those who check what a poll costs."""

    __slots__ = (
        "_clock",
        "_metadata",
        "_replicas",
        "cache",
        "gate",
        "log",
        "partitions_looked_at",
    )

    def __init__(
        self,
        clock: Clock,
        config: BrokerConfig,
        metadata: MetadataStore,
        replicas: ReplicaManager,
        rng: Random,
    ) -> None:
        self._clock = clock
        self._metadata = metadata
        self._replicas = replicas
        self.cache = FetchSessionCache(
            rng,
            config.int("max.incremental.fetch.session.cache.slots"),
            config.int("min.incremental.fetch.session.eviction.ms"),
        )
        self.log = SessionLog(clock)
        self.gate: Gate | None = None
        """Set while a fetch is begun whose reader may not read everything."""
        self.partitions_looked_at = 0

    def try_create_session(self, session: FetchSession) -> bool:
        """Open the session of a full fetch, unless the cache has no slot for it."""
        made = self.cache.try_create(session, int(self._clock.now_ms))
        evicted = self.cache.evicted
        while evicted:
            victim, rule = evicted.pop(0)
            self.log.ended(victim, "evicted", rule)
        if made:
            self.log.opened(session)
        else:
            self.log.refused(session)
        return made

    def evict(self, session_id: int, rule: str) -> bool:
        """Drop a session for a reason of one's own; False when there is none of this id."""
        return self.end(session_id, "evicted", rule)

    def end(self, session_id: int, event: str, rule: str | None = None) -> bool:
        """Drop a session, and say why in the journal; False when there is none of this id."""
        session = self.cache.get(session_id)
        if session is None:
            return False
        self.log.ended(session, event, rule)
        return self.cache.remove(session_id)

    # -- finding partitions ----------------------------------------------------------------

    def resolve(self, entry: FetchEntry) -> int:
        """Find the entry's partition; returns the error of one that cannot be read at all.

        A name found for an id is kept for good. What is in the metadata but not on this node is no
        error yet: the read answers it.
        """
        topic = entry.topic
        metadata = self._metadata
        gate = self.gate
        if gate is not None and not gate.allows(None):
            entry.partition = None
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if topic.name is None:
            found = metadata.topics_by_id.get(topic.topic_id)
            if found is None:
                entry.partition = None
                return ErrorCode.UNKNOWN_TOPIC_ID
            topic.name = found.name
        else:
            found = metadata.topics.get(topic.name)
        if gate is not None and not gate.allows(topic.name):
            entry.partition = None
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if found is None or not 0 <= entry.index < len(found.partitions):
            entry.partition = None
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        entry.partition = self._replicas.partition(found.name, entry.index)
        return _NONE

    def with_other_rights(self, session: FetchSession) -> Collection[SessionTopic]:
        """The topics of it which who polls may read, or not, otherwise than at the last poll."""
        gate, rights = self.gate, session.rights
        if gate is None:
            return ()
        if rights is None or rights[0] != gate.reader:
            return session.topics.values()
        if rights[1] == gate.changes:
            return ()
        names = gate.changed_since(rights[1])
        if names is None:
            return session.topics.values()
        touched: dict[SessionTopic, None] = {}
        for name, begins in names:
            topics = session.topics_beginning_with if begins else session.topics_named
            touched.update(dict.fromkeys(topics(name)))
        return touched

    def note_rights(self, session: FetchSession) -> None:
        """All of it that they may concern was looked at."""
        gate = self.gate
        session.rights = None if gate is None else (gate.reader, gate.changes)

    def refused_of(self, topics: Iterable[SessionTopic]) -> list[CachedPartition]:
        """The partitions of a session's topics that its reader may not read any more."""
        gate = self.gate
        if gate is None:
            return []
        return [
            cached
            for topic in topics
            if topic.name is not None and not gate.still_allows(topic.name)
            for cached in topic.partitions.values()
            if cached.partition is not None
        ]

    def drop(self, refused: Iterable[CachedPartition]) -> None:
        """Let go of them: the poll tells the error."""
        for cached in refused:
            cached.mark()
            cached.link(None)

    def resolve_again(self, cached: CachedPartition) -> int:
        """Find a session's partition anew, and listen to the one found."""
        before = cached.partition
        if before is not None:
            before.unwatch(cached)
        was_named = cached.topic.name is not None
        error = self.resolve(cached)
        if not was_named and cached.topic.name is not None:
            cached.session.forget_names()
        if cached.partition is not None:
            cached.partition.watch(cached)
        return error
