"""Names of cipher suites: those that Java uses and those of OpenSSL."""

from __future__ import annotations

import ssl

import pytest

from mockbroker.network.cipher_suites import TLS12, TLS13, registered_name


@pytest.mark.parametrize(
    ("registered", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", "DHE-RSA-AES128-SHA256"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
    ],
)
def test_a_suite_has_two_names(registered: str, openssl: str) -> None:
    assert TLS12[registered] == openssl
    assert registered_name(openssl) == registered


def test_what_is_not_known_and_what_is_new_keep_their_names() -> None:
    assert registered_name("PSK-CAMELLIA128-SHA256") == "PSK-CAMELLIA128-SHA256"
    assert {registered_name(name) for name in TLS13} == TLS13


def test_openssl_knows_the_names() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    common = [name for suite, name in TLS12.items() if "GCM" in suite]
    for name in common:
        context.set_ciphers(name)
        assert name in {each["name"] for each in context.get_ciphers()}
