"""Cipher suites by their registered names, which Kafka and Java use, and by those of OpenSSL."""

from __future__ import annotations

from typing import Final

# Of TLS 1.3 the names are the same.
TLS13: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}
)
_EXCHANGES: Final = ("ECDHE_ECDSA", "ECDHE_RSA", "DHE_RSA", "RSA")
_CIPHERS: Final = (
    "AES_256_GCM_SHA384",
    "AES_128_GCM_SHA256",
    "CHACHA20_POLY1305_SHA256",
    "AES_256_CBC_SHA384",
    "AES_256_CBC_SHA256",
    "AES_128_CBC_SHA256",
    "AES_256_CBC_SHA",
    "AES_128_CBC_SHA",
)


def _openssl_name(exchange: str, cipher: str) -> str:
    # OpenSSL names no RSA key exchange, no CBC, and no hash beside ChaCha20.
    short = cipher.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    return ("" if exchange == "RSA" else f"{exchange}-").replace("_", "-") + short.replace("_", "-")


TLS12: Final = {
    f"TLS_{exchange}_WITH_{cipher}": _openssl_name(exchange, cipher)
    for exchange in _EXCHANGES
    for cipher in _CIPHERS
}
"""OpenSSL's names by the registered ones."""
_REGISTERED: Final = {openssl: name for name, openssl in TLS12.items()}


def registered_name(openssl_name: str) -> str:
    """A suite's registered name; OpenSSL's for one that is not known here."""
    return _REGISTERED.get(openssl_name, openssl_name)
