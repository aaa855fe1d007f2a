"""Settings in, a running broker out."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.config.errors import ConfigError
from mockbroker.server.launch import launch, new_event_loop
from mockbroker.server.settings import Settings
from mockbroker.server.values import SettingsError
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from pathlib import Path


async def metadata(settings: Settings) -> tuple[MetadataResponse, int]:
    running = await launch(settings)
    try:
        async with await RawConnection.open(running.bootstrap_servers) as client:
            answer = await client.call(MetadataRequest(topics=None), 8, MetadataResponse)
        return answer, running.port
    finally:
        await running.stop()


async def test_clients_are_told_the_address_that_they_connected_to() -> None:
    answer, port = await metadata(Settings(topics={"orders": 6}))
    (broker,) = answer.brokers
    assert (broker.host, broker.port) == ("127.0.0.1", port)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("orders", 6)]


async def test_an_advertised_host_is_told_instead() -> None:
    answer, port = await metadata(Settings(advertised_host="kafka.test"))
    assert (answer.brokers[0].host, answer.brokers[0].port) == ("kafka.test", port)


async def test_listening_everywhere_is_reached_by_loopback() -> None:
    running = await launch(Settings(host="0.0.0.0"))
    assert running.bootstrap_servers == f"127.0.0.1:{running.port}"
    await running.stop()


@pytest.mark.parametrize(
    "settings",
    [Settings(config={"no.such.key": "1"}), Settings(topics={"a.b": 1, "a_b": 1})],
)
async def test_a_bad_config_or_topic_is_refused_before_anything_listens(
    settings: Settings,
) -> None:
    with pytest.raises(ConfigError):
        await launch(settings)


def test_the_loop_is_uvloops_where_it_is_installed() -> None:
    loop = new_event_loop()
    try:
        assert type(loop).__module__.startswith("uvloop")
    finally:
        loop.close()


def test_without_uvloop_the_standard_loop_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvloop", None)
    loop = new_event_loop()
    try:
        assert isinstance(loop, asyncio.SelectorEventLoop)
        answer, _ = loop.run_until_complete(metadata(Settings(topics={"plain": 1})))
    finally:
        loop.close()
    assert answer.topics[0].name == "plain"


_START = """
import asyncio, sys
from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from mockbroker.server.values import SettingsError

async def start():
    running = await launch(Settings(port=0, brokers=int(sys.argv[1]), topics={"t": 1}))
    print(*sys.modules)
    await running.stop()

asyncio.run(start())
"""


@pytest.mark.parametrize("brokers", [1, 3])
def test_a_start_imports_what_it_needs_and_no_more(brokers: int) -> None:
    """Brokers that follow each other fetch at once; all else comes with its first use."""
    done = subprocess.run(
        [sys.executable, "-c", _START, str(brokers)], capture_output=True, text=True, check=True
    )
    imported = done.stdout.split()
    messages = {each for each in imported if each.startswith("mockbroker_protocol.messages.")}
    handlers = {each for each in imported if re.fullmatch(r"mockbroker\.apis\.[a-z_]+", each)}
    fetch = "mockbroker_protocol.messages.fetch"
    assert messages == {fetch, f"{fetch}_classes", f"{fetch}_parts"}
    assert handlers <= {
        "mockbroker.apis.context",
        "mockbroker.apis.fetch",
        "mockbroker.apis.registry",
    }
    unwanted = {
        "encodings.idna",
        "structlog",
        "cramjam",
        "json",
        "mockbroker_protocol.plan",
    }
    if sys.version_info < (3, 14):  # its logging imports them
        unwanted.add("dataclasses")
    assert not unwanted & set(imported)
    assert ("mockbroker.cluster.peers" in imported) == (brokers > 1)


async def test_actions_on_the_cluster_are_done_once_it_runs() -> None:
    running = await launch(
        Settings(brokers=3, cluster_actions=[{"action": "kill", "node_id": 2}], topics={"t": 1})
    )
    try:
        assert [one.services.broker_id for one in running.cluster.brokers] == [1, 3]
        for node, (host, port) in enumerate(running.addresses, 1):
            if node != 2:
                async with await RawConnection.open(f"{host}:{port}") as client:
                    answer = await client.call(MetadataRequest(topics=[]), 8, MetadataResponse)
                assert len(answer.brokers) == 2
    finally:
        await running.stop()


async def test_an_action_that_cannot_be_done_ends_the_start() -> None:
    actions = [{"action": "kill", "node_id": 9}]
    with pytest.raises(SettingsError, match="cluster_actions: kill: there is no broker 9"):
        await launch(Settings(brokers=3, cluster_actions=actions))


async def test_certificates_that_cannot_be_used_name_the_config_as_it_was_written() -> None:
    settings = Settings({"config": "--set"}, listeners=["A://:0", "SSL://:0"])
    with pytest.raises(SettingsError, match=r"^--set ssl\.keystore\.location: a listener with TLS"):
        await launch(settings)
    own = {"listener.name.ssl.ssl.keystore.type": "BKS"}
    settings = Settings(listeners=["SSL://:0"], config=own)
    named = r"^config listener\.name\.ssl\.ssl\.keystore\.type: BKS is unknown"
    with pytest.raises(SettingsError, match=named):
        await launch(settings)


def test_the_journal_tells_no_secrets(tmp_path: Path) -> None:
    config = {"ssl.keystore.password": "open sesame", "num.partitions": "2"}

    async def run() -> None:
        await (await launch(Settings(config=config, journal=tmp_path))).stop()

    asyncio.run(run())
    text = "".join(file.read_text() for file in tmp_path.iterdir())
    assert "open sesame" not in text
    assert '"ssl.keystore.password":"[hidden]","num.partitions":"2"' in text
