"""The HTTP server beside the broker: it leaves signals alone and ends with its streams."""

from __future__ import annotations

import asyncio
import http.client
import re
import signal
import sys
from collections import Counter
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker import MockBroker, admin
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.mockbroker.admin.conftest import Api
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from types import FrameType


async def test_in_the_callers_loop_its_signal_handlers_stay() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with MockBroker(admin_port=0) as broker:
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


async def test_who_looked_and_went_costs_clients_nothing() -> None:
    async with MockBroker(admin_port=0, topics={"orders": 1}) as broker:
        bootstrap = broker.bootstrap_servers
        with BlockingConnection(bootstrap) as client:
            await asyncio.to_thread(ask, client, 10)
            looked = await asyncio.to_thread(Api(broker), "GET", "/v1/journal/rows?since=0")
            assert looked.body["rows"]
            await asyncio.to_thread(ask, client, 10)  # the look's own connection is over
            called: Counter[str] = Counter()

            def note(frame: FrameType, event: str, _: object) -> None:
                if event == "call":
                    called[frame.f_code.co_filename] += 1

            sys.setprofile(note)
            try:
                await asyncio.to_thread(ask, client, 50)
            finally:
                sys.setprofile(None)
    files = [Path(name).as_posix() for name in called]
    assert called[BlockingConnection.call.__code__.co_filename] == 0  # it is another thread's
    assert any("/mockbroker/apis/" in name for name in files)
    of_http = (Path(admin.__path__[0]).as_posix(), "/starlette/", "/fastapi/", "/pydantic/")
    assert [name for name in files if any(part in name for part in of_http)] == []


def ask(client: BlockingConnection, times: int) -> None:
    for _ in range(times):
        client.call(ApiVersionsRequest("live", "1"), 3, ApiVersionsResponse)


def test_each_answer_tells_what_it_cost_and_when_it_was_made() -> None:
    with MockBroker(admin_port=0) as broker:
        connection = http.client.HTTPConnection(Api(broker).address, timeout=20)
        connection.request("GET", "/v1/cluster")
        headers = connection.getresponse().headers
        connection.close()
    told = re.fullmatch(r"cpu;dur=(\d+\.\d\d), total;dur=(\d+\.\d\d)", headers["Server-Timing"])
    assert told is not None
    assert 0 < float(told[1]) <= float(told[2]) + 1
    assert parsedate_to_datetime(headers["Date"]).tzinfo is not None
    assert len(headers.get_all("Date", [])) == 1
