"""Listeners by name: how they are written, and that each client is told the address of its own."""

from __future__ import annotations

import pytest

from mockbroker.faults import Fault
from mockbroker.server.launch import ListenerAddressError, RunningBroker, launch
from mockbroker.server.listeners import (
    Listener,
    ListenerError,
    advertise,
    make_listeners,
    parse_addresses,
    secure,
)
from mockbroker.server.settings import Settings
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.sockets import RawConnection

STATIC, DEFAULT = 4, 5


def listeners(
    *bound: str, told: tuple[str, ...] = (), brokers: int = 1, host: str | None = None
) -> list[Listener]:
    made = make_listeners(
        parse_addresses(bound), default_host="127.0.0.1", advertised_host=host, brokers=brokers
    )
    advertise(made, parse_addresses(told), brokers)
    return made


def test_an_entry_has_a_name_a_host_and_a_port() -> None:
    (plain,) = parse_addresses([" inside://kafka.test:9092 "])
    assert (plain.name, plain.host, plain.port) == ("INSIDE", "kafka.test", 9092)
    (six,) = parse_addresses(["V6://[::1]:0"])
    assert (six.host, six.port) == ("::1", 0)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (["9092"], "'9092' is no listener"),
        (["A://:"], "'A://:' is no listener"),
        (["A://h:65536"], "65536 is not a port"),
        (["A://h:-1"], "is no listener"),
        (["A://h:1", "a://h:2"], "A is there twice"),
        (["REPLICATION://h:1"], "REPLICATION is what brokers use"),
    ],
)
def test_a_bad_entry_is_told(entries: list[str], problem: str) -> None:
    with pytest.raises(ListenerError, match=problem):
        parse_addresses(entries)


def test_what_is_not_advertised_is_told_as_the_rest_or_as_connected() -> None:
    inside, outside = listeners("A://:1", "B://0.0.0.0:2", told=("B://host:29092",), host="h")
    assert (inside.host, inside.advertised_host, inside.advertised_port) == ("127.0.0.1", "h", None)
    assert (outside.advertised_host, outside.advertised_port) == ("host", 29092)


def test_ports_count_up_with_the_brokers() -> None:
    inside, outside = listeners("A://:9092", "B://:0", told=("A://h:19092",), brokers=3)
    assert inside.ports == [9092, 9093, 9094]
    assert [inside.advertised_port_of(at) for at in range(3)] == [19092, 19093, 19094]
    assert outside.ports == [0, 0, 0]
    assert outside.advertised_port_of(1) is None


