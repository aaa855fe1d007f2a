"""Certificates for tests: two authorities, a server, and clients right, foreign and expired."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.server.certificates import Authority, Certificate

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("localhost", "127.0.0.1")


_authorities: dict[str, Authority] = {}


def authority(name: str = "") -> Authority:
    """One for all tests; another by another name."""
    return _authorities.setdefault(name, Authority(datetime.now(UTC)))


@cache
def server(valid_days: int = 30) -> Certificate:
    """Of a server on this machine."""
    return authority().issue("localhost", NAMES, timedelta(days=valid_days))


@cache
def client(name: str = "alice", authority_name: str = "", valid_days: int = 30) -> Certificate:
    return authority(authority_name).issue(name, (), timedelta(days=valid_days))


def configs(certificate: Certificate | None = None, **more: str) -> dict[str, str]:
    """Broker configs of a listener with TLS, inline; `client_auth="required"` asks for more."""
    shown = certificate or server()
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": shown.certificate,
        "ssl.keystore.key": shown.key,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority().certificate,
        **{f"ssl.{name.replace('_', '.')}": value for name, value in more.items()},
    }


def context(folder: Path, shown: Certificate | None = None, trusted: str = "") -> ssl.SSLContext:
    """What a client connects with."""
    made = ssl.create_default_context(cadata=authority(trusted).certificate)
    if shown is not None:
        file = folder / "client.pem"
        file.write_text(shown.key + shown.certificate)
        made.load_cert_chain(file)
    return made
