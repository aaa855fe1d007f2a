"""OffsetCommit of a broker with the extension: ranges of offsets beside plain positions.

A partition with the field COMMIT_RANGES commits these offsets and no others; what is in the plain
fields does not count. Groups of which no range is known, and that commit none, take the ordinary
path. A plain commit takes the place of ranges: one of a member that is ahead of the stable offset
keeps those behind it, any other drops all. Clients that cannot send the field have carriers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import offset_commit
from mockbroker.coop import tags
from mockbroker.coop.carried_commits import CarriedWriter, carry
from mockbroker.coop.extension import extension_of
from mockbroker.coop.sliced_commit import SlicedRangeWriter

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker.coop.handouts import Handouts
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitResponse,
    )

guard = offset_commit.guard


def handle(
    services: Services, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Verdict:
    """Answer as without the extension, unless ranges are committed or known."""
    extension = services.extension
    assert extension is not None
    if not extension.in_use.groups and not tags.is_spoken_of(request.topics):
        return offset_commit.handle(services, ctx, request)
    return _extended(services, ctx, request)


def _extended(
    services: Services, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Verdict:
    """What may have to do with ranges."""
    extension = extension_of(services)
    carried = carry(services, ctx.client_id, request)
    is_spoken = tags.is_spoken_of(request.topics)
    if request.generation_id_or_member_epoch < 0 and extension.handouts.in_use:
        _note_outside(extension.handouts, request)
    if not is_spoken and not (
        extension.has_commits and extension.commits.has_ranges(request.group_id)
    ):
        return offset_commit.handle(services, ctx, request)
    writer = (
        SlicedRangeWriter(services, request, ctx)
        if carried is None
        else CarriedWriter(services, request, carried)
    )
    return offset_commit.handle(services, ctx, request, writer)


def _note_outside(handouts: Handouts, request: OffsetCommitRequest) -> None:
    """Plain positions of somebody who is no member are set, whatever was handed out."""
    for topic in request.topics:
        for one in topic.partitions:
            if not tags.is_spoken(tags.tagged_fields(one)):
                handouts.note_outside(request.group_id, topic.name, one.partition_index)
