"""`mockbroker healthcheck`: whether clients may use the broker, for containers.

With an admin API it asks /health/ready; else it sends ApiVersions to the Kafka listener, as a
client would, and so needs no port more than the broker itself.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Final

from mockbroker.admin.client import AdminApiError, AdminClient
from mockbroker.cli.errors import CommandError
from mockbroker.server.listeners import ListenerError, client_entries, parse_addresses
from mockbroker.server.values import SettingsError, parse_flag

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS: Final = 5.0
_CLIENT_ID: Final = b"healthcheck"
_API_VERSIONS: Final = 18
_CORRELATION_ID: Final = 7
_EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 -- looked up, not bound


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
            ask_listener(bootstrap or own_address(environment))
    except (AdminApiError, CommandError) as error:
        raise CommandError(str(error), 1) from None
    return 0


def own_address(environment: Mapping[str, str]) -> str:
    """HOST:PORT of the first listener for clients, going by the variables it was started with.

    Raises CommandError when one of them cannot be used.
    """
    host, port = "", (environment.get("MOCKBROKER_PORT") or "9092").partition(",")[0].strip()
    entries = environment.get("MOCKBROKER_LISTENER") or ""
    try:
        if entries:
            first = parse_addresses(entries.split(","))[0]
            host, port = first.host, str(first.port)
        elif parse_flag("MOCKBROKER_KAFKA_ENV", environment.get("MOCKBROKER_KAFKA_ENV") or "no"):
            from mockbroker.server.kafka_environment import translate

            configs = {key: text for _, key, text in translate(environment).configs}
            addresses = parse_addresses(client_entries(configs, "listeners"))
            if addresses:
                host, port = addresses[0].host, str(addresses[0].port)
    except (ListenerError, SettingsError) as error:
        raise CommandError(str(error)) from None
    if host in _EVERYWHERE:
        host = "127.0.0.1"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def ask_listener(bootstrap: str) -> None:
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
