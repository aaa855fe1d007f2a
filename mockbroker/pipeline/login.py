"""TLS and SASL of the driver's own connections, from the settings that Spark's Kafka client has.

`broker_client` asks `Login` for each connection. Names and values are those of Kafka's Java client
(`security.protocol`, `ssl.truststore.location`, `sasl.jaas.config`); what this client cannot do,
though Java's can, is refused in one line. Mechanisms are PLAIN, SCRAM (RFC 5802), and OAUTHBEARER
(RFC 7628) with a token that is unsecured or stands in a file. Stores are PEM, and PKCS12 where the
library cryptography is there.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import ssl
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_BEARER: Final = "OAUTHBEARER"
_MECHANISMS: Final = ("PLAIN", *_HASHES, _BEARER)
_STORES: Final = ("PEM", "PKCS12")
_TOKEN_SECONDS: Final = 3600
"""How long Kafka's unsecured tokens last, unless the settings say otherwise."""
_CLAIM: Final = re.compile(r"unsecuredLogin(String|Number|List)Claim_(.+)")
_HANDLER: Final = "sasl.login.callback.handler.class"
_UNSIGNED: Final = {"alg": "none"}
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
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
        self._user = self._password = self._token = ""
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
        self.mechanism = mechanism
        if mechanism == _BEARER:
            self._token = _token_of(self._conf, options)
            return
        if not {"username", "password"} <= options.keys():
            raise PipelineError("--kafka: sasl.jaas.config has no username and password")
        self._user, self._password = options["username"], options["password"]

    def _make_context(self) -> ssl.SSLContext:
        conf = self._conf
        for store in ("ssl.truststore", "ssl.keystore"):
            kind = conf.get(f"{store}.type", "JKS").upper()
            if kind not in _STORES and f"{store}.location" in conf:
                raise PipelineError(
                    f"{_refused(f'{store}.type', kind, _STORES)}; keytool -importkeystore"
                    " -deststoretype PKCS12 makes one of those of a JKS"
                )
        key = "ssl.truststore.location"
        try:
            if conf.get("ssl.truststore.type", "").upper() == _STORES[1] and key in conf:
                context = ssl.create_default_context(cadata=_pkcs12(conf, "ssl.truststore")[1])
            else:
                context = ssl.create_default_context(
                    cafile=conf.get(key), cadata=conf.get("ssl.truststore.certificates")
                )
            key = "ssl.keystore.location"
            if key in conf and conf["ssl.keystore.type"].upper() == _STORES[1]:
                private, chain = _pkcs12(conf, "ssl.keystore")
                _load_texts(context, private, chain, "")
            elif key in conf:
                context.load_cert_chain(conf[key], password=conf.get("ssl.key.password", ""))
            elif "ssl.keystore.key" in conf:
                key = "ssl.keystore.key"
                chain = conf.get("ssl.keystore.certificate.chain", "")
                _load_texts(context, conf[key], chain, conf.get("ssl.key.password", ""))
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
        elif self.mechanism == _BEARER:
            told = send(f"n,,\1auth=Bearer {self._token}\1\1".encode())
            if told:
                # The broker waits for this before it ends a login that failed.
                with suppress(PipelineError):
                    send(b"\1")
                raise PipelineError(f"the token of {_BEARER} was refused: {told.decode()}")
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


def _token_of(conf: Mapping[str, str], options: Mapping[str, str]) -> str:
    """The token that Kafka's login would show: from a file, or made without a signature.

    `options` are those of the login module. A token is read once: this client is gone in seconds.
    """
    handler = conf.get(_HANDLER, "").rpartition(".")[2]
    url = conf.get(_ENDPOINT, "")
    if url:
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise PipelineError(
                f"--kafka: {_ENDPOINT}={url} is not asked: put a token in a file and name it by"
                " file:/PATH"
            )
        try:
            return Path(unquote(parts.path)).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise PipelineError(f"--kafka: {_ENDPOINT} cannot be read: {error}") from None
    if handler not in {"", "OAuthBearerUnsecuredLoginCallbackHandler"}:
        raise PipelineError(
            f"--kafka: {_HANDLER} {handler} is not there: name a file with a token by"
            f" {_ENDPOINT}=file:/PATH"
        )
    return _unsecured_token(options)


def _unsecured_token(options: Mapping[str, str]) -> str:
    """As OAuthBearerUnsecuredLoginCallbackHandler makes it: a JWT of the claims, unsigned."""
    claims: dict[str, object] = {}
    for name, text in options.items():
        found = _CLAIM.fullmatch(name)
        if found and found[1] == "List":
            claims[found[2]] = text[1:].split(text[0]) if text else []
        elif found:
            claims[found[2]] = text if found[1] == "String" else _number(name, text)
    principal = options.get("unsecuredLoginPrincipalClaimName", "sub")
    if not claims.get(principal):
        raise PipelineError(
            f"--kafka: sasl.jaas.config has no unsecuredLoginStringClaim_{principal}, and"
            f" {_ENDPOINT} names no file"
        )
    lifetime = options.get("unsecuredLoginLifetimeSeconds", str(_TOKEN_SECONDS))
    now = time.time()
    # A broker whose clock is a moment behind refuses what is issued later than now.
    claims = {
        "iat": int(now),
        "exp": now + _number("unsecuredLoginLifetimeSeconds", lifetime),
        **claims,
    }
    parts = (base64.urlsafe_b64encode(json.dumps(each).encode()) for each in (_UNSIGNED, claims))
    return "".join(part.decode().rstrip("=") + "." for part in parts)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PipelineError(f"--kafka: sasl.jaas.config: {name}={text} is no number") from None


def _pkcs12(conf: Mapping[str, str], store: str) -> tuple[str, str]:
    """The key and the certificates of a store, as PEM, the key's own first.

    Raises OSError and ValueError when it cannot be read.
    """
    try:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        raise PipelineError(
            f"--kafka: {store}.type=PKCS12 needs a library: pip install 'mockbroker[tls]', or PEM"
        ) from None
    password = conf.get(f"{store}.password")
    found = pkcs12.load_pkcs12(
        Path(conf[f"{store}.location"]).read_bytes(), password.encode() if password else None
    )
    certificates = [found.cert, *found.additional_certs]
    texts = [each.certificate.public_bytes(Encoding.PEM).decode() for each in certificates if each]
    if not texts:
        raise ValueError("no certificate is in it")
    if found.key is None:
        return "", "".join(texts)
    private = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private.decode(), "".join(texts)


def _load_texts(context: ssl.SSLContext, private: str, chain: str, password: str) -> None:
    """A key and certificates that stand in no file of PEM: OpenSSL reads those alone."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{private}\n{chain}")
        context.load_cert_chain(name, password=password)
    finally:
        Path(name).unlink()


def _refused(key: str, value: str, allowed: tuple[str, ...] | list[str]) -> PipelineError:
    return PipelineError(f"--kafka: {key}={value} is not spoken; allowed: {', '.join(allowed)}")
