"""`mockbroker healthcheck`: whether clients may use the broker, for containers.

With an admin API it asks /health/ready; else it sends ApiVersions to the Kafka listener, as a
client would, and so needs no port more than the broker itself.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Final

from mockbroker.commands.client import AdminClient, CommandError

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS: Final = 5.0
_CLIENT_ID: Final = b"healthcheck"
_API_VERSIONS: Final = 18
_CORRELATION_ID: Final = 7


def check(
    bootstrap: str | None, url: str | None, token: str | None, environment: Mapping[str, str]
) -> int:
    """0, or CommandError with status 1 and the reason."""
    port = environment.get("MOCKBROKER_ADMIN_PORT")
    if url is None and bootstrap is None and port and port != "0":
        url = f"http://127.0.0.1:{port}"
    try:
        if url is not None and bootstrap is None:
            AdminClient(url, token).get("/health/ready")
        else:
            default = f"127.0.0.1:{environment.get('MOCKBROKER_PORT') or 9092}"
            _ask_listener(bootstrap or default)
    except CommandError as error:
        raise CommandError(str(error), 1) from None
    return 0


def _ask_listener(bootstrap: str) -> None:
    """Send ApiVersions v0 and see that an answer without an error comes."""
    host, _, port = bootstrap.rpartition(":")
    if not host or not port.isdecimal():
        raise CommandError(f"--bootstrap: {bootstrap!r} is no address; allowed: HOST:PORT")
    header = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION_ID, len(_CLIENT_ID)) + _CLIENT_ID
    try:
        address = (host.strip("[]"), int(port))
        with socket.create_connection(address, TIMEOUT_SECONDS) as sock:
            sock.sendall(struct.pack(">i", len(header)) + header)
            stream = sock.makefile("rb")
            answer = stream.read(10)
    except (OSError, OverflowError) as error:
        raise CommandError(f"{bootstrap} does not answer: {error}") from None
    if len(answer) < 10 or struct.unpack(">iih", answer)[1:] != (_CORRELATION_ID, 0):
        raise CommandError(f"{bootstrap} does not speak Kafka's protocol")
