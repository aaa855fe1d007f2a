"""How far a group is in a partition, for those who hand out what is not done yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.extension import extension_of
from mockbroker.coop.individual_commits import Place, committed_offset
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.log.offsets import FetchIsolation

if TYPE_CHECKING:
    from mockbroker.apis.context import Services
    from mockbroker.coop.handouts import Shared
    from mockbroker.log.unified_log import UnifiedLog


class Progress(NamedTuple):
    """`stable` is the first offset that is not done, `done` what is beyond it.

    `is_full`: the group has as many ranges as it may, so gaps must be filled first.
    """

    stable: int
    done: IntervalSet
    is_full: bool = False


def progress_of(
    services: Services, shared: Shared, log: UnifiedLog, isolation: FetchIsolation
) -> Progress:
    """As of now, written but maybe not replicated; a group without a commit begins with the log."""
    shard = services.groups.service.runtime.shard_for(shared.group)
    topic = services.metadata.topics.get(shared.topic)
    if shard is None or topic is None:
        return Progress(log.log_start_offset, IntervalSet())
    place = Place(shared.group, shared.topic, shared.partition, topic.id)
    committed = committed_offset(shard, place)
    extension = extension_of(services)
    if not extension.has_commits:
        return Progress(max(committed, log.log_start_offset), IntervalSet())
    commits = extension.commits
    part = commits.ranges_of(shared.group, shared.topic, shared.partition, live=True)
    read_committed = isolation is FetchIsolation.TXN_COMMITTED
    standing = commits.standing(committed, part, place, read_committed=read_committed)
    stable = max(standing.stable(), log.log_start_offset)
    mine = commits.runtime.shard_for(shared.group)
    most = services.config.int("individual.commit.max.ranges.per.group")
    is_full = mine is not None and commits.held(shard, mine, shared.group) >= most
    if part is None:
        return Progress(stable, IntervalSet(), is_full)
    return Progress(stable, IntervalSet(part.beyond(stable)) if part.stray else part.keys, is_full)
