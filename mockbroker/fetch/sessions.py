"""The fetch sessions of one node, and how a fetch finds its partitions in the metadata.

`FetchManager` extends it by the choice of a fetch's context; the contexts call here to resolve what
they read and to open a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.fetch.cache import FetchSessionCache
from mockbroker.fetch.session_log import SessionLog
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.fetch.session import CachedPartition, FetchSession
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.manager import ReplicaManager


class Gate:
    """Which topics the reader of a fetch may read.

    `allows` says it of a topic by its name, and, for None, whether the reader may read anything. It
    says the same as long as `rights` are equal.
    """

    __slots__ = ("allows", "rights")

    def __init__(self, allows: Callable[[str | None], bool], rights: object) -> None:
        self.allows = allows
        self.rights = rights


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
        return ErrorCode.NONE

    def has_other_rights(self, session: FetchSession) -> bool:
        """Whether who polls may read other partitions of it than at the last poll."""
        gate = self.gate
        return gate is not None and gate.rights != session.rights

    def note_rights(self, session: FetchSession) -> None:
        """All of the session's partitions were looked at."""
        session.rights = None if self.gate is None else self.gate.rights

    def drop_refused(self, partitions: Iterable[CachedPartition]) -> None:
        """Let go of those of a session's partitions that its reader may not read any more."""
        gate = self.gate
        if gate is None:
            return
        for cached in partitions:
            name = cached.topic.name
            if cached.partition is not None and name is not None:
                if gate.allows(None) and gate.allows(name):
                    continue
                cached.mark()
                cached.link(None)

    def resolve_again(self, cached: CachedPartition) -> int:
        """Find a session's partition anew, and listen to the one found."""
        before = cached.partition
        if before is not None:
            before.unwatch(cached)
        error = self.resolve(cached)
        if cached.partition is not None:
            cached.partition.watch(cached)
        return error
