"""The HTTP server beside the broker: it leaves signals alone and ends with its streams."""

from __future__ import annotations

import http.client
import signal

from mockbroker import MockBroker
from tests.mockbroker.admin.conftest import Api


async def test_in_the_callers_loop_its_signal_handlers_stay() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with MockBroker(admin_port=0) as broker:
        import asyncio

        status = await asyncio.to_thread(lambda: Api(broker)("GET", "/health/live").status)
        assert status == 200
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_an_open_stream_ends_with_the_broker() -> None:
    with MockBroker(admin_port=0) as broker:
        api = Api(broker)
        connection = http.client.HTTPConnection(api.address, timeout=20)
        connection.request("GET", "/v1/events")
        stream = connection.getresponse()
        assert stream.readline() == b": hello\n"
    assert stream.read() == b"\n"
    connection.close()
