"""A broker whose turns are over whenever it asks, one slice a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.plan import encode

if TYPE_CHECKING:
    from tests.support.core import Core, CoreClient


class EveryTime:
    """A turn that is over whenever it is asked."""

    asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return True


def turns_of(core: Core, client: CoreClient, frame: bytes) -> int:
    """In how many turns a frame is worked on; the answer is there then."""
    core.broker.requests.turn_over = turn = EveryTime()
    client.send_bytes(frame)
    core.deliver()
    turns = 0
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, turn)
        core.deliver()
        turns += 1
    return turns


def frame_of(request: object, version: int) -> bytes:
    """A request with its length before it."""
    key: int = request.API_KEY  # type: ignore[attr-defined]
    frame = encode_request_header(key, version, 7, "test") + b"".join(encode(request, version))
    return len(frame).to_bytes(4, "big") + frame
