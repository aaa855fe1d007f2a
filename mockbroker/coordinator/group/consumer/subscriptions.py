"""What a member's subscription does to its group: the epoch, the topics' hash, its expressions.

`heartbeat`, `mixed` and `fencing` ask here for the records; `resolve` is what Kafka does in the
background: it looks which topics the expressions match (GroupMetadataManager
.maybeUpdateRegularExpressions, updateSubscriptionMetadata, handleRegularExpressionsResult).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.group.consumer.group import ResolvedRegex
from mockbroker.coordinator.group.consumer.group_records import (
    epoch_record,
    partition_metadata_tombstone,
    regex_record,
    regex_tombstone,
)
from mockbroker.coordinator.group.consumer.refusal import Refusal
from mockbroker.re2.expression import compiled, matching
from mockbroker.re2.parser import RegexError
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.clock import Clock
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember
    from mockbroker.coordinator.group.consumer.settings import ConsumerSettings
    from mockbroker.coordinator.group.consumer.target import Candidate
    from mockbroker.coordinator.group.consumer.topic_view import TopicView
    from mockbroker.coordinator.records import CoordinatorRecord

# GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS: how long resolved topics are good.
REGEX_LEAST_INTERVAL_MS: Final = 10_000
METADATA_REFRESH_MS: Final = 2_147_483_647


@dataclass(slots=True, eq=False)
class RegexChange:
    """What a member's new expression means: `resolved` when its topics are known already."""

    changed: bool = False
    resolved: bool = False
    needs_regex_resolution: bool = False
    records: list[CoordinatorRecord] = field(default_factory=list)


class Subscriptions:
    """Of all groups of one coordinator."""

    __slots__ = ("_clock", "_newest_topics", "_settings", "view")

    def __init__(self, clock: Clock, settings: ConsumerSettings, view: TopicView) -> None:
        self._clock = clock
        self._settings = settings
        self.view = view
        self._newest_topics = view.version

    def topic_created(self) -> None:
        """Expressions may match one topic more."""
        self._newest_topics = self.view.version

    # -- expressions -----------------------------------------------------------------------

    def change_regex(
        self, group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember
    ) -> RegexChange | Refusal:
        """What follows when a member goes from one expression to another, or keeps it."""
        change = RegexChange()
        old, new = before.topic_regex or "", after.topic_regex or ""
        if before.topic_regex != after.topic_regex:
            change.changed = True
            if old and group.regex_counts[old] == 1:
                change.records.append(regex_tombstone(group.group_id, old))
            if not new:
                change.resolved = bool(old)
            elif group.regex_counts[new]:
                change.resolved = new in group.resolved
            else:
                try:
                    compiled(new)
                except RegexError as error:
                    return Refusal(
                        ErrorCode.INVALID_REGULAR_EXPRESSION,
                        f"SubscribedTopicRegex `{new}` is not a valid regular expression: {error}.",
                    )
                change.needs_regex_resolution = True
        if change.needs_regex_resolution or group.regex_counts:
            change.needs_regex_resolution = self._needs_regex_resolution(
                group, old, new, asked=change.needs_regex_resolution
            )
        return change

    def _needs_regex_resolution(
        self, group: ConsumerGroup, old: str, new: str, *, asked: bool
    ) -> bool:
        now_wall_ms = self._clock.wall_ms()
        looked = next(iter(group.resolved.values()), None)
        if looked is not None and now_wall_ms <= looked.timestamp_ms + REGEX_LEAST_INTERVAL_MS:
            return False
        regexes = group.regex_counts.copy()
        if old:
            regexes[old] -= 1
        if new:
            regexes[new] += 1
        in_use = [regex for regex, count in regexes.items() if count > 0]
        if not in_use:
            return False
        return (
            asked
            or looked is None
            or len(in_use) != len(group.resolved)
            or looked.version < self._newest_topics
            or now_wall_ms > looked.timestamp_ms + self._settings.regex_refresh_ms()
        )

    def resolve(
        self, group: ConsumerGroup, describes: Callable[[str], bool] | None
    ) -> list[CoordinatorRecord]:
        """Look which topics the group's expressions match now; records of what that changes.

        `describes` says which of them count, for all members: who brought the look about may
        describe them (GroupMetadataManager.filterTopicDescribeAuthorizedTopics). None: all.
        """
        version, now_wall_ms = self.view.version, self._clock.wall_ms()
        names = list(self.view.names)
        matched = {regex: matching(regex, names) for regex in group.regex_counts}
        if describes is not None:
            shown = frozenset(filter(describes, frozenset[str]().union(*matched.values())))
            matched = {regex: topics & shown for regex, topics in matched.items()}
        resolved = {
            regex: ResolvedRegex(topics, version, now_wall_ms) for regex, topics in matched.items()
        }
        records = [regex_record(group.group_id, *one) for one in resolved.items()]
        subscribed = set(group.name_counts)
        for one in resolved.values():
            subscribed |= one.topics
        metadata_hash = self.view.hash_of(subscribed)
        nothing = frozenset[str]()
        changed = any(
            one.topics != (group.resolved[regex].topics if regex in group.resolved else nothing)
            for regex, one in resolved.items()
        )
        if changed or metadata_hash != group.metadata_hash:
            records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash))
            self._looked_at_metadata(group, group.epoch + 1)
        return records

    # -- the epoch -------------------------------------------------------------------------

    def update_epoch(self, candidate: Candidate, *, bump: bool) -> list[CoordinatorRecord]:
        """Records of a new epoch, if the subscriptions or the topics make one; it is set."""
        group = candidate.group
        if not bump and not group.has_metadata_expired(self._clock.now_ms):
            return []
        metadata_hash = self._hash(group, candidate.members().values())
        records: list[CoordinatorRecord] = []
        if bump or metadata_hash != group.metadata_hash:
            candidate.group_epoch += 1
            records.append(epoch_record(group.group_id, candidate.group_epoch, metadata_hash))
        self._looked_at_metadata(group, candidate.group_epoch)
        if group.has_partition_metadata:
            records.append(partition_metadata_tombstone(group.group_id))
        return records

    def without(
        self, group: ConsumerGroup, leaving: Iterable[ConsumerMember]
    ) -> list[CoordinatorRecord]:
        """Records of what follows when members go: expressions of theirs alone, and the epoch."""
        gone = {member.member_id for member in leaving}
        left = [member for member in group.members.values() if member.member_id not in gone]
        in_use = {member.topic_regex for member in left}
        records = [
            regex_tombstone(group.group_id, regex)
            for regex in group.regex_counts
            if regex not in in_use
        ]
        metadata_hash = self._hash(group, left)
        records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash))
        return records

    def _hash(self, group: ConsumerGroup, members: Iterable[ConsumerMember]) -> int:
        names: set[str] = set()
        for member in members:
            names |= member.topic_names
            resolved = group.resolved.get(member.topic_regex or "")
            if resolved is not None:
                names |= resolved.topics
        return self.view.hash_of(names)

    def _looked_at_metadata(self, group: ConsumerGroup, epoch: int) -> None:
        group.metadata_deadline_ms = self._clock.now_ms + METADATA_REFRESH_MS
        group.metadata_seen_epoch = epoch
