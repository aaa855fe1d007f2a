"""What the extension keeps of one node, and how the rooms below reach it."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Final, cast

from mockbroker.coop import krange
from mockbroker.coop.filtered_read import BUDGET
from mockbroker.coop.handouts import Handouts, Shared
from mockbroker.coop.in_use import InUse
from mockbroker.coop.registered_filters import RegisteredFilters
from mockbroker.coop.remainders import Remainders
from mockbroker.coop.transparent import TransparentGroups
from mockbroker.coordinator.lazy import LazyCoordinator
from mockbroker.metadata.changes import TopicDeleted
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mockbroker.apis.context import Services
    from mockbroker.coop.filtered_read import FilteredRead
    from mockbroker.coop.individual_commits import IndividualCommits
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.group.shared import Sharing
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.metadata.changes import Change
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker_protocol.errors import ErrorCode

_METRICS: Final = "mockbroker:type=CooperativeMetrics,name="
_COUNTED: Final = (
    "commits",
    "ranges",
    "groups",
    "too_old",
    "cap_hits",
    "rebalances_called",
    "tombstones",
    "primary_pushes",
)
_FILTERED: Final = ("scanned_bytes", "matched_records", "covers", "budget_stops")


class Cooperation:
    """The extension of a node; its coordinator is made when the first commit of ranges comes."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.in_use = InUse(services)
        """What of all this anybody uses."""
        self.assignors = {krange.NAME: krange.assignor(services)}
        self._commits: LazyCoordinator[IndividualCommits] = LazyCoordinator(self._make_commits)
        self.coordinators = {INDIVIDUAL_COMMITS_TOPIC: self._commits}
        self.companion = self
        self.remainders = Remainders()
        """What filters of keys left over."""
        self.filtered: Counter[str] = Counter()
        """What passes of filters came to, by the name of its metric."""
        self.handouts = Handouts(services, self.in_use)
        """What members that fetch cooperatively have."""
        self.transparent = TransparentGroups(services)
        """Groups whose members do not know that they share partitions."""
        self.registered = RegisteredFilters(self.in_use)
        """What clients without tagged fields are given, as they were told to say."""
        services.metadata.subscribe(self._metadata_changed)

    def _metadata_changed(self, change: Change) -> None:
        self.in_use.changed(change)
        if isinstance(change, TopicDeleted):
            self.remainders.forget_topic(change.topic_id)
            self.handouts.forget_topic(change.name)

    def _make_commits(self) -> IndividualCommits:
        from mockbroker.coop.individual_commits import IndividualCommits

        commits = IndividualCommits(self._services)
        commits.on_committed = lambda place, ranges: self.handouts.done(Shared(*place[:3]), ranges)
        commits.on_moved = lambda place, stable: self.handouts.moved(Shared(*place[:3]), stable)
        commits.on_dropped = lambda place: self.handouts.note_dropped(Shared(*place[:3]))
        return commits

    @property
    def commits(self) -> IndividualCommits:
        """Individual commits."""
        return self._commits.service

    @property
    def has_commits(self) -> bool:
        """Whether there may be some, which is when their topic is there."""
        return self.in_use.commits

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        replay: bool,
        appended: Callable[[], None] | None,
    ) -> None:
        """See `coordinator.group.shard.Companion`."""
        if self.has_commits:
            self.commits.write(shard, records, done, replay=replay, appended=appended)
        else:
            self._services.groups.service.runtime.write(
                shard.partition_index, records, done, replay=replay, appended=appended
            )
        if self.handouts.in_use:
            self.handouts.note_changes(records)

    def transaction_ends(
        self, shard: GroupShard, marker: TransactionMarker, done: Callable[[ErrorCode], None]
    ) -> Callable[[ErrorCode], None] | None:
        """See `coordinator.group.shard.Companion`."""
        return self.commits.transaction_ends(shard, marker, done) if self.has_commits else done

    def count(self, found: FilteredRead) -> None:
        """A pass of a filter is over."""
        counted = self.filtered
        counted["scanned_bytes"] += found.scanned_bytes
        counted["matched_records"] += found.matched_records
        counted["covers"] += found.covers
        counted["budget_stops"] += found.stopped == BUDGET

    def metrics(self) -> dict[str, float]:
        """What is counted, by name."""
        counted = self.commits.metrics() if self.has_commits else {}
        cache = self.remainders
        return {
            **{f"{_METRICS}ic.{name}": counted.get(name, 0) for name in _COUNTED},
            **{f"{_METRICS}lease.{name}": one for name, one in self.handouts.metrics().items()},
            **{f"{_METRICS}filter.{name}": self.filtered[name] for name in _FILTERED},
            f"{_METRICS}cache.bytes": cache.size_bytes,
            f"{_METRICS}cache.hits": cache.hits,
            f"{_METRICS}cache.misses": cache.misses,
            f"{_METRICS}cache.evictions": cache.evictions,
        }

    def sharing(self, group_id: str) -> dict[tuple[str, int], Sharing]:
        """See `apis.context.Extension`."""
        return dict(self.told(group_id))

    def told(
        self, group_id: str, asked: Iterable[tuple[str, int]] | None = None
    ) -> Iterator[tuple[tuple[str, int], Sharing]]:
        """The partitions that are asked for, or those that a group shares or has ranges in."""
        from mockbroker.coop.sharing import Told

        commits = self.commits if self.has_commits else None
        return Told(self._services, self.handouts, commits).of_group(group_id, asked)

    def disconnected(self, connection_id: int) -> None:
        """See `apis.context.Extension`."""
        self.registered.disconnected(connection_id)

    def expire_leases(self, group_id: str) -> int:
        """See `Handouts.expire`."""
        return self.handouts.expire(group_id)

    def forget(self) -> None:
        """What is in no log: leases, and what filters left over."""
        self.handouts.clear()
        self.transparent.clear()
        self.registered.clear()
        self.remainders.clear()
        self.in_use.forget()


extension_of: Final = cast("Callable[[Services], Cooperation]", attrgetter("extension"))
"""The extension of a node that has it."""
