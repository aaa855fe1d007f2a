"""Metadata of a broker with the extension: which topics may be read through filters of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import metadata
from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse

guard = metadata.guard


def handle(services: Services, ctx: RequestContext, request: MetadataRequest) -> object:
    """As without the extension, and each topic tells if RANGE_FETCH_ALLOWED is asked for."""
    fields = request.unknown_tags
    if fields is None or Tag.RANGE_FETCH_ALLOWED not in fields:
        return metadata.handle(services, ctx, request)
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: MetadataRequest
) -> Generator[None, None, MetadataResponse]:
    response = yield from metadata.answer(services, ctx, request)
    for told in response.topics:
        topic = services.metadata.topics.get(told.name or "")
        if topic is not None:
            allows = topic.config.bool("range.fetch.enable")
            tags.tag(told, {Tag.RANGE_FETCH_ALLOWED: bytes((allows,))})
    return response
