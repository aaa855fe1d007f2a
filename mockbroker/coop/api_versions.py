"""ApiVersions of a broker with the extension: who says hello is told what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import api_versions
from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.api_keys import ALL_SPECS, EXTENSION
from mockbroker_protocol.messages.api_versions import ApiVersion

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

guard = api_versions.guard


def handle(
    services: Services, ctx: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    """As without the extension, and the hello is returned; below v3 nobody can say it.

    The extension's own APIs are told where `coop.advertise.private.apis` is on.
    """
    response = api_versions.handle(services, ctx, request)
    extension = services.extension
    assert extension is not None
    if response.api_keys and extension.in_use.advertised:
        response.api_keys += [
            ApiVersion(key, versions.min_version, versions.max_version)
            for key, versions in services.registry.versions().items()
            if ALL_SPECS[key].key.listener == EXTENSION
        ]
    fields = request.unknown_tags  # type: ignore[attr-defined]  # a slot of every message
    if fields is not None and Tag.HELLO in fields:
        tags.tag(response, {Tag.HELLO: tags.hello()})
    return response
