"""`queued.max.request.bytes`: beyond it, clients are not read."""

from __future__ import annotations

import itertools

from mockbroker.node.broker import Broker
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.metered import PING, is_read, metered
from tests.support.requests import fetch, framed, produce

_POOL = "kafka.network:type=SocketServer,name=MemoryPool"


def test_without_the_config_nobody_counts() -> None:
    assert type(Core().broker) is Broker
    assert type(Core(config={"queued.max.request.bytes": "0"}).broker) is Broker


def test_a_frame_counts_as_large_as_it_says_until_it_is_answered() -> None:
    core, broker = metered(1000)
    client = core.client()
    client.send_bytes((900).to_bytes(4, "big") + bytes(10))
    assert broker.pool.available == 100
    assert broker.metrics()[f"{_POOL}Available"] == 100
    assert broker.metrics()[f"{_POOL}Used"] == 900
    client.disconnect()
    assert broker.pool.available == 1000
    other = core.client()
    other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert broker.pool.available == 1000


def test_who_begins_a_frame_when_nothing_is_left_is_not_read_until_something_is() -> None:
    core, broker = metered(1000)
    greedy, late, third = core.client(), core.client(), core.client()
    greedy.send_bytes((1000).to_bytes(4, "big") + bytes(10))
    assert broker.pool.available == 0
    late.send_bytes(PING)
    third.send_bytes((500).to_bytes(4, "big"))
    assert (late.answered, is_read(late), is_read(third), is_read(greedy)) == (
        0,
        False,
        False,
        True,
    )
    greedy.disconnect()
    assert (late.answered, is_read(late), is_read(third)) == (1, True, True)
    assert broker.pool.available == 500


def test_a_frame_that_was_granted_is_read_to_its_end() -> None:
    core, broker = metered(1000)
    first, second = core.client(), core.client()
    first.send_bytes(PING[:10])
    second.send_bytes((1000).to_bytes(4, "big") + bytes(10))
    assert broker.pool.available < 0
    first.send_bytes(PING[10:] + PING)
    assert (first.answered, is_read(first)) == (1, False)
    second.disconnect()
    assert (first.answered, is_read(first)) == (2, True)
    assert broker.pool.available == 1000


def test_what_waits_behind_a_parked_request_counts_and_the_parked_one_does_not() -> None:
    core, broker = metered(1000)
    reader, writer = core.client(), core.client()
    reader.send(fetch("orders"), 12)
    assert broker.pool.available == 1000
    reader.send_bytes(PING * 100)
    assert (broker.pool.available <= 0, is_read(reader)) == (True, False)
    writer.send(produce("orders"), 9)
    assert writer.answered == 0
    core.advance(500)  # the fetch has waited long enough
    assert reader.receive(FetchResponse).error_code == 0
    assert reader.answered == 100
    assert writer.receive(ProduceResponse).responses[0].partition_responses[0].error_code == 0
    assert (broker.pool.available, is_read(reader), is_read(writer)) == (1000, True, True)


def test_a_large_request_counts_while_it_is_worked_on_in_slices() -> None:
    core, broker = metered(1 << 16, 1 << 16)
    broker.requests.turn_over = lambda: True
    client = core.client()
    header = encode_request_header(3, 1, 1, "large")
    names = (15_000).to_bytes(4, "big") + b"\0\1x" * 15_000
    client.send_bytes(framed(header + names))
    assert broker.pool.available == (1 << 16) - len(header) - len(names)
    while broker.requests.unfinished:
        broker.go_on(core.now_ms, lambda: True)
    core.deliver()
    assert client.answered == 1
    assert broker.pool.available == 1 << 16


def test_who_sends_on_though_he_is_not_read_loses_nothing() -> None:
    core, broker = metered(1000)
    greedy, client = core.client(), core.client()
    greedy.send_bytes((1000).to_bytes(4, "big"))
    for _ in range(3):
        client.send_bytes(PING)
    greedy.disconnect()
    assert client.answered == 3
    assert broker.pool.available == 1000


def test_clients_whose_bytes_come_in_one_turn_wait_too() -> None:
    core, broker = metered(1000)
    greedy, client = core.client(), core.client()
    for one, data in ((greedy, (1000).to_bytes(4, "big") + bytes(9)), (client, PING)):
        broker.receive_buffer(one.connection_id, 100)[: len(data)] = data
        broker.arrived(one.connection_id, len(data))
    broker.run(core.now_ms)
    core.deliver()
    assert (client.answered, is_read(client)) == (0, False)
    greedy.disconnect()
    assert (client.answered, is_read(client)) == (1, True)


def test_those_who_wait_go_on_in_their_order() -> None:
    core, broker = metered(100, 100)
    greedy = core.client()
    greedy.send_bytes((100).to_bytes(4, "big"))
    waiting = [core.client() for _ in range(4)]
    for client in waiting:
        client.send_bytes((90).to_bytes(4, "big") + bytes(5))
    greedy.disconnect()
    reading = [is_read(client) for client in waiting]
    assert reading == [True, True, False, False]  # one more than there is room for
    for gone, next_one in itertools.pairwise(waiting):
        gone.disconnect()
        assert is_read(next_one)
    waiting[-1].disconnect()
    assert broker.pool.available == 100
