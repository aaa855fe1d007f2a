"""JoinGroup of a broker with the extension: who says what it can do is told what it may."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mockbroker.apis import join_group
from mockbroker.coop import tags
from mockbroker.coop.extension import extension_of
from mockbroker.coop.numbers import Tag
from mockbroker.coop.transparent import CANNOT_SHARE
from mockbroker.coop.user_data import COOPERATIVE, INDIVIDUAL_COMMITS, KEY_RANGES

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker_protocol.messages.group_membership import JoinGroupRequest, JoinGroupResponse

guard = join_group.guard

_UNKNOWN: Final = ("", "")


def handle(services: Services, ctx: RequestContext, request: JoinGroupRequest) -> Verdict:
    """As without the extension, and JOIN_CAPS is answered."""
    software, _ = services.client_software.get(ctx.connection_id, _UNKNOWN)
    if CANNOT_SHARE in software or CANNOT_SHARE in ctx.client_id:
        extension_of(services).transparent.unable.add(ctx.client_id)
    fields = request.unknown_tags  # type: ignore[attr-defined]  # a slot of every message
    if fields is None or Tag.JOIN_CAPS not in fields:
        return join_group.handle(services, ctx, request)
    return join_group.handle(services, ctx, request, partial(_tell, services))


def _tell(services: Services, response: JoinGroupResponse) -> None:
    tags.tag(response, {Tag.JOIN_CAPS: bytes((allowed_flags(services),))})


def allowed_flags(services: Services) -> int:
    """What a coordinator lets members do; without individual commits they cannot share."""
    if not services.config.bool("accept.individual.commit"):
        return 0
    return KEY_RANGES | INDIVIDUAL_COMMITS | COOPERATIVE
