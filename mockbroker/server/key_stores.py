"""Key and trust stores that Kafka's `ssl.*` configs name: PEM, as files or inline, and PKCS12.

`tls_listener` calls it when a listener opens and when its certificates change. PKCS12 needs
`cryptography` (the extra `tls`), imported when such a file is there; Java's own JKS is refused.
The rules of what goes together are Kafka's (DefaultSslEngineFactory).
"""

from __future__ import annotations

import re
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

PEM: Final = "PEM"
_TYPES: Final = (PEM, "PKCS12", "JKS")
_JKS_MAGIC: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----", re.ASCII
)
INSTALL: Final = "pip install 'mockbroker[tls]'"

Lookup: TypeAlias = "Callable[[str], str | None]"


class StoreError(ValueError):
    """A config of a listener's certificates that cannot be used: its key, why, what may be."""

    def __init__(self, key: str, problem: str, allowed: str, said: str = "") -> None:
        """`said`: what Apache Kafka's broker answers to a change that comes to this."""
        super().__init__(f"{key}: {problem}; allowed: {allowed}")
        self.said = said or f"{key}: {problem}"
        self.key = key
        self.problem = problem
        self.allowed = allowed


def load_key_store(context: ssl.SSLContext, text: Lookup) -> bytes:
    """Give a context the certificate of its server, and return it; `text` looks configs up.

    Raises StoreError.
    """
    location, password = text("ssl.keystore.location"), text("ssl.keystore.password")
    chain, key = text("ssl.keystore.certificate.chain"), text("ssl.keystore.key")
    kind = _type_of(text, "ssl.keystore.type")
    where, password_of_key = "ssl.keystore.location", text("ssl.key.password")
    said = f"Failed to load PEM SSL keystore {location or 'inline'}"
    if chain is not None or key is not None:
        _check_inline(kind, chain, key, location, password)
        where, pem = "ssl.keystore.certificate.chain", f"{key}\n{chain}\n".encode()
    elif location is None:
        allowed = "a PEM or PKCS12 file, ssl.keystore.key and .certificate.chain, or --tls auto"
        raise StoreError(where, "a listener with TLS needs one", allowed)
    elif kind == PEM:
        if password is not None:
            allowed = "ssl.key.password for the key in it"
            raise StoreError("ssl.keystore.password", "a PEM file has none", allowed)
        pem = _read(where, location, said)
    else:
        found = _pkcs12("ssl.keystore", location, password)
        if found.key is None or found.cert is None:
            raise StoreError(where, f"{location} has no key", "a key store")
        pem, password_of_key = _pem_of(found), None
    _load_pem(context, where, pem, password_of_key, said)
    (first, *_) = _CERTIFICATE.findall(pem.decode("latin-1"))
    return ssl.PEM_cert_to_DER_cert(first)


def load_trust_store(context: ssl.SSLContext, text: Lookup) -> None:
    """Give a context whom it trusts; without a store whom this machine trusts. StoreError."""
    location, password = text("ssl.truststore.location"), text("ssl.truststore.password")
    inline = text("ssl.truststore.certificates")
    kind = _type_of(text, "ssl.truststore.type")
    key = "ssl.truststore.location"
    if inline is not None:
        key = "ssl.truststore.certificates"
        if kind != PEM:
            raise StoreError(key, f"ssl.truststore.type is {kind}", f"ssl.truststore.type={PEM}")
        if location is not None:
            raise StoreError(key, "not beside ssl.truststore.location", "one of them")
        trusted = inline
    elif location is None:
        context.set_default_verify_paths()
        return
    elif kind == PEM:
        said = f"Failed to load PEM SSL keystore {location}"
        trusted = _read(key, location, said).decode("latin-1")
    else:
        trusted = _certificates_of(_pkcs12("ssl.truststore", location, password))
    if (inline is not None or kind == PEM) and password is not None:
        raise StoreError("ssl.truststore.password", "PEM has none", "none")
    found = "\n".join(_CERTIFICATE.findall(trusted))
    if not found:
        said = f"Failed to load PEM SSL keystore {location or 'inline'}"
        raise StoreError(key, "there is no certificate in it", "certificates of authorities", said)
    try:
        context.load_verify_locations(cadata=found)
    except ssl.SSLError as error:
        raise StoreError(key, f"a certificate cannot be read ({error.reason})", PEM) from None


