"""How a group shares partitions: what is committed, who owns which slots, what is handed out.

For tests, the admin API and DescribeIndividualCommits. What is committed is told as of what is
replicated, as all of a group is; leases are memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop import krange
from mockbroker.coop.fencing import assigned_ranges
from mockbroker.coop.handouts import Shared
from mockbroker.coop.individual_commits import Place, committed_offset
from mockbroker.coordinator.group.shared import Lease, Piece, Sharing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mockbroker.apis.context import Services
    from mockbroker.coop import leases
    from mockbroker.coop.handouts import Handouts
    from mockbroker.coop.individual_commits import IndividualCommits
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.group.shared import Range

    TopicPartition = tuple[str, int]
    Owners = dict[TopicPartition, dict[str, list[Range]]]


class Told(NamedTuple):
    """What is asked: leases, and commits of ranges where there may be some."""

    services: Services
    handouts: Handouts
    commits: IndividualCommits | None

    def of_group(
        self, group_id: str, asked: Iterable[TopicPartition] | None = None
    ) -> Iterator[tuple[TopicPartition, Sharing]]:
        """Each partition that the group shares or has ranges in, or those asked for, in order."""
        shard = self.services.groups.service.runtime.committed_for(group_id)
        if shard is None:
            return
        owners = _owners(self.services, shard, group_id)
        places = set(owners if asked is None else asked)
        if asked is None:
            places.update(self.handouts.of_group(group_id))
            mine = None if self.commits is None else self.commits.runtime.committed_for(group_id)
            if mine is not None:
                places.update(mine.groups.get(group_id, ()))
        for place in sorted(places):
            yield place, self._one(shard, Shared(group_id, *place), owners.get(place, {}))

    def _one(self, shard: GroupShard, shared: Shared, owners: dict[str, list[Range]]) -> Sharing:
        topic = self.services.metadata.topics.get(shared.topic)
        place = Place(*shared) if topic is None else Place(*shared, topic.id)
        stable = committed_offset(shard, place)
        beyond: list[Range] = []
        pending: list[Range] = []
        if self.commits is not None:
            part = self.commits.ranges_of(*shared, live=False)
            standing = self.commits.standing(stable, part, place, read_committed=part is not None)
            stable = standing.stable()
            beyond = [] if stable < 0 else list(standing.part.beyond(stable))
            pending = list(standing.part.all_pending())
        leases = self.handouts.of(shared)
        return Sharing(
            None if stable < 0 else stable,
            beyond,
            pending,
            owners,
            None if leases is None else leases.marker,
            [] if leases is None else [self._lease(one) for one in leases.leased],
            [] if leases is None else [Piece(*one) for one in leases.free],
            [Piece(*one) for at, one in self.handouts.dead if at == shared],
        )

    def _lease(self, one: leases.Lease) -> Lease:
        left_ms = max(one.deadline_ms - self.services.clock.now_ms, 0.0)
        return Lease(one.first, one.last, one.holder.member, one.deliveries, left_ms)


def _owners(services: Services, shard: GroupShard, group_id: str) -> Owners:
    """The slots that members may read of partitions of which they have but a part."""
    found: Owners = {}
    consumers = shard.consumer_groups.get(group_id)
    if consumers is not None and krange.is_sharing(consumers):
        topics = services.metadata.topics_by_id
        for member_id, member in sorted(consumers.members.items()):
            for topic_id, indexes in member.assigned.items():
                for index in indexes:
                    ranges = krange.ranges_of(consumers, member_id, topic_id, index)
                    if ranges and topic_id in topics:
                        of = found.setdefault((topics[topic_id].name, index), {})
                        of[member_id] = list(ranges)
    group = shard.groups.get(group_id)
    if group is not None:
        for member_id, classic in sorted(group.members.items()):
            for topic, parts in (assigned_ranges(group, classic) or {}).items():
                for index, ranges in parts.items():
                    if ranges:
                        of = found.setdefault((topic, index), {})
                        of[member_id] = list(ranges)
    return found
