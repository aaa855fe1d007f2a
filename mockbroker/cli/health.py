"""`mockbroker healthcheck`: whether clients may use the broker, for containers.

With an admin API it asks /health/ready; else it sends ApiVersions to the Kafka listener, as a
client would, and so needs no port more than the broker itself.
"""

from __future__ import annotations

import socket
import ssl
import struct
from typing import TYPE_CHECKING, Final

from mockbroker.admin.client import AdminApiError, AdminClient
from mockbroker.cli.errors import CommandError
from mockbroker.config.security_protocol import PROTOCOL_MAP
from mockbroker.server.listeners import (
    ListenerError,
    client_entries,
    make_listeners,
    parse_addresses,
    secure,
)
from mockbroker.server.values import SettingsError, parse_configs, parse_flag

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS: Final = 5.0
_CLIENT_ID: Final = b"healthcheck"
_API_VERSIONS: Final = 18
_CORRELATION_ID: Final = 7
_ANSWER_BYTES: Final = 10
_EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 -- looked up, not bound


def check(
    bootstrap: str | None, url: str | None, token: str | None, environment: Mapping[str, str]
) -> int:
    """0, or CommandError with status 1 and the reason."""
    port = environment.get("MOCKBROKER_ADMIN_PORT")
    if url is None and bootstrap is None and port and port != "0":
        url = f"{_admin_scheme(environment)}://127.0.0.1:{port}"
    try:
        if url is not None and bootstrap is None:
            # No token goes to whoever answers: this path needs none.
            is_secure = url.startswith("https:")
            AdminClient(url, None if is_secure else token, _trusting()).get("/health/ready")
        else:
            address, has_tls = (bootstrap, None) if bootstrap else own_address(environment)
            ask_listener(address, has_tls=has_tls)
    except (AdminApiError, CommandError) as error:
        raise CommandError(str(error), 1) from None
    return 0


def _admin_scheme(environment: Mapping[str, str]) -> str:
    variable = "MOCKBROKER_ADMIN_TLS"
    is_secure = variable in environment and parse_flag(variable, environment[variable])
    return "https" if is_secure else "http"


def _trusting() -> ssl.SSLContext:
    """For who asks whether a broker serves, and tells it nothing: any certificate will do."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def own_address(environment: Mapping[str, str]) -> tuple[str, bool]:
    """HOST:PORT of the first listener for clients, going by the variables it was started with.

    And whether it has TLS. Raises CommandError when one of them cannot be used.
    """
    host, port = "", (environment.get("MOCKBROKER_PORT") or "9092").partition(",")[0].strip()
    entries = (environment.get("MOCKBROKER_LISTENER") or "").split(",")
    has_tls = bool(environment.get("MOCKBROKER_TLS"))
    try:
        configs = parse_configs("MOCKBROKER_SET", environment.get("MOCKBROKER_SET") or "")
        if parse_flag("MOCKBROKER_KAFKA_ENV", environment.get("MOCKBROKER_KAFKA_ENV") or "no"):
            from mockbroker.server.kafka_environment import translate

            configs |= {key: text for _, key, text in translate(environment).configs}
        addresses = parse_addresses(filter(None, entries))
        addresses = addresses or parse_addresses(client_entries(configs, "listeners"))
        if addresses:
            first = addresses[0]
            host, port = first.host, str(first.port)
            (listener,) = make_listeners([first], default_host="", advertised_host=None, brokers=1)
            secure([listener], configs.get(PROTOCOL_MAP))
            has_tls = listener.protocol.has_tls
    except (ListenerError, SettingsError) as error:
        raise CommandError(str(error)) from None
    if host in _EVERYWHERE:
        host = "127.0.0.1"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", has_tls


def ask_listener(bootstrap: str, *, has_tls: bool | None = None) -> None:
    """Send ApiVersions v0 and see that an answer without an error comes; None: find out."""
    host, _, port = bootstrap.rpartition(":")
    if not host or not port.isdecimal():
        raise CommandError(f"--bootstrap: {bootstrap!r} is no address; allowed: HOST:PORT")
    address = (host.strip("[]"), int(port))
    try:
        answer = b"" if has_tls else _ask(address, secured=False)
        if has_tls or (has_tls is None and len(answer) < _ANSWER_BYTES):
            answer = _ask(address, secured=True)
    except ssl.SSLError as error:
        if "ALERT" in str(error.reason):  # it wants to see a certificate: it is there
            return
        raise CommandError(f"{bootstrap} does not speak Kafka's protocol") from None
    except (OSError, OverflowError) as error:
        raise CommandError(f"{bootstrap} does not answer: {error}") from None
    if len(answer) < _ANSWER_BYTES or struct.unpack(">iih", answer)[1:] != (_CORRELATION_ID, 0):
        raise CommandError(f"{bootstrap} does not speak Kafka's protocol")


def _ask(address: tuple[str, int], *, secured: bool) -> bytes:
    """The start of the answer; fewer bytes when the other end hangs up."""
    header = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION_ID, len(_CLIENT_ID)) + _CLIENT_ID
    sock = socket.create_connection(address, TIMEOUT_SECONDS)
    if secured:
        # Whether it lives is asked, not who it is.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sock = context.wrap_socket(sock)  # of which it closes the first if it fails
    with sock, sock.makefile("rb") as stream:
        sock.sendall(struct.pack(">i", len(header)) + header)
        return stream.read(_ANSWER_BYTES)
