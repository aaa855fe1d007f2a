"""Certificates that a broker makes when it starts: for whom, and what becomes of them."""

from __future__ import annotations

import os
import ssl
import sys
from pathlib import Path

import pytest

from mockbroker.server.launch import RunningBroker, launch
from mockbroker.server.settings import Settings
from mockbroker.server.values import SettingsError
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.sockets import RawConnection

pytest.importorskip("cryptography", reason="the extra tls is not installed")


def trusting(running: RunningBroker, client: str | None = None) -> ssl.SSLContext:
    """What a client connects with that was given the files."""
    assert running.tls is not None
    context = ssl.create_default_context(cafile=running.tls.ca_file)
    if client is not None:
        context.load_cert_chain(running.tls.client_file(client))
    return context


async def ask(address: str, context: ssl.SSLContext) -> None:
    async with await RawConnection.open(address, tls=context) as client:
        await client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


async def test_the_listener_at_the_port_has_tls_and_is_named_so() -> None:
    running = await launch(Settings(tls="auto"))
    try:
        assert list(running.listeners) == ["SSL"]
        await ask(f"localhost:{running.port}", trusting(running))
        await ask(running.bootstrap_servers, trusting(running))
        config = running.cluster.nodes[0].config
        assert config.text("listeners") == f"SSL://127.0.0.1:{running.port}"
    finally:
        await running.stop()


async def test_clients_show_who_they_are() -> None:
    config = {"ssl.client.auth": "required"}
    running = await launch(Settings(tls="auto", tls_clients=["alice"], config=config))
    try:
        for name in ("alice", "bob@shop"):
            opened: list[str] = []
            context = trusting(running, name)
            async with await RawConnection.open(running.bootstrap_servers, tls=context) as client:
                await client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
                opened += [conn.principal for conn in running.cluster.brokers[0].connections()]
            assert opened == [f"User:CN={name}"]
        assert running.tls is not None
        assert list(running.tls.clients) == ["alice", "bob@shop"]
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await ask(running.bootstrap_servers, trusting(running))
    finally:
        await running.stop()


async def test_listeners_with_tls_alone_have_it_each_broker_of_them() -> None:
    running = await launch(Settings(tls="auto", listeners=["A://:0", "SSL://:0"], brokers=2))
    try:
        for address in running.bootstrap_by_listener["SSL"].split(","):
            await ask(address, trusting(running))
        async with await RawConnection.open(
            running.bootstrap_by_listener["A"].split(",")[0]
        ) as one:
            await one.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    finally:
        await running.stop()


def names_of(running: RunningBroker) -> set[str]:
    x509 = pytest.importorskip("cryptography.x509")
    assert running.tls is not None
    data = Path(running.tls.folder, "server.pem").read_bytes()
    found = x509.load_pem_x509_certificate(data)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


async def test_it_is_for_the_names_asked_for_and_those_that_are_advertised() -> None:
    settings = Settings(
        tls="auto",
        tls_names=["kafka.test", "10.0.0.7"],
        listeners=["SSL://0.0.0.0:0"],
        advertised_listeners=["SSL://broker:9092"],
    )
    running = await launch(settings)
    here = {"localhost", "127.0.0.1", "::1"}
    assert names_of(running) == here | {"kafka.test", "10.0.0.7", "broker"}
    await running.stop()


async def test_a_folder_of_its_own_goes_with_the_broker_and_a_named_one_stays(
    tmp_path: Path,
) -> None:
    running = await launch(Settings(tls="auto"))
    assert running.tls is not None
    assert running.tls.folder.exists()
    assert (running.tls.folder / "server.pem").stat().st_mode & 0o777 == 0o600
    await running.stop()
    assert not running.tls.folder.exists()
    named = tmp_path / "certificates"
    await (await launch(Settings(tls="auto", tls_dir=named))).stop()
    assert {file.name for file in named.iterdir()} == {"ca.pem", "server.pem", "client.pem"}


async def test_a_start_that_fails_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SettingsError, match="TLSv9 is unknown"):
        await launch(Settings(tls="auto", config={"ssl.enabled.protocols": "TLSv9"}))
    assert os.listdir(tmp_path) == []  # noqa: PTH208 -- of a coroutine


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (lambda: Settings(tls="on"), "^tls: 'on' is unknown; allowed: auto"),
        (
            lambda: Settings(tls="auto", listeners=["A://:0"]),
            "^tls: no listener has TLS; allowed: --listener SSL://HOST:PORT",
        ),
        (
            lambda: Settings(tls="auto", config={"ssl.keystore.type": "PEM"}),
            r"^tls: not beside ssl\.keystore\.type",
        ),
    ],
)
def test_what_does_not_go_together_is_told(settings: object, message: str) -> None:
    assert callable(settings)
    with pytest.raises(SettingsError, match=message):
        settings()


@pytest.mark.parametrize("name", ["", "../x", "a b", "ca", "server"])
async def test_a_name_that_is_no_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SettingsError, match=r"^tls_clients: "):
        await launch(Settings(tls="auto", tls_clients=[name]))
    assert os.listdir(tmp_path) == []  # noqa: PTH208 -- of a coroutine


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SettingsError, match=r"^tls_dir: .*file: .*; allowed: a writable folder"):
        await launch(Settings(tls="auto", tls_dir=file))


async def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mockbroker.server.certificates", None)
    with pytest.raises(SettingsError, match=r"^tls: .* extra tls; allowed: pip install .*\[tls\]"):
        await launch(Settings(tls="auto"))
