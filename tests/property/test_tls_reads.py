"""What a client sends over TLS is decrypted by as few calls as it takes."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.config.broker import BrokerConfig
from mockbroker.network import tls_transport
from mockbroker.server.tls_listener import TlsListener
from tests.support.certificates import configs, context

if TYPE_CHECKING:
    from pathlib import Path


class CountedReads:
    """The server's end of a connection, whose reads are counted."""

    def __init__(self, connection: ssl.SSLObject) -> None:
        self._connection = connection
        self.reads = 0

    def pending(self) -> int:
        return self._connection.pending()

    def read(self, size: int, buffer: memoryview) -> int:
        self.reads += 1
        return self._connection.read(size, buffer)  # type: ignore[return-value]


def test_what_is_there_is_decrypted_without_asking_for_more(tmp_path: Path) -> None:
    listener = TlsListener(BrokerConfig(configs()), "SSL", logs_in=False)
    transport = tls_transport.TlsTransport(None, 1, "SSL", listener)  # type: ignore[arg-type]
    theirs = context(tmp_path).wrap_bio(
        transport._outgoing, transport._incoming, server_hostname="localhost"
    )
    ours = transport._connection
    for _ in range(3):
        for end in (theirs, ours):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
    counted = CountedReads(ours)
    transport._connection = counted  # type: ignore[assignment]
    room = memoryview(bytearray(100_000))
    for sizes, room_bytes, found, reads in (
        ([100], 100_000, (100, False), 1),
        ([100, 200], 100_000, (300, False), 2),
        ([40_000], 100_000, (40_000, False), 3),  # in records of 16 KiB
        ([300], 100, (100, True), 1),
        ([], 1000, (200, False), 1),
        ([], 1000, (0, False), 1),
    ):
        for size in sizes:
            theirs.write(bytes(size))
        counted.reads = 0
        assert transport._decrypt(room[:room_bytes]) == found
        assert counted.reads == reads
    theirs.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        theirs.unwrap()
    assert transport._decrypt(room) == (4, False)
    assert transport._has_ended
