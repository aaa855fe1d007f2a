"""Server-sent events: the journal and changes of state, as they happen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from mockbroker.admin.events import KINDS, EventHub
from mockbroker.admin.problems import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mockbroker.admin.events import Stream

router = APIRouter(tags=["events"])


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"description": "Events", "content": {"text/event-stream": {}}}},
)
async def stream_events(
    request: Request,
    kinds: Annotated[
        str, Query(max_length=1000, description=f"Some of {', '.join(KINDS)}, by commas")
    ] = ",".join(kind for kind in KINDS if kind != "high_watermark"),
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> StreamingResponse:
    """Events of these kinds from now on; with Last-Event-ID, first the requests since then."""
    wanted = frozenset(kind.strip() for kind in kinds.split(","))
    unknown = sorted(wanted - set(KINDS))
    if unknown:
        detail = f"kinds: {', '.join(unknown)} unknown; allowed: {', '.join(KINDS)}"
        raise ApiError(422, detail, "kinds")
    since = None
    if last_event_id is not None:
        if not last_event_id.isdecimal() or len(last_event_id) > 18:
            raise ApiError(422, "Last-Event-ID: it is not a number", "Last-Event-ID")
        since = int(last_event_id)
    hub: EventHub = request.app.state.hub
    stream = hub.open(wanted, since)
    return StreamingResponse(
        _write(hub, stream),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _write(hub: EventHub, stream: Stream) -> AsyncIterator[str]:
    try:
        yield ": hello\n\n"
        while (item := await stream.next()) is not None:
            kind, cursor, data = item
            text = json.dumps(data, separators=(",", ":"), default=str)
            yield f"id: {cursor}\nevent: {kind}\ndata: {text}\n\n"
    finally:
        hub.close_stream(stream)
