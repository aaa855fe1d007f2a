"""TLS and SASL of the driver's own connections, from the settings that Spark's Kafka client has.

`broker_client` asks `Login` for each connection. Names and values are those of Kafka's Java client
(`security.protocol`, `ssl.truststore.location`, `sasl.jaas.config`); what this client cannot do,
though Java's can, is refused in one line. Mechanisms are PLAIN and SCRAM (RFC 5802).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_MECHANISMS: Final = ("PLAIN", *_HASHES)
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[^\s;"\']+)')
_ESCAPED: Final = re.compile(r"\\(.)")


class Login:
    """How a connection is made secure. Raises PipelineError for settings that cannot be used."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._conf = conf
        protocol = conf.get("security.protocol", "PLAINTEXT").upper()
        if protocol not in _PROTOCOLS:
            raise _refused("security.protocol", protocol, _PROTOCOLS)
        self.mechanism: str | None = None
        """None: nobody logs in."""
        self._user = self._password = ""
        if protocol.startswith("SASL"):
            self._read_login()
        self._context = self._make_context() if protocol.endswith("SSL") else None

    def _read_login(self) -> None:
        mechanism = self._conf.get("sasl.mechanism", "GSSAPI")
        if mechanism not in _MECHANISMS:
            raise _refused("sasl.mechanism", mechanism, _MECHANISMS)
        options = {
            key: _ESCAPED.sub(r"\1", text[1:-1]) if text[0] in "\"'" else text
            for key, text in _JAAS_OPTION.findall(self._conf.get("sasl.jaas.config", ""))
        }
        if not {"username", "password"} <= options.keys():
            raise PipelineError("--kafka: sasl.jaas.config has no username and password")
        self.mechanism = mechanism
        self._user, self._password = options["username"], options["password"]

    def _make_context(self) -> ssl.SSLContext:
        conf = self._conf
        for store in ("ssl.truststore", "ssl.keystore"):
            kind = conf.get(f"{store}.type", "JKS").upper()
            if kind != "PEM" and f"{store}.location" in conf:
                raise _refused(f"{store}.type", kind, ["PEM"])
        key = "ssl.truststore.location"
        try:
            context = ssl.create_default_context(
                cafile=conf.get(key), cadata=conf.get("ssl.truststore.certificates")
            )
            key = "ssl.keystore.location"
            if key in conf:
                context.load_cert_chain(conf[key], password=conf.get("ssl.key.password", ""))
            elif "ssl.keystore.key" in conf:
                key = "ssl.keystore.key"
                _load_texts(context, conf)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise PipelineError(f"--kafka: {key} cannot be used: {error}") from None
        algorithm = conf.get("ssl.endpoint.identification.algorithm", "https")
        context.check_hostname = bool(algorithm.strip())
        return context

    def secure(self, connection: socket.socket, host: str) -> socket.socket:
        """The connection with TLS, if that is wanted. Raises OSError."""
        if self._context is None:
            return connection
        try:
            return self._context.wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise

    def prove(self, send: Callable[[bytes], bytes]) -> None:
        """Log in; `send` hands a token to the broker and returns its. Raises PipelineError."""
        if self.mechanism == "PLAIN":
            send(f"\0{self._user}\0{self._password}".encode())
        elif self.mechanism is not None:
            self._prove_by_scram(_HASHES[self.mechanism], send)

    def _prove_by_scram(self, digest: str, send: Callable[[bytes], bytes]) -> None:
        def keyed(key: bytes, data: bytes) -> bytes:
            return hmac.digest(key, data, digest)

        nonce = secrets.token_urlsafe(24)
        first = f"n={self._user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        told = send(f"n,,{first}".encode())
        try:
            parts = dict(part.split("=", 1) for part in told.decode().split(","))
            salt, rounds = base64.b64decode(parts["s"]), int(parts["i"])
            salted = hashlib.pbkdf2_hmac(digest, self._password.encode(), salt, rounds)
            if not parts["r"].startswith(nonce):
                raise ValueError
        except (ValueError, KeyError):
            raise PipelineError("the broker's first message of SCRAM cannot be read") from None
        unproved = f"c=biws,r={parts['r']}"
        said = f"{first},{told.decode()},{unproved}".encode()
        client_key = keyed(salted, b"Client Key")
        signature = keyed(hashlib.new(digest, client_key).digest(), said)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        answer = send(f"{unproved},p={base64.b64encode(proof).decode()}".encode())
        expected = b"v=" + base64.b64encode(keyed(keyed(salted, b"Server Key"), said))
        if not hmac.compare_digest(answer, expected):
            raise PipelineError("the broker does not know the password that it was asked about")


def _load_texts(context: ssl.SSLContext, conf: Mapping[str, str]) -> None:
    """A key and certificates that stand in the settings: OpenSSL reads files alone."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{conf['ssl.keystore.key']}\n")
            file.write(conf.get("ssl.keystore.certificate.chain", ""))
        context.load_cert_chain(name, password=conf.get("ssl.key.password", ""))
    finally:
        Path(name).unlink()


def _refused(key: str, value: str, allowed: tuple[str, ...] | list[str]) -> PipelineError:
    return PipelineError(f"--kafka: {key}={value} is not spoken; allowed: {', '.join(allowed)}")
