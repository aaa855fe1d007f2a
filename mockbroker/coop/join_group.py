"""JoinGroup of a broker with the extension: who says what it can do is told what it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import join_group
from mockbroker.coop import krange, tags
from mockbroker.coop.extension import extension_of
from mockbroker.coop.numbers import Tag
from mockbroker.coop.user_data import COOPERATIVE, INDIVIDUAL_COMMITS, KEY_RANGES

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker_protocol.messages.group_membership import JoinGroupRequest, JoinGroupResponse

guard = join_group.guard


def handle(services: Services, ctx: RequestContext, request: JoinGroupRequest) -> Verdict:
    """As without the extension, and JOIN_CAPS is answered."""
    krange.offer(services)  # to join may move a group of KIP-848 too
    software, _ = services.client_software.get(ctx.connection_id, ("", ""))
    extension_of(services).transparent.note_client(ctx.client_id, software)
    if Tag.JOIN_CAPS not in tags.tagged_fields(request):
        return join_group.handle(services, ctx, request)

    def amend(response: JoinGroupResponse) -> None:
        tags.tag(response, {Tag.JOIN_CAPS: bytes((allowed_flags(services),))})

    return join_group.handle(services, ctx, request, amend)


def allowed_flags(services: Services) -> int:
    """What a coordinator lets members do; without individual commits they cannot share."""
    if not services.config.bool("accept.individual.commit"):
        return 0
    return KEY_RANGES | INDIVIDUAL_COMMITS | COOPERATIVE
