"""Certificates that are made here: another library takes them for what they say."""

from __future__ import annotations

import ssl
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.support.certificates import authority, client, context, server

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.server.certificates import Certificate


def shake(server_side: ssl.SSLContext, client_side: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """The server's end after a handshake in memory; raises what either end raises."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server_side.wrap_bio(to_server, to_client, server_side=True)
    theirs = client_side.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(3):
        for end in (theirs, ours):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
    assert theirs.version()
    return ours


def serving(folder: Path, shown: Certificate) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    file = folder / "server.pem"
    file.write_text(shown.key + shown.certificate)
    made.load_cert_chain(file)
    made.load_verify_locations(cadata=authority().certificate)
    made.verify_mode = ssl.CERT_REQUIRED
    return made


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_both_ends_trust_what_one_authority_signed(tmp_path: Path, name: str) -> None:
    ours = shake(serving(tmp_path, server()), context(tmp_path, client()), name)
    assert ours.getpeercert()["subject"] == ((("commonName", "alice"),),)  # type: ignore[index]


def test_a_name_that_was_not_asked_for_is_not_the_servers(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake(serving(tmp_path, server()), context(tmp_path, client()), "kafka.test")


def test_one_that_has_expired_is_told(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake(serving(tmp_path, server(-2)), context(tmp_path, client()), "localhost")


def test_a_client_has_no_servers_certificate(tmp_path: Path) -> None:
    alone = authority().issue("localhost", (), timedelta(days=1))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"purpose|mismatch"):
        shake(serving(tmp_path, alone), context(tmp_path, client()), "localhost")
