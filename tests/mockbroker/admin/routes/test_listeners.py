"""Listeners and certificates over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockbroker import MockBroker
from tests.mockbroker.admin.conftest import Api


def test_listeners_are_told_in_their_order() -> None:
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    config = {"ssl.client.auth": "required"}
    listeners = ["A://:0", "SSL://:0"]
    with MockBroker(tls="auto", listeners=listeners, config=config, admin_port=0) as broker:
        api = Api(broker)
        plain, secured = api("GET", "/v1/listeners").body["listeners"]
        assert plain == {
            "name": "A",
            "protocol": "PLAINTEXT",
            "bootstrap_servers": broker.bootstrap_servers,
            "requires_certificate": True,
        }
        assert (secured["name"], secured["protocol"]) == ("SSL", "SSL")
        told = api("GET", "/v1/certificates/ca").body
        assert told == {"name": "ca", "pem": Path(broker.ca_file).read_text()}
        made = api("GET", "/v1/certificates/alice").body["pem"]
        assert made == Path(broker.client_file("alice")).read_text()
        refused = api("GET", "/v1/certificates/server")
        assert (refused.status, refused.body["field"]) == (422, "name")


def test_without_certificates_there_are_none(api: Api) -> None:
    answer = api("GET", "/v1/certificates/ca")
    assert answer.status == 404
    assert "--tls auto" in answer.body["detail"]