@pytest.mark.parametrize(
    ("bound", "told", "problem"),
    [
        (("A://:9092", "B://:9094"), (), "A and B both want port 9094"),
        (("A://:65534",), (), "65534 leaves no room for 3 brokers"),
        (("A://:1",), ("A://h:65534",), "65534 leaves no room for 3 brokers"),
        (("A://:1",), ("B://h:1",), "there is no listener B; allowed: one of A"),
        (("A://:1",), ("A://0.0.0.0:1",), r"A: clients cannot connect to 0\.0\.0\.0"),
    ],
)
def test_what_cannot_be_together_is_told(
    bound: tuple[str, ...], told: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(ListenerError, match=problem):
        listeners(*bound, told=told, brokers=3)


def test_a_map_secures_each_listener_by_its_name() -> None:
    made = listeners("A://:1", "SSL://:2")
    secure(made, None)
    assert [each.protocol.name for each in made] == ["PLAINTEXT", "SSL"]
    secure(made, "A:SASL_SSL,SSL:PLAINTEXT")
    assert [each.protocol.name for each in made] == ["SASL_SSL", "PLAINTEXT"]
    with pytest.raises(ListenerError, match="it has no protocol of listener SSL; allowed: SSL:P"):
        secure(made, "A:SSL")
    with pytest.raises(ListenerError, match="'A=SSL' is no entry; allowed: NAME:PROTOCOL"):
        secure(made, "A=SSL")


# -- on the wire ---------------------------------------------------------------------------


async def told(running: RunningBroker, name: str, broker: int = 0) -> list[str]:
    """The addresses of all brokers, as a client of that listener is told them."""
    host, port = running.listeners[name][broker]
    async with await RawConnection.open(f"{host}:{port}") as client:
        answer = await client.call(MetadataRequest(topics=None), 8, MetadataResponse)
    return [f"{each.host}:{each.port}" for each in answer.brokers]


async def test_clients_are_told_the_address_of_the_listener_they_came_by() -> None:
    settings = Settings(
        listeners=["INSIDE://:0", "OUTSIDE://:0", "PLAIN://:0"],
        advertised_listeners=["INSIDE://kafka:9092", "OUTSIDE://localhost:29092"],
        cluster_id="one",
    )
    running = await launch(settings)
    try:
        assert await told(running, "INSIDE") == ["kafka:9092"]
        assert await told(running, "OUTSIDE") == ["localhost:29092"]
        assert await told(running, "PLAIN") == [running.bootstrap_by_listener["PLAIN"]]
        assert running.bootstrap_servers == running.bootstrap_by_listener["INSIDE"]
        assert running.cluster_id == "one"
    finally:
        await running.stop()


async def test_several_brokers_are_told_each_by_its_own_listener() -> None:
    settings = Settings(
        listeners=["INSIDE://:0", "OUTSIDE://:0"],
        advertised_listeners=["OUTSIDE://h:29092"],
        brokers=2,
    )
    running = await launch(settings)
    try:
        inside = running.bootstrap_by_listener["INSIDE"].split(",")
        for broker in range(2):
            assert await told(running, "INSIDE", broker) == inside
            assert await told(running, "OUTSIDE", broker) == ["h:29092", "h:29093"]
        running.act(lambda cluster: cluster.controls.kill(2))
        for name in ("INSIDE", "OUTSIDE"):
            with pytest.raises(OSError, match=r"refused|Connect call failed"):
                await told(running, name, 1)
        running.act(lambda cluster: cluster.controls.revive(2))
        assert await told(running, "OUTSIDE", 1) == ["h:29092", "h:29093"]
        assert await told(running, "INSIDE", 1) == inside
    finally:
        await running.stop()


async def test_a_rule_shuts_one_listener_and_leaves_the_other_open() -> None:
    running = await launch(Settings(listeners=["A://:0", "B://:0"]))
    try:
        host, port = running.listeners["A"][0]
        async with await RawConnection.open(f"{host}:{port}") as client:
            await client.call(MetadataRequest(topics=None), 8, MetadataResponse)
            rule = Fault(listener="B", refuse=True)
            running.act(lambda cluster: cluster.faults.add([rule]))
            with pytest.raises(OSError, match=r"refused|Connect call failed"):
                await told(running, "B")
            await client.call(MetadataRequest(topics=None), 8, MetadataResponse)
        running.act(lambda cluster: cluster.faults.clear())
        while True:
            try:
                assert await told(running, "B") == [running.bootstrap_by_listener["B"]]
                break
            except ConnectionError:
                continue  # it listens again in a later turn of the loop
    finally:
        await running.stop()


async def test_a_port_that_is_taken_is_told_by_the_listeners_name() -> None:
    running = await launch(Settings())
    try:
        made = ["FREE://:0", f"TAKEN://:{running.port}"]
        with pytest.raises(ListenerAddressError, match="in use") as caught:
            await launch(Settings(listeners=made))
        assert caught.value.listener.name == "TAKEN"
    finally:
        await running.stop()


async def configs_of(running: RunningBroker, broker: int = 0) -> dict[str, tuple[str | None, int]]:
    """Value and source of what a broker tells of its listeners."""
    host, port = running.addresses[broker]
    keys = ["listeners", "advertised.listeners", "listener.security.protocol.map"]
    resource = DescribeConfigsResource(4, str(running.broker_ids[broker]), keys)
    async with await RawConnection.open(f"{host}:{port}") as client:
        request = DescribeConfigsRequest([resource])
        (result,) = (await client.call(request, 4, DescribeConfigsResponse)).results
    return {each.name: (each.value, each.config_source) for each in result.configs}


async def test_describe_configs_tells_the_listeners_that_are_there() -> None:
    running = await launch(Settings(controller_port=0))
    try:
        found = await configs_of(running)
        port, controller = running.port, running.controller_port
        listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"
        assert found["listeners"] == (listeners, STATIC)
        assert found["advertised.listeners"] == (None, DEFAULT)
        assert found["listener.security.protocol.map"][1] == DEFAULT
    finally:
        await running.stop()


async def test_describe_configs_tells_what_is_advertised_of_each_broker() -> None:
    settings = Settings(
        listeners=["A://:0", "B://[::1]:0"], advertised_listeners=["B://b:19092"], brokers=2
    )
    running = await launch(settings)
    try:
        found = await configs_of(running, 1)
        a, b = (running.listeners[name][1][1] for name in "AB")
        assert found["listeners"] == (f"A://127.0.0.1:{a},B://[::1]:{b}", STATIC)
        assert found["advertised.listeners"] == (f"A://127.0.0.1:{a},B://b:19093", STATIC)
        assert found["listener.security.protocol.map"] == ("A:PLAINTEXT,B:PLAINTEXT", STATIC)
    finally:
        await running.stop()
