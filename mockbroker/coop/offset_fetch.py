"""OffsetFetch of a broker with the extension: the stable offset, and ranges for those who ask.

An ordinary client is told a group's stable offset as its position. The field WANT_RANGES, of the
request up to v7 and of a group from v8 on, has what is committed beyond told too. All of it is as
of what is replicated; with RequireStable it is what is written, told when that is replicated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import offset_fetch
from mockbroker.coop import tags
from mockbroker.coop.commit_tags import (
    MOST_RANGES,
    read_want,
    standing_fields,
    write_offset_ranges,
)
from mockbroker.coop.extension import extension_of
from mockbroker.coop.individual_commits import Place
from mockbroker.coop.metadata_carrier import write_text
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.versions import OFFSET_FETCH_GROUPS

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_offsets import (
        OffsetFetchRequest,
        OffsetFetchResponse,
        OffsetFetchResponsePartition,
        OffsetFetchResponsePartitions,
    )

guard = offset_fetch.guard

WITH_PENDING = 2


def handle(services: Services, ctx: RequestContext, request: OffsetFetchRequest) -> object:
    """Answer as without the extension where no range was ever committed, and none is asked for."""
    extension = services.extension
    assert extension is not None
    # What is ignored: `unknown_tags` is a slot of every message.
    if extension.in_use.groups or request.unknown_tags is not None:  # type: ignore[attr-defined]
        return _extended(services, ctx, request)
    for group in request.groups:
        if group.unknown_tags is not None:  # type: ignore[attr-defined]
            return _extended(services, ctx, request)
    return offset_fetch.handle(services, ctx, request)


def _extended(services: Services, ctx: RequestContext, request: OffsetFetchRequest) -> object:
    """What may have to do with ranges."""
    extension = extension_of(services)
    wants = {
        group.group_id: read_want(tags.tagged_fields(group).get(Tag.WANT_RANGES))
        for group in request.groups
    }
    if ctx.api_version < OFFSET_FETCH_GROUPS:
        wants[request.group_id] = read_want(tags.tagged_fields(request).get(Tag.WANT_RANGES))
    if not extension.has_commits and not any(wants.values()):
        return offset_fetch.handle(services, ctx, request)

    def amend(response: OffsetFetchResponse) -> None:
        telling = _Telling(services, live=request.require_stable)
        for topic in response.topics:
            for one in topic.partitions:
                place = Place(request.group_id, topic.name, one.partition_index)
                telling.tell(one, place, wants[request.group_id])
        for group in response.groups:
            for named in group.topics:
                for each in named.partitions:
                    place = Place(group.group_id, named.name, each.partition_index)
                    telling.tell(each, place, wants[group.group_id])

    return offset_fetch.handle(services, ctx, request, amend, (extension.commits.runtime,))


class _Telling:
    """What is told of a group in a partition."""

    def __init__(self, services: Services, *, live: bool) -> None:
        self._commits = extension_of(services).commits
        self._live = live
        config = services.config
        self._text_bytes = 0
        if config.bool("coop.metadata.carrier"):
            self._text_bytes = config.int("offset.metadata.max.bytes")

    def tell(
        self,
        one: OffsetFetchResponsePartition | OffsetFetchResponsePartitions,
        place: Place,
        wants: int,
    ) -> None:
        """Tell the stable offset in place of the position, and the ranges that are wanted."""
        if one.error_code:
            return
        if wants and not self._commits.is_here(place.group):
            _fail(one, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return
        part = self._commits.ranges_of(*place[:3], live=self._live)
        if part is None and not wants:
            return
        standing = self._commits.standing(
            one.committed_offset, part, place, read_committed=part is not None
        )
        if self._live and standing.part.pending:
            _fail(one, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            return
        stable = one.committed_offset = standing.stable()
        ranges = [] if stable < 0 else standing.part.beyond(stable)
        if self._text_bytes and part is not None:
            one.metadata = write_text(ranges, self._text_bytes)
        if not wants:
            return
        fields: dict[int, bytes] = {
            **standing_fields(stable, len(ranges)),
            Tag.COMMITTED_RANGES: write_offset_ranges(ranges[:MOST_RANGES]),
        }
        if wants >= WITH_PENDING:
            fields[Tag.PENDING_RANGES] = write_offset_ranges(standing.part.all_pending())
        tags.tag(one, fields)


def _fail(
    one: OffsetFetchResponsePartition | OffsetFetchResponsePartitions, error: ErrorCode
) -> None:
    one.committed_offset, one.committed_leader_epoch = -1, -1
    one.metadata, one.error_code = "", error
