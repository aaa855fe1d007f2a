"""A broker whose clients share a memory for their requests, driven by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.node.metered_broker import MeteredBroker
from mockbroker_protocol.headers import encode_request_header
from tests.support.core import Core
from tests.support.requests import framed

if TYPE_CHECKING:
    from tests.support.core import CoreClient

PING = framed(encode_request_header(18, 0, 1, "ping"))


def metered(size: int, largest: int = 1000) -> tuple[Core, MeteredBroker]:
    config = {"queued.max.request.bytes": str(size), "socket.request.max.bytes": str(largest)}
    core = Core(topics={"orders": 1}, config=config)
    assert isinstance(core.broker, MeteredBroker)
    return core, core.broker


def is_read(client: CoreClient) -> bool:
    return client.reading
