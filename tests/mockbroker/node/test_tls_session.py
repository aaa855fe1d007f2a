"""What a broker is told of a handshake."""

from __future__ import annotations

from mockbroker.node.tls_session import TlsSession


def test_a_client_without_a_certificate_is_nobody() -> None:
    session = TlsSession("TLSv1.3", "TLS_AES_128_GCM_SHA256")
    assert session.principal == "User:ANONYMOUS"