def _check_inline(
    kind: str, chain: str | None, key: str | None, location: str | None, password: str | None
) -> None:
    where = "ssl.keystore.key"
    if kind != PEM:
        raise StoreError(where, f"ssl.keystore.type is {kind}", f"ssl.keystore.type={PEM}")
    if key is None or chain is None:
        raise StoreError(where, "it goes with ssl.keystore.certificate.chain", "both of them")
    if location is not None:
        said = "Both SSL key store location and separate private key are specified."
        raise StoreError(where, "not beside ssl.keystore.location", "one of them", said)
    if password is not None:
        allowed = "ssl.key.password for the key"
        raise StoreError("ssl.keystore.password", "PEM has none", allowed)


def _type_of(text: Lookup, key: str) -> str:
    kind = (text(key) or "JKS").strip().upper()
    if kind not in _TYPES:
        raise StoreError(key, f"{kind} is unknown", ", ".join(_TYPES[:2]))
    return kind


def _read(key: str, location: str, said: str = "") -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(key, f"{location}: {reason}", "a readable file", said) from None


def _load_pem(
    context: ssl.SSLContext, key: str, pem: bytes, password: str | None, said: str
) -> None:
    """The library reads files alone: it gets one that nobody else may read, for a moment."""
    with tempfile.NamedTemporaryFile(prefix="mockbroker-", suffix=".pem") as file:
        file.write(pem)
        file.flush()
        try:
            # Without a password it would ask at the terminal.
            context.load_cert_chain(file.name, password=password or "")
        except (ssl.SSLError, ValueError) as error:
            allowed = "a private key and its certificates"
            raise StoreError(key, _problem_of(error), allowed, said) from None


def _problem_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return "the private key is not that of the certificate"
        return "no certificate and key in PEM, or ssl.key.password is not that of the key"
    return str(error)


# -- PKCS12 --------------------------------------------------------------------------------


def _pkcs12(store: str, location: str, password: str | None) -> PKCS12KeyAndCertificates:
    """What a file of the type PKCS12 holds; Java reads one of the type JKS as such too."""
    where = f"{store}.location"
    data = _read(where, location)
    said = "SSL key store is specified, but key store password is not specified."
    if data.startswith(_JKS_MAGIC):
        problem = f"{location} is a JKS store, which Java alone reads"
        allowed = (
            f"PEM or PKCS12: keytool -importkeystore -srckeystore {location}"
            f" -destkeystore {location.rpartition('.')[0] or location}.p12 -deststoretype PKCS12"
        )
        raise StoreError(where, problem, allowed)
    if b"-----BEGIN " in data:
        raise StoreError(f"{store}.type", f"{location} is PEM", f"{store}.type={PEM}", said)
    if password is None:
        raise StoreError(f"{store}.password", "the store has one", "its password", said)
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise StoreError(where, "PKCS12 needs the extra tls", f"PEM, or {INSTALL}") from None
    try:
        return load_pkcs12(data, password.encode())
    except ValueError:
        problem = f"{location} is no PKCS12 store, or not of this password"
        raise StoreError(where, problem, f"a store, and {store}.password") from None


def _pem_of(found: PKCS12KeyAndCertificates) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    assert found.key is not None
    key: bytes = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key + _certificates_of(found).encode()


def _certificates_of(found: PKCS12KeyAndCertificates) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    entries = [*([found.cert] if found.cert else []), *found.additional_certs]
    texts: list[str] = [one.certificate.public_bytes(Encoding.PEM).decode() for one in entries]
    return "".join(texts)
