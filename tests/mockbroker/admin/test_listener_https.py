"""The admin API over HTTPS."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest

from mockbroker import AdminApiError, MockBroker
from mockbroker.admin.client import AdminClient
from mockbroker.cli.health import check
from mockbroker.server.values import SettingsError
from mockbroker.testing.remote.process import BrokerProcess
from mockbroker_protocol.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from pathlib import Path
    from ssl import SSLContext

pytest.importorskip("cryptography", reason="the extra tls is not installed")
TOKEN = "correct-horse"


def test_it_is_trusted_by_who_has_the_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockBroker(tls="auto", admin_port=0, admin_tls=True, admin_token=TOKEN) as broker:
        url = broker.admin_url or ""
        assert url.startswith("https://127.0.0.1:")
        remote = MockBroker.connect(url, token=TOKEN, ca_file=broker.ca_file)
        remote.topic("orders").put("one")
        assert broker.topics() == remote.topics() == ["orders"]
        assert remote.client_config("java")["bootstrap.servers"] == broker.bootstrap_servers
        with pytest.raises(AdminApiError, match="certificate verify failed"):
            MockBroker.connect(url, token=TOKEN)
        with pytest.raises(AdminApiError, match="does not answer"):
            MockBroker.connect(url.replace("https", "http"), token=TOKEN)
        with pytest.raises(AdminApiError, match="Bearer TOKEN is missing"):
            MockBroker.connect(url, ca_file=broker.ca_file)
        monkeypatch.setenv("SSL_CERT_FILE", broker.ca_file)
        assert MockBroker.connect(url, token=TOKEN).topics() == ["orders"]


def test_a_health_check_knows_it_by_the_variables() -> None:
    with MockBroker(tls="auto", admin_port=0, admin_tls=True) as broker:
        port = (broker.admin_url or "").rpartition(":")[2]
        variables = {"MOCKBROKER_ADMIN_PORT": port, "MOCKBROKER_ADMIN_TLS": "true"}
        assert check(None, None, None, variables) == 0


def test_a_health_check_gives_its_token_to_nobody_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    class Recorder(AdminClient):
        def __init__(self, url: str, token: str | None, tls: SSLContext | None = None) -> None:
            given.append(token)
            super().__init__(url, token, tls)

    monkeypatch.setattr("mockbroker.cli.health.AdminClient", Recorder)
    with MockBroker(tls="auto", admin_port=0, admin_tls=True, admin_token=TOKEN) as broker:
        assert check(None, broker.admin_url, TOKEN, {}) == 0
    assert given == [None]


def test_a_listener_in_plain_text_beside_it() -> None:
    with BrokerProcess(tls="auto", listeners=["PLAINTEXT://:0"], admin_tls=True) as broker:
        assert broker.client_config("confluent")["security.protocol"] == "PLAINTEXT"


def test_its_stores_may_be_its_own(tmp_path: Path) -> None:
    with MockBroker(tls="auto", tls_dir=tmp_path):
        pass
    config = {
        "listener.name.admin.ssl.keystore.type": "PEM",
        "listener.name.admin.ssl.keystore.location": str(tmp_path / "server.pem"),
    }
    with MockBroker(admin_port=0, admin_tls=True, config=config) as broker:
        remote = MockBroker.connect(broker.admin_url or "", ca_file=str(tmp_path / "ca.pem"))
        assert remote.cluster_id == broker.cluster_id
    missing = {**config, "listener.name.admin.ssl.keystore.location": "/nowhere.pem"}
    with pytest.raises(SettingsError, match=r"listener\.name\.admin\.ssl\.keystore\.location"):
        MockBroker(admin_port=0, admin_tls=True, config=missing).start()


async def alter_broker(address: str, key: str, value: str) -> int:
    """Set a config of broker 1; the error."""
    config = IncrementalAlterableConfig(key, 0, value)
    resource = IncrementalAlterConfigsResource(4, "1", [config])
    async with await RawConnection.open(address) as connection:
        request = IncrementalAlterConfigsRequest([resource])
        answer = await connection.call(request, 1, IncrementalAlterConfigsResponse)
    return answer.responses[0].error_code


def test_its_certificate_is_exchanged_while_it_runs(tmp_path: Path) -> None:
    """By what exchanges that of a listener; whoever comes then is shown the new one."""
    for name in ("old", "new"):
        with MockBroker(tls="auto", tls_dir=tmp_path / name):
            pass
    shown = tmp_path / "server.pem"
    shutil.copy(tmp_path / "old" / "server.pem", shown)
    key = "listener.name.admin.ssl.keystore.location"
    config = {"listener.name.admin.ssl.keystore.type": "PEM", key: str(shown)}
    with MockBroker(admin_port=0, admin_tls=True, config=config) as broker:
        url = broker.admin_url or ""
        assert MockBroker.connect(url, ca_file=str(tmp_path / "old" / "ca.pem")).topics() == []
        shutil.copy(tmp_path / "new" / "server.pem", shown)
        assert asyncio.run(alter_broker(broker.bootstrap_servers, key, str(shown))) == 0
        assert MockBroker.connect(url, ca_file=str(tmp_path / "new" / "ca.pem")).topics() == []
        with pytest.raises(AdminApiError, match="certificate verify failed"):
            MockBroker.connect(url, ca_file=str(tmp_path / "old" / "ca.pem"))
