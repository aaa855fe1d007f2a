"""What a TLS handshake came to: who the client is by its certificate, and how it is encrypted.

The shell makes one when it has shaken hands and gives it to `node.broker` as the connection opens
(Kafka: SslTransportLayer.peerPrincipal, ChannelMetadataRegistry).
"""

from __future__ import annotations

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"


class TlsSession:
    """Of one connection.

    `version` and `cipher` are named as Java names them, TLSv1.3 and TLS_AES_256_GCM_SHA384;
    `principal` is ANONYMOUS for a client without a certificate; `fault` is the id of the rule that
    had another certificate shown.
    """

    __slots__ = ("cipher", "fault", "principal", "version")

    def __init__(
        self, version: str, cipher: str, principal: str = ANONYMOUS, fault: str | None = None
    ) -> None:
        self.fault = fault
        self.version = version
        self.cipher = cipher
        self.principal = principal
